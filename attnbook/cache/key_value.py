"""A cache of keys and values, so that each token is projected once while a text is generated.

Each key is stored with its position, its document, and whether it is a real token. So one rule,
`position_mask`, decides what a query may see, in whatever slot a key is stored: rows of different
lengths, chunks, windows, beams and rejected drafts only change which slots are in use.

All that a cache holds is in one object, which one assignment replaces: whatever interrupts a
change, the cache is as before it or as after it. A step writes into free slots only. What it leaves
there if it fails, and what other slots hold that get free, is set to zero before the next step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, NamedTuple

import torch

from attnbook.cache.layer import CacheStep, LayerCache
from attnbook.cache.slots import PADDING_SLOT, SAVED, Slots
from attnbook.checks import (
    check_axes,
    check_dense,
    check_numbers,
    check_size,
    check_sizes,
    check_whole_number,
    describe_value,
)
from attnbook.masking.lengths import check_whole
from attnbook.masking.masks import check_valid, given_positions
from attnbook.masking.rules import FARTHEST, visible_positions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from jaxtyping import Bool, Int, Shaped
    from torch import Tensor

FIRST_SLOTS = 16  # of a cache that grows
MOST_NUMBERS = 2**60


class _NextStep(CacheStep):
    """A step of one token in each row of a dense cache; its tensors are made when they are read."""

    sees_all = True

    def __init__(
        self, batch: int, first: int, num_slots: int, device: torch.device, at: Tensor | None
    ) -> None:
        self.shape, self.first, self.num_slots = (batch, 1), first, num_slots
        self.in_use = slice(PADDING_SLOT + 1, first + 1)
        self._device, self._at = device, at
        self._positions: Tensor | None = None

    @property
    def slots(self) -> Tensor:  # type: ignore[override]
        at = self._at
        at = torch.full((1,), self.first or 0, device=self._device) if at is None else at
        return at.expand(self.shape)

    @property
    def real(self) -> Tensor:  # type: ignore[override]
        return torch.ones(self.shape, dtype=torch.bool, device=self._device)

    @property
    def positions(self) -> Tensor:  # type: ignore[override]
        positions = self.slots - 1 if self._positions is None else self._positions
        if not torch.compiler.is_compiling():
            self._positions = positions  # for all layers
        return positions

    @property
    def visible(self) -> Tensor:  # type: ignore[override]
        index = torch.arange(self.num_slots, device=self._device)
        return ((index > PADDING_SLOT) & (index <= self.slots[..., None]))[:, None]


class _State(NamedTuple):
    """All that a cache holds; one assignment replaces it."""

    slots: Slots
    layers: tuple[tuple[Tensor, Tensor], ...]  # keys and values
    num_used: int  # the slots after so many are free in every row
    one_document: bool = True  # in each row: no step has given documents
    is_dense: bool = True  # in each row the token at position i is in slot i + 1
    uncounted: int = 0  # tokens of each row that `slots` lack, in the last of `num_used`
    written: Tensor | None = None  # slots that hold zeros no more, free ones as well
    step: CacheStep | None = None  # that is open

    def complete(self) -> _State:
        """Enter the tokens that the slots lack."""
        if not self.uncounted:
            return self
        slots = self.slots.with_next(self.num_used - self.uncounted, self.uncounted)
        return self._replace(slots=slots, uncounted=0)


class KeyValueCache:
    """The keys and values of all layers for the tokens so far, in a batch of texts.

    A step stores some more tokens, the same number for each row, padding included. On a GPU, a step
    waits for it if the cache grows or has a window, or if positions or documents are given.

    A token sees the real tokens of its document at its own position and before; with a window,
    those of the last `window` positions and the first `sinks`. Positions of a document must go up
    from one step to the next, as earlier tokens have not seen a key that comes later. So what the
    layers compute from a cache equals what they compute from the whole text, however it is cut.

    Without `max_length` a cache doubles its slots when they are in use, one layer after the
    other: at most one layer is stored twice at a time. With a window it keeps only what later
    tokens can see, if a row has a single document. A step of n tokens needs n free slots and a
    mask of n × slots, so a long text is best read in several steps.

    Args:
        num_layers: of the model.
        batch: how many texts.
        num_kv_heads: heads of keys and values.
        key_size, value_size: of a head.
        max_length: how many tokens of a text can be stored. The tensors then keep their shape,
            as `torch.compile` and `torch.export` need it. None means that they grow.
        window: how many positions a token sees, its own included; None means all.
        sinks: how many first positions each token also sees. The sinks of gpt-oss are something
            else: learned scores in the softmax, which need no cache.
        max_rewind: how many tokens can be taken back although there is a window, counted from the
            most that the row has had: what is evicted does not come back.
        dtype, device: of keys and values, floating-point; by default torch's own.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Source: Shazeer (2019), section 2.4, decodes with stored keys; Beltagy, Peters and Cohan (2020)
    for windows, Xiao et al. (2024) for sinks, whose positions stay as they are here.

    Example:
        >>> cache = KeyValueCache(1, batch=2, num_kv_heads=1, key_size=4, value_size=4)
        >>> with cache.step(3, valid=torch.tensor([[True, True, True], [False, True, True]])):
        ...     _ = cache.layer(0).append(torch.ones(2, 1, 3, 4), torch.ones(2, 1, 3, 4))
        >>> cache.lengths
        tensor([3, 2])
    """

    def __init__(  # noqa: PLR0913 - sizes of a model, and the rule of what is seen
        self,
        num_layers: int,
        batch: int,
        num_kv_heads: int,
        key_size: int,
        value_size: int,
        *,
        max_length: int | None = None,
        window: int | None = None,
        sinks: int = 0,
        max_rewind: int = 0,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        sizes = {"num_layers": num_layers, "batch": batch, "num_kv_heads": num_kv_heads}
        check_sizes(sizes | {"key_size": key_size, "value_size": value_size})
        for name, most in (("max_length", max_length), ("window", window)):
            if most is not None:
                check_size(name, most)
        for name, number in (("sinks", sinks), ("max_rewind", max_rewind)):
            check_whole_number(name, number)
            if number < 0:
                raise ValueError(f"{name} must be at least 0, got {number}")
        self.max_length = max_length
        self.window = None if window is None else min(window, FARTHEST)
        self.sinks, self.max_rewind = min(sinks, FARTHEST), min(max_rewind, FARTHEST)
        num_slots = 1 + (FIRST_SLOTS if max_length is None else max_length)
        shape = (batch, num_kv_heads, num_slots)
        _check_fits((num_layers, *shape, key_size + value_size), max_length)
        where = _check_where(dtype, device)
        pairs = [
            (torch.zeros(*shape, key_size, **where), torch.zeros(*shape, value_size, **where))
            for _ in range(num_layers)
        ]
        self._layers = [LayerCache(*pair) for pair in pairs]
        slots = Slots.make(batch, num_slots, pairs[0][0].device)
        if max_length is not None:
            self._index = torch.arange(num_slots, device=slots.valid.device)
        self._state = _State(slots, tuple(pairs), num_used=1)

    def layer(self, index: int) -> LayerCache:
        """Return the cache of one layer, counted from 0.

        Raises:
            TypeError, ValueError: there is no such layer.
        """
        check_whole_number("index", index)
        if not 0 <= index < self.num_layers:
            raise ValueError(f"index must lie in [0, num_layers={self.num_layers}), got {index}")
        return self._layers[index]

    @property
    def num_layers(self) -> int:
        """How many layers the model has."""
        return len(self._layers)

    @property
    def batch(self) -> int:
        """How many texts there are."""
        return self._state.slots.valid.shape[0]

    @property
    def num_slots(self) -> int:
        """How many slots each row has; one of them is for padding."""
        return self._state.slots.valid.shape[1]

    @property
    def device(self) -> torch.device:
        """Where the keys and values are."""
        return self._state.slots.valid.device

    @property
    def positions(self) -> Int[Tensor, "batch slots"]:
        """The position of the key in each slot. It means nothing where `valid` is False."""
        return self._slots.positions

    @property
    def valid(self) -> Bool[Tensor, "batch slots"]:
        """Whether each slot holds a real token."""
        return self._slots.valid

    @property
    def documents(self) -> Int[Tensor, "batch slots"]:
        """The document of the key in each slot."""
        return self._slots.documents

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """How many real tokens of each row are stored."""
        return self._slots.valid.sum(dim=-1)

    @property
    def next_positions(self) -> Int[Tensor, " batch"]:
        """One position after all tokens of each row's last document, where its next token goes."""
        return self._slots.last_positions + 1

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values, free slots included."""
        return sum(tensor.nbytes for pair in self._state.layers for tensor in pair)

    @property
    def open_step(self) -> CacheStep | None:
        """The step that is open, if there is one."""
        return self._state.step

    @property
    def _slots(self) -> Slots:
        self._state = self._state.complete()
        return self._state.slots

    def _become(self, state: _State) -> None:
        """Replace all that the cache holds, and hand it to the layers."""
        try:
            self._state = state
            self._tell_layers()
        except BaseException:  # an interrupt; what has begun must be completed
            self._tell_layers()
            raise

    def _tell_layers(self) -> None:
        state = self._state
        for layer, (keys, values) in zip(self._layers, state.layers, strict=True):
            layer.keys, layer.values = keys, values
            layer.open_step, layer.has_appended = state.step, False

    @contextmanager
    def step(
        self,
        num_tokens: int,
        *,
        positions: Shaped[Tensor, "... tokens"] | None = None,
        valid: Bool[Tensor, "... tokens"] | None = None,
        documents: Int[Tensor, "... tokens"] | None = None,
    ) -> Iterator[CacheStep]:
        """Store some more tokens: within it, each layer appends their keys and values once.

        When it ends, the tokens are part of the cache. When it ends with an exception, or is
        interrupted, the cache holds what it held before (it may have more free slots).

        Args:
            num_tokens: of each row, padding included.
            positions: of the tokens, whole numbers from 0 on, `(num_tokens,)` or
                `(batch, num_tokens)`; by default the real tokens of each row are counted on from
                `next_positions`. Within a step they may come in any order; those of a later step
                must be above all of their document before.
            valid: booleans, False for padding, which is not stored, of the same shape.
            documents: the document of each token, whole numbers of the same shape; by default
                that of the row's last real token, and 0 in an empty row.

        Yields:
            The positions of the tokens, and what they see.

        Raises:
            TypeError, ValueError: an argument has another type, shape or range; there are more
                tokens than `max_length`; or positions of a document do not go up.
            RuntimeError: a step is open already, or a layer has not appended when it ends.
        """
        step, following = self._reserve(num_tokens, positions, valid, documents)
        try:
            try:
                self._state = _State(*self._state[:-1], step=step)
                self._tell_layers()
                yield step
                self._end_step(following)
            finally:
                self._give_up(step, following)
        finally:  # again, where an interrupt prevented the line above
            self._give_up(step, following)

    def _end_step(self, following: _State) -> None:
        missing = [i for i, layer in enumerate(self._layers) if not layer.has_appended]
        if missing:
            raise RuntimeError(f"each layer must append in a step, got none of layers {missing}")
        if self.window is not None:
            remaining = following.slots.evict(self.window, self.sinks, self.max_rewind)
            following = following._replace(slots=remaining, written=following.slots.valid)
        self._become(following)

    def _give_up(self, step: CacheStep, following: _State) -> None:
        """Close a step that has not ended; what it has written stays to be cleared."""
        if self._state.step is step:
            written = following.complete().slots.valid
            self._become(self._state._replace(step=None, written=written))

    def _reserve(
        self,
        num_tokens: int,
        positions: Tensor | None,
        valid: Tensor | None,
        documents: Tensor | None,
    ) -> tuple[CacheStep, _State]:
        """Check a step; return it, and the state after it."""
        if self.open_step is not None:
            raise RuntimeError("a step must end before the next one begins, got two")
        check_size("num_tokens", num_tokens)
        self._make_writable()
        self._clear()
        if num_tokens == 1 and valid is None and positions is None and documents is None:
            state = self._state
            # The next slot is free in every row, and a token there sees all that is stored.
            if self.window is None and state.one_document and state.num_used < self.num_slots:
                return self._reserve_next()
        shape = (self.batch, num_tokens, num_tokens)
        real = torch.ones(shape[:2], dtype=torch.bool, device=self.device)
        if valid is not None:
            real = check_valid("valid", valid, shape, -2, self.device).expand(shape[:2])
        counted = real.cumsum(dim=-1)
        documents_given = documents is not None
        given = documents_given or positions is not None
        if positions is None:
            positions = self._slots.last_positions[:, None] + counted
        else:
            positions = _as_whole("positions", positions, shape, self.device)
        if documents is None:
            documents = self._slots.last_documents[:, None].expand(shape[:2])
        else:
            documents = _as_whole("documents", documents, shape, self.device)
        if given:
            self._check_positions(positions, real, documents)
        slots, first = self._find_slots(real, counted, may_be_padding=valid is not None)
        new = self._slots.with_tokens(slots, real, counted, positions, documents)
        new = new.with_last() if given else new._replace(last_positions=positions[:, -1])
        used = new.count_used() if first is None else first + num_tokens
        step = CacheStep(slots, real, positions, self._see(positions, documents, new, used))
        step.first = first if valid is None else None
        one_document = self._state.one_document and not documents_given
        is_dense = self._state.is_dense and not given and step.first is not None
        return step, _State(new, self._state.layers, used, one_document, is_dense)

    def _reserve_next(self) -> tuple[CacheStep, _State]:
        """Reserve a slot for the next token of each row, as `_reserve` does for any tokens."""
        state, first, at = self._state, self._state.num_used, None
        following = _State(
            *(state.slots, state.layers, first + 1),
            is_dense=state.is_dense,
            uncounted=state.uncounted + 1,
        )
        num_slots = first + 1 if self.max_length is None else self.num_slots
        if state.is_dense:
            if self.max_length is not None:
                at = self._index[first : first + 1]  # for a compiled program
            return _NextStep(self.batch, first, num_slots, self.device, at), following
        slots = torch.full((self.batch, 1), first, device=self.device)
        positions = (state.slots.last_positions + following.uncounted)[:, None]
        visible = state.slots.valid.clone()
        visible[:, first - state.uncounted : first + 1] = True
        step = CacheStep(slots, slots > 0, positions, visible[:, None, None, :num_slots])
        step.first, step.sees_all = first, True
        return step, following

    def _check_positions(self, positions: Tensor, real: Tensor, documents: Tensor) -> None:
        """Refuse real tokens that earlier ones of their document would have seen."""
        outside = real & ((positions < 0) | (positions > FARTHEST))
        if outside.any():
            rule = "positions of real tokens must be at least 0 and at most 2**62"
            raise ValueError(f"{rule}, got {int(positions[outside][0])}")
        refused = self._slots.reached(positions, documents, real)
        if refused.any():
            row, token = refused.nonzero()[0].tolist()
            document = int(documents[row, token])
            own = self.valid[row] & (self.documents[row] == document)
            raise ValueError(
                f"positions must be at least {int(self.positions[row, own].max()) + 1} in row "
                f"{row}, as earlier tokens of document {document} have not seen this one, got "
                f"{int(positions[row, token])}: rewind first to replace tokens"
            )

    def _find_slots(
        self, real: Tensor, counted: Tensor, *, may_be_padding: bool
    ) -> tuple[Tensor, int | None]:
        """Find a free slot for each real token; and the first, where rows have the same ones."""
        first, end = self._state.num_used, self._state.num_used + real.shape[1]
        if self._state.is_dense and not may_be_padding and end > self.num_slots:
            self._make_room(counted[:, -1])
        if self.window is None and end <= self.num_slots:
            slots = torch.arange(first, end, device=self.device)
            return torch.where(real, slots, PADDING_SLOT), first
        slots = torch.searchsorted(self._make_room(counted[:, -1]), counted)
        return torch.where(real, slots, PADDING_SLOT), None

    def _make_room(self, wanted: Tensor) -> Tensor:
        """Make sure that each row has as many free slots as it needs, and count them."""
        free = self._slots.count_free()
        missing = int((wanted - free[:, -1]).max())
        if missing <= 0:
            return free
        if self.max_length is not None:
            row = int((wanted - free[:, -1]).argmax())
            raise ValueError(
                f"max_length={self.max_length} must hold every token of a row, got "
                f"{int(self.lengths[row])} stored and {int(wanted[row])} more in row {row}"
            )
        more = max(missing, self.num_slots)
        # If memory ends here, some layers have more slots than the others, which do no harm.
        count = self.num_slots + more
        self._replace_each(lambda tensor: _with_slots(tensor, count))
        slots = self._slots.with_more(more)
        self._become(self._state._replace(slots=slots, written=None))
        return self._slots.count_free()

    def _make_writable(self) -> None:
        """Copy tensors made in inference mode, into which nothing may be written outside of it."""
        if torch.is_inference_mode_enabled():
            return
        for keys, _ in self._state.layers:
            if keys.is_inference():
                self._replace_each(torch.clone)
                return

    def _replace_each(self, change: Callable[[Tensor], Tensor]) -> None:
        """Replace the keys and values of one layer after the other, so that few exist twice."""
        for i in range(self.num_layers):
            layers = list(self._state.layers)
            layers[i] = change(layers[i][0]), change(layers[i][1])
            self._become(self._state._replace(layers=tuple(layers)))

    def _see(self, positions: Tensor, documents: Tensor, new: Slots, used: int) -> Tensor:
        """Return which slots each new token sees; all slots count where their number is fixed."""
        used = used if self.max_length is None else self.num_slots
        keys, valid, key_documents = (
            part[:, None, None, :used] for part in (new.positions, new.valid, new.documents)
        )
        return visible_positions(
            positions[:, None, :, None],
            keys,
            valid=valid,
            query_documents=documents[:, None, :, None],
            key_documents=key_documents,
            window=self.window,
            sinks=self.sinks,
        )

    def _clear(self) -> None:
        """Set all that is written in free slots to zero."""
        if self._state.written is not None:
            freed = self._state.written & ~self.valid
            if freed.any():
                for layer in self._layers:
                    layer.clear(freed)
            self._state = self._state._replace(written=None)

    def rewind(self, counts: int | Int[Tensor, " batch"] | Sequence[int]) -> None:
        """Take back the last real tokens of each row, such as drafts that were rejected.

        Args:
            counts: how many, for all rows or for each.

        Raises:
            TypeError, ValueError: a row has fewer tokens, or its window has evicted tokens that
                the next one would see: see `max_rewind`.
            RuntimeError: a step is open.
        """
        self._settle("rewind")
        given = _read_whole("counts", counts, self.device)
        if tuple(given.shape) not in {(), (self.batch,)}:
            raise ValueError(
                f"counts must be one number or (batch={self.batch},), got shape "
                f"{tuple(given.shape)}"
            )
        back = given.expand(self.batch)
        old = self._slots
        for row in ((back < 0) | (back > old.counts)).nonzero().flatten().tolist():
            rule = f"lie in [0, {int(old.counts[row])}], the tokens of row {row}"
            raise ValueError(f"counts must {rule}, got {int(back[row])}")
        new = old.rewind(back)
        if self.window is not None:
            some_were_evicted = (old.valid.sum(dim=-1) - new.valid.sum(dim=-1)) != back
            lost = (new.lose_window(self.window) | some_were_evicted) & (old.evicted >= 0)
            for row in (lost & (back > 0)).nonzero().flatten().tolist():
                raise ValueError(
                    f"counts must leave row {row} the window of {self.window} that its next token "
                    f"sees, whose first keys are evicted, got {int(back[row])} with "
                    f"max_rewind={self.max_rewind}, counted from the most tokens that the row "
                    "has had"
                )
        used = new.count_used()
        is_dense = new.are_dense(used)
        state = self._state._replace(slots=new, num_used=used, is_dense=is_dense, written=old.valid)
        self._become(state)

    def reorder(self, rows: Int[Tensor, " rows"] | Sequence[int]) -> None:
        """Replace the rows by these, each with all it holds: after a step of beam search.

        While it runs, everything is stored twice.

        Args:
            rows: indices of rows. A row may go, or come several times.

        Raises:
            TypeError, ValueError: no whole numbers in [0, batch).
            RuntimeError: a step is open.
        """
        self._settle("reorder")
        index = _read_whole("rows", rows, self.device)
        if index.dim() != 1 or index.numel() == 0:
            raise ValueError(f"rows must be one or more numbers, got shape {tuple(index.shape)}")
        if not bool(((index >= 0) & (index < self.batch)).all()):
            raise ValueError(
                f"rows must lie in [0, batch={self.batch}), got {describe_value(index.tolist())}"
            )
        layers = tuple((keys[index], values[index]) for keys, values in self._state.layers)
        slots = Slots(*(part[index] for part in self._slots))
        self._become(self._state._replace(slots=slots, layers=layers, written=None))

    def repeat(self, count: int) -> None:
        """Put this many copies of each row in its place, one after another.

        Raises:
            TypeError, ValueError: no whole number from 1 on.
            RuntimeError: a step is open.
        """
        check_size("count", count)
        self.reorder(torch.arange(self.batch, device=self.device).repeat_interleave(count))

    def copy(self) -> KeyValueCache:
        """Return a cache with the same contents that shares no memory with this one.

        Raises:
            RuntimeError: a step is open.
        """
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Refuse a step that is open, which no copy could end."""
        self._settle("copy")
        return self.__dict__

    def state_dict(self) -> dict[str, Tensor]:
        """Return copies of all tensors by name, to be saved.

        Raises:
            RuntimeError: a step is open.
        """
        self._settle("state_dict")
        return {name: tensor.clone() for name, tensor in self._tensors().items()}

    def _tensors(self) -> dict[str, Tensor]:
        state = {f"slots.{name}": getattr(self._slots, name) for name in SAVED}
        state["rule"] = torch.tensor([self.window or 0, self.sinks], device=self.device)
        for i, (keys, values) in enumerate(self._state.layers):
            state[f"keys.{i}"] = keys[:, :, : self.num_slots]
            state[f"values.{i}"] = values[:, :, : self.num_slots]
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Copy the numbers of a `state_dict`, without gradients; the batch may differ.

        Raises:
            TypeError, ValueError: another model's names or shapes; a cache of another window or
                sinks, which has evicted other keys; a fixed cache of another length; or tokens
                that are not all there.
            RuntimeError: a step is open.
        """
        self._settle("load_state_dict")
        if not isinstance(state, Mapping):
            kind = type(state).__name__
            raise TypeError(f"state must be a dict, as state_dict returns it, got {kind}")
        expected = self._tensors()
        if set(state) != set(expected):
            differing = sorted(map(str, set(state) ^ set(expected)))
            raise ValueError(f"state must have the names of this cache, got others: {differing}")
        for name, tensor in state.items():
            check_dense(f"state[{name!r}]", tensor)
            check_numbers(f"state[{name!r}]", tensor, self.device)
        rule = expected.pop("rule").tolist()
        if state["rule"].tolist() != rule:
            raise ValueError(
                f"state must be of a cache with this window (0 for none) and sinks, {rule}, "
                f"got {state['rule'].tolist()}"
            )
        check_axes("state['slots.valid']", state["slots.valid"], "(batch, slots)")
        num_rows, num_slots = state["slots.valid"].shape
        for name, mine in expected.items():
            shape = list(mine.shape)
            shape[0] = num_rows
            if mine.dim() > 1 and self.max_length is None:
                shape[1 if mine.dim() == 2 else 2] = num_slots
            if list(state[name].shape) != shape or state[name].dtype != mine.dtype:
                raise ValueError(
                    f"state[{name!r}] must have shape {tuple(shape)} of {mine.dtype}, got "
                    f"{tuple(state[name].shape)} of {state[name].dtype}"
                )
        copied = {name: it.detach().to(self.device, copy=True) for name, it in state.items()}
        slots = Slots.restore({name: copied[f"slots.{name}"] for name in SAVED})
        layers = [(copied[f"keys.{i}"], copied[f"values.{i}"]) for i in range(self.num_layers)]
        one_document = not bool(slots.documents.any())
        used = slots.count_used()
        self._become(_State(slots, tuple(layers), used, one_document, slots.are_dense(used)))

    def _settle(self, what: str) -> None:
        """Refuse a step that is open; clear the slots that have been freed."""
        if self.open_step is not None:
            raise RuntimeError(f"{what} must be called after the open step, got a call within it")
        self._make_writable()
        self._clear()


def _check_fits(axes: tuple[int, ...], max_length: int | None) -> None:
    """Refuse sizes of tensors that torch cannot count."""
    numbers = math.prod(axes)
    if numbers >= MOST_NUMBERS:
        grows = "" if max_length is None else ": without max_length the cache grows"
        raise ValueError(f"the sizes must give fewer than 2**60 numbers, got {numbers}{grows}")


def _check_where(dtype: torch.dtype | None, device: torch.device | str | None) -> dict[str, Any]:
    """Refuse a dtype that cannot hold keys, and a device without numbers."""
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype must be a dtype such as torch.float32, got {dtype!r}")
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"dtype must be floating-point, as keys and values are, got {dtype}")
    try:
        made = torch.zeros(0, dtype=dtype, device=device)
    except (AssertionError, RuntimeError, TypeError) as error:
        raise ValueError(f"device must be one that torch can use here, got {device!r}") from error
    if made.is_meta:
        raise ValueError(f"device must be one that stores numbers, got {made.device}")
    return {"dtype": made.dtype, "device": made.device}


def _as_whole(name: str, given: Tensor, shape: Sequence[int], device: torch.device) -> Tensor:
    """Refuse what is not one whole number for each token, of all rows or of each."""
    check_whole(name, given)
    if given.is_floating_point():
        raise TypeError(f"{name} must hold whole numbers, got {given.dtype}")
    return given_positions(name, given, shape, -2, device).expand(shape[:2])


def _with_slots(vectors: Tensor, count: int) -> Tensor:
    """Add free slots, unless there are as many."""
    missing = count - vectors.shape[2]
    return torch.nn.functional.pad(vectors, (0, 0, 0, missing)) if missing > 0 else vectors


def _read_whole(name: str, given: object, device: torch.device) -> Tensor:
    """Make a tensor of whole numbers."""
    try:
        numbers = torch.as_tensor(given, device=device)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        found = describe_value(given)
        raise TypeError(f"{name} must be whole numbers of at most 64 bits, got {found}") from None
    check_whole(name, numbers)
    if numbers.is_floating_point() and numbers.numel() > 0:
        raise TypeError(f"{name} must be whole numbers, got {numbers.dtype}")
    return numbers.long()
