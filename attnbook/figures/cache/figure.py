"""`CacheFigure`: a model writes from a cache that the reader sees, right or with a bug."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import traitlets

from attnbook.checks import check_whole_number
from attnbook.figures.cache.bugs import BUGS, STAYS, Settings
from attnbook.figures.cache.reading import compute_stored
from attnbook.figures.cache.slots import FREE
from attnbook.figures.shared.base import check_count, decimals, module, stylesheet
from attnbook.figures.tokens.figure import SHEETS, TokenFigure
from attnbook.figures.tokens.packing import decoder_of, pack_model
from attnbook.messages import Messages

TEXT = Messages(__file__)
MOST = {"characters": 16, "words": 40}  # tokens of a prompt
COUNTS = {"characters": 12, "words": 6}  # tokens that are written
RANGES = {"chunk": 8, "padding": 4, "window": 16, "sinks": 4, "drafts": 3}  # from 0


def label_of(bug: str) -> str:
    """A bug's name as the menu has it.

    Example:
        >>> from attnbook.figures.cache.figure import label_of
        >>> label_of("positions_restart")
        'positions restart at 0'
    """
    return TEXT.group("bugs")[bug]


class CacheFigure(TokenFigure):
    """A decoder of the book writes from a cache whose slots are seen, next to recomputing.

    The cache is made by hand, so that it can have a bug; without one it computes what the decoder
    computes with `KeyValueCache` and without a cache. On the book's pages it runs in the page, in
    double precision; so does this Python half.

    Args:
        name: a decoder of `attnbook.models.transformer.checkpoints`.
        text: the prompt, of at most 16 characters or 40 words.
        first: the prompt of another user, whose cache is used again; "" for none.
        bug: a name in `attnbook.figures.cache.bugs.BUGS`; "" for none.
        settings: `chunk`, `padding`, `window`, `sinks` and `drafts`, as `Settings` has them.
        step: the token that is shown first, from 0.
        focus: the head that is shown, `(layer, head)` from 0.
        examples: texts to choose from.
        pairs: texts of two users, `(first, text)`, to choose from.
        action: one sentence above the figure that asks for one action.
        caption: one sentence below the figure.

    Traits that the reader's controls change, and that can be set: `text`, `first`, `bug`,
    `chunk`, `padding`, `window`, `sinks`, `drafts`, `step`, `focus`, and of the mode "Which bug
    is it?" `hidden` and `guesses`.

    Raises:
        TypeError, ValueError: there is no such decoder, bug, setting, head or step; or the model
            does not know a token of a text.
        traitlets.TraitError: the same, of a trait that is set later.

    Example:
        >>> from attnbook.figures import CacheFigure
        >>> CacheFigure("copying", "gbdkafcdkafc").written
        'dkafcdkafcdk'
        >>> CacheFigure("copying", "gbdkafcdkafc", bug="past_ignored").written
        'dddooooooooo'
    """

    _esm = module("cache/figure.js")
    _css = stylesheet(*SHEETS, "cache/style.css")

    unit = traitlets.Unicode().tag(sync=True)
    first = traitlets.Unicode().tag(sync=True)
    count = traitlets.Int().tag(sync=True)
    most = traitlets.Int().tag(sync=True)
    bug = traitlets.Unicode().tag(sync=True)
    hidden = traitlets.Bool(default_value=False).tag(sync=True)
    guesses: traitlets.List[str] = traitlets.List().tag(sync=True)
    offered: traitlets.List[str] = traitlets.List().tag(sync=True)
    shows: Any = traitlets.Dict().tag(sync=True)
    examples: traitlets.List[str] = traitlets.List().tag(sync=True)
    pairs: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    chunk = traitlets.Int(0).tag(sync=True)
    padding = traitlets.Int(0).tag(sync=True)
    window = traitlets.Int(0).tag(sync=True)
    sinks = traitlets.Int(0).tag(sync=True)
    drafts = traitlets.Int(0).tag(sync=True)
    ranges: Any = traitlets.Dict(RANGES).tag(sync=True)
    step = traitlets.Int(0, min=0).tag(sync=True)
    focus: traitlets.List[int] = traitlets.List().tag(sync=True)
    sizes: traitlets.List[int] = traitlets.List().tag(sync=True)

    def __init__(  # noqa: PLR0913 - texts, how they are read, and what is shown first
        self,
        name: str = "copying",
        text: str = "gbdkafcdkafc",
        *,
        first: str = "",
        bug: str = "",
        settings: Mapping[str, int] | None = None,
        step: int = 0,
        focus: Sequence[int] = (1, 0),
        examples: Sequence[str] = (),
        pairs: Sequence[Sequence[str]] = (),
        action: str = "",
        caption: str = "",
    ) -> None:
        unit, sizes = decoder_of(name).vocabulary.kind, decoder_of(name).config
        offered = [bug for bug in BUGS if (bug == STAYS) == bool(first)]
        chosen = Settings(**({} if settings is None else settings))
        for trait, value in chosen.as_dict().items():
            _check_setting(trait, value)
        for each in (text, *([first] if first else [])):
            _check_text(name, each)
        _check_bug(bug, offered)
        _check_focus(name, focus)
        shows = {each: BUGS[each].shows.as_dict() for each in offered}
        super().__init__(
            kind="cache",
            name=name,
            unit=unit,
            text=text,
            first=first,
            count=COUNTS[unit],
            most=MOST[unit],
            bug=bug,
            offered=offered,
            shows={each: {k: v for k, v in how.items() if v} for each, how in shows.items()},
            examples=[*examples],
            pairs=[[*pair] for pair in pairs],
            **chosen.as_dict(),
            step=step,
            focus=[*focus],
            sizes=[sizes.num_layers, sizes.num_heads],
            late=[name],
            action=action,
            caption=caption,
        )
        self._describe()

    @property
    def written(self) -> str:
        """What the model writes after the text."""
        return ("" if self.unit == "characters" else " ").join(
            step["token"] for step in self.shown["steps"]
        )

    def _packed(self) -> dict[str, Any]:
        return pack_model(self.name)

    @traitlets.validate("text", "first", "bug", *RANGES, "focus")
    def _check(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        return self._accept(proposal)

    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        if trait in RANGES:
            _check_setting(trait, value)
        elif trait == "bug":
            _check_bug(value, self.offered)
        elif trait == "focus":
            _check_focus(self.name, value)
        elif trait == "text" or value:
            _check_text(self.name, value)

    @traitlets.observe("text", "first", "bug", *RANGES, "step", "focus", "hidden")
    def _describe(self, _change: object = None) -> None:
        if not self.kind:
            return
        settings = Settings(*(getattr(self, trait) for trait in RANGES))
        focus = (self.focus[0], self.focus[1])
        self.shown = compute_stored(
            self.name, self.text, self.count, settings, self.bug, self.first, focus
        )
        self._write_text(self._lines())

    def _lines(self) -> Iterator[str]:
        bug = label_of(self.bug) if self.bug else TEXT("no_bug")
        bug = TEXT("hidden_bug") if self.hidden else bug
        yield TEXT("title", name=self.name, bug=bug)
        yield TEXT("settings", **{trait: getattr(self, trait) for trait in RANGES})
        if self.first:
            yield TEXT("first_user", text=self.first, answer=self.shown["first_answer"])
        yield f"{self.text} → {self.written}"
        for k, step in enumerate(self.shown["steps"]):
            held = [kind for kind, *_ in step["slots"] if kind != FREE]
            yield TEXT(
                "line",
                step=k,
                held=len(held),
                count=len(step["slots"]),
                position=step["position"],
                token=step["token"],
                expected=step["expected"],
                difference=0 if (most := step["differences"]["logits"]) < 1e-6 else decimals(most),
            )


def _check_text(name: str, text: str) -> None:
    vocabulary = decoder_of(name).vocabulary
    vocabulary.encode(text)
    check_count(vocabulary.kind, len(vocabulary.split(text)), MOST[vocabulary.kind])


def _check_setting(name: str, value: int) -> None:
    check_whole_number(name, value)
    if not 0 <= value <= RANGES[name]:
        raise ValueError(f"{name} must lie in [0, {RANGES[name]}], got {value}")


def _check_bug(bug: str, offered: Sequence[str]) -> None:
    if bug and bug not in offered:
        raise ValueError(f"bug must be empty or one of {', '.join(offered)}, got {bug!r}")


def _check_focus(name: str, focus: Sequence[int]) -> None:
    sizes = decoder_of(name).config
    layers, heads = sizes.num_layers, sizes.num_heads
    if len(focus) != 2 or not (0 <= focus[0] < layers and 0 <= focus[1] < heads):
        raise ValueError(
            f"focus must be a layer in [0, {layers}) and a head in [0, {heads}), got {[*focus]}"
        )
