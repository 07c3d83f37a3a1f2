"""`visible_pairs`: change one token of a text, and see which outputs move."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from attnbook.checks import check_dense, describe_value, is_whole
from attnbook.messages import Messages

if TYPE_CHECKING:
    from jaxtyping import Bool, Shaped

TEXT = Messages(__file__)
# An output has moved if it did by more than this many times what unchanged texts differ by, and by
# more than this many roundings of the largest output, since a hidden key may change how the scores
# of others are rounded. In half precision four would hide what has a small weight.
TIMES_NOISE = 10
ROUNDINGS = {torch.float64: 4, torch.float32: 4, torch.float16: 1, torch.bfloat16: 1}
LARGE = 1000  # roundings: an unchanged text that moves by more has not only been rounded


def visible_pairs(
    function: Callable[..., Any],
    tokens: Shaped[Tensor, "..."],
    *,
    vocab_size: int | None = None,
    replacements: int = 3,
    batch_size: int = 64,
    seed: int = 0,
) -> Bool[Tensor, "outputs inputs"]:
    """Find out which inputs each output of a model depends on. Nothing inside it is needed.

    Each token is replaced by others. An output that moves sees the token. Every batch also has
    two texts without a change: by how much these differ is the noise. A module is in evaluation
    mode meanwhile, and nothing is left changed.

    Args:
        function: takes token ids `(batch, n)` or vectors `(batch, n, size)`, and returns one row
            of numbers for each position, `(batch, n, features)`, or a tuple, dictionary or
            object that has it first, as `logits` or as `last_hidden_state`. A model of
            `transformers` is passed as it is. Further arguments, such as a mask for padding,
            belong in a function around `model.eval()`: `lambda ids: model(ids, mask)`.
        tokens: one text: whole numbers `(n,)` or `(1, n)`, or vectors `(n, size)` or
            `(1, n, size)`.
        vocab_size: ids are replaced by others below it; by default the `config.vocab_size` of a
            model, else the largest id of the text and one more.
        replacements: how many others are tried for each token.
        batch_size: at most so many texts at a time, at least 3.
        seed: of the generator that draws the others.

    Returns:
        `(n, n)`, True where the output of the row depends on the input of the column, on the CPU.
        With several layers this is no mask: see `attnbook.visibility.compare`. An influence below
        the rounding of the outputs is not seen: prefer float64.

    Raises:
        TypeError, ValueError: an argument has the wrong type, shape or range; or the function is
            random, mixes the texts of a batch, or returns other shapes, NaN or infinity.

    Example:
        >>> from attnbook import DotProductAttention, visible_pairs
        >>> layer = DotProductAttention()
        >>> x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
        >>> visible_pairs(lambda x: layer(x, x, x, causal=True), x).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)

    Source: causality is tested in this way in many projects; the dependence of an output on an
    input is its Jacobian's sparsity.
    """
    for name, value, least in (("replacements", replacements, 1), ("batch_size", batch_size, 3)):
        _check_number(name, value, least)
    _check_number("seed", seed, 0)
    if vocab_size is not None:
        _check_number("vocab_size", vocab_size, 2)
    text = _check_tokens(tokens)
    run, vocab_size = _as_run(function, text, vocab_size)
    text = text.to(_device_of(function, text))
    generator = torch.Generator().manual_seed(seed)
    with _evaluation(function):
        usual = _run_twice(run, text)
        visible = torch.zeros(text.shape[1], text.shape[1], dtype=torch.bool)
        for places, changed in _batches(text, vocab_size, replacements, batch_size - 2, generator):
            output = run(torch.cat([text, changed, text]))
            _check_output(output, text.shape[1])
            moved, noise = (output[1:-1] - output[:1]).abs(), (output[-1] - output[0]).abs().max()
            largest = usual.abs().max()
            _refuse_moved(output[[0, -1]] - usual, largest, is_alone=False)
            limit = torch.maximum(
                TIMES_NOISE * noise, ROUNDINGS[usual.dtype] * torch.finfo(usual.dtype).eps * largest
            )
            for place, sees in zip(places, (moved.amax(-1) > limit).cpu(), strict=True):
                visible[:, place] |= sees
    return visible


def _check_number(name: str, value: object, least: int) -> None:
    if not is_whole(value) or value < least:  # type: ignore[operator]  # whole by now
        kind = ValueError if is_whole(value) else TypeError
        raise kind(TEXT("number_wrong", name=name, least=least, value=describe_value(value)))


def _check_tokens(tokens: Tensor) -> Tensor:
    """The text as a batch of one."""
    problem = TEXT("tokens_wrong", value=describe_value(tokens))
    check_dense("tokens", tokens)
    if tokens.dtype == torch.bool or tokens.is_complex() or tokens.is_meta:
        raise TypeError(problem)
    axes = 2 if tokens.is_floating_point() else 1
    text = tokens[None] if tokens.dim() == axes else tokens
    if text.dim() != axes + 1 or len(text) != 1 or text.numel() == 0:
        raise ValueError(problem)
    return text.detach()


def _as_run(
    function: Callable[..., Any], text: Tensor, vocab_size: int | None
) -> tuple[Callable[[Tensor], Tensor], int]:
    """A function of a batch that returns a tensor, and the number of tokens to draw from."""
    if not callable(function):
        raise TypeError(TEXT("output_wrong", count=text.shape[1], value=describe_value(function)))
    options: dict[str, Any] = {}
    by_name = ""
    if isinstance(function, nn.Module):
        parameters = inspect.signature(function.forward).parameters
        by_name = "input_ids" if "input_ids" in parameters else ""
        if by_name and text.is_floating_point():
            by_name = "inputs_embeds"
        if by_name and "use_cache" in parameters:
            options["use_cache"] = False

    def run(batch: Tensor) -> Tensor:
        output = function(**{by_name: batch}, **options) if by_name else function(batch)
        for name in ("logits", "last_hidden_state"):
            output = getattr(output, name, output)
            output = output[name] if isinstance(output, dict) and name in output else output
        output = output[0] if isinstance(output, tuple | list) else output
        return output.detach() if isinstance(output, Tensor) else output

    if text.is_floating_point():
        return run, 0
    size = vocab_size
    if size is None:
        size = getattr(getattr(function, "config", None), "vocab_size", None)
    if size is None:
        size = int(text.max()) + 1
    if size < 2:
        raise ValueError(TEXT("one_token_only", value=size))
    if not 0 <= int(text.min()) <= int(text.max()) < size:
        raise ValueError(TEXT("ids_too_large", size=size, value=int(text.max())))
    return run, size


def _device_of(function: object, text: Tensor) -> torch.device:
    """Where the parameters of a model are."""
    parameters = function.parameters() if isinstance(function, nn.Module) else iter(())
    first = next(parameters, None)
    return text.device if first is None else first.device


@contextmanager
def _evaluation(function: object) -> Iterator[None]:
    """Evaluation mode, no gradients, and random numbers of its own; all is put back."""
    modules = [*function.modules()] if isinstance(function, nn.Module) else []
    modes = [module.training for module in modules]
    try:
        for module in modules:
            module.training = False
        with torch.random.fork_rng(), torch.no_grad():
            yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode


def _run_twice(run: Callable[[Tensor], Tensor], text: Tensor) -> Tensor:
    """The output for the text alone, of which nothing may be random."""
    once, twice = (run(torch.cat([text, text])) for _ in range(2))
    for output in (once, twice):
        _check_output(output, text.shape[1])
    largest = once.abs().max()
    _refuse_moved(once - twice, largest, is_alone=True)
    return once[0]


def _check_output(output: Tensor, count: int) -> None:
    if not isinstance(output, Tensor) or output.dim() != 3 or output.shape[1] != count:
        raise ValueError(TEXT("output_wrong", count=count, value=describe_value(output)))
    if output.dtype not in ROUNDINGS:
        raise TypeError(TEXT("output_wrong", count=count, value=describe_value(output)))
    if not bool(output.isfinite().all()):
        places = (~output.isfinite()).any(-1).any(0).nonzero().flatten().tolist()
        raise ValueError(TEXT("not_finite", positions=places))


def _refuse_moved(moved: Tensor, largest: Tensor, *, is_alone: bool) -> None:
    """Refuse an output of an unchanged text that moves by more than rounding."""
    share = float(moved.abs().max() / largest.clamp(min=torch.finfo(moved.dtype).tiny))
    if share > LARGE * torch.finfo(moved.dtype).eps:
        raise ValueError(TEXT("random" if is_alone else "batch_matters", moved=f"{share:.2g}"))


def _batches(
    text: Tensor, vocab_size: int, replacements: int, at_most: int, generator: torch.Generator
) -> Iterator[tuple[list[int], Tensor]]:
    """Texts with one token replaced, and where, no more at a time than are allowed."""
    todo = [(place, time) for place in range(text.shape[1]) for time in range(replacements)]
    for start in range(0, len(todo), at_most):
        places = [place for place, _time in todo[start : start + at_most]]
        changed = text.repeat(len(places), *[1] * (text.dim() - 1))
        for row, place in enumerate(places):
            changed[row, place] = _another(text, place, vocab_size, generator)
        yield places, changed


def _another(text: Tensor, place: int, vocab_size: int, generator: torch.Generator) -> Tensor:
    """Another token than the one at a place: an id, or a vector as long as those of the text."""
    if not text.is_floating_point():
        step = int(torch.randint(1, vocab_size, (), generator=generator))
        return (text[0, place] + step) % vocab_size
    length = text.float().square().mean().sqrt().clamp(min=1e-3)
    drawn = torch.randn(text.shape[2], generator=generator).to(text.device)
    return (drawn * length).to(text.dtype)
