"""What all figures share: their files, their numbers, and their text form."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import torch
import traitlets

from attnbook.colors import css_variables
from attnbook.messages import Messages, read_table

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = Path(__file__).parents[1]
IMPORT = re.compile(
    r'^import ([^;]*?) from "(\.\.?/[^"]*)"(?: with \{ type: "json" \})?;\n', re.MULTILINE
)
MOST = 256
SHARED = Messages(__file__)


class Figure(anywidget.AnyWidget):
    """A widget whose text describes its picture.

    A terminal prints the text, nbval compares it, and a reader without JavaScript
    sees it.
    """

    kind = traitlets.Unicode().tag(sync=True)
    # Displayed first: one sentence that asks the reader for one action. `code` may be in it.
    action = traitlets.Unicode().tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)
    static_text = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        return self.static_text

    def _write_text(self, lines: Iterable[str]) -> None:
        """Make the text form: the action, if there is one, and then what the figure shows."""
        first = [self.action] if self.action else []
        self.static_text = "\n".join([*first, *lines])

    # ipywidgets 7, in Colab, would otherwise display it in its own way, which cuts the text.
    _ipython_display_ = None

    def _repr_mimebundle_(self, **options: Any) -> Any:  # noqa: ANN401 - as in anywidget
        # anywidget cuts the text after 110 characters.
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["text/plain"] = repr(self)
        return bundle


def module(name: str) -> str:
    """Join a JavaScript file and what it imports into the one module that a figure must be.

    A table of messages becomes a constant; all files that import it give it the same name.
    """
    texts: dict[Path, str] = {}

    def add(file: Path) -> None:
        text = file.read_text("utf-8")
        for names, imported in IMPORT.findall(text):
            path = (file.parent / imported).resolve()
            if path.suffix == ".json":
                table = json.dumps(read_table(str(path)), ensure_ascii=False)
                texts[path] = f"const {names} = {table};\n"
            elif path not in texts:
                add(path)
        texts[file] = IMPORT.sub("", text)

    add((FOLDER / name).resolve())
    return "".join(texts.values())


def stylesheet(*names: str) -> str:
    """Join the colors and the CSS files of a figure: the styles of all figures, then its own."""
    own = "".join((FOLDER / name).read_text("utf-8") for name in names)
    return css_variables(".attnbook-figure") + own


def numbers(name: str, tensor: Tensor) -> list[Any]:
    """Turn a tensor into nested lists, each number as short as its precision allows.

    Raises:
        ValueError: a number is infinite or NaN.
    """
    tensor = tensor.detach().cpu()
    wrong = ~tensor.isfinite()
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise ValueError(f"{name} must be finite, got {tensor[index].item()} at index {index}")
    if tensor.dtype == torch.float64:
        return tensor.tolist()
    return _apply(lambda number: float(f"{number:.9g}"), tensor.tolist())


def doubles(nested: Sequence[Any]) -> Tensor:
    """Turn nested lists back into a tensor: on the CPU, whatever torch's default device is."""
    return torch.tensor(nested, dtype=torch.float64, device="cpu")


def _apply(change: Callable[[float], float], nested: list[Any]) -> list[Any]:
    return [_apply(change, item) if isinstance(item, list) else change(item) for item in nested]


def decimals(number: float) -> str:
    """Format a number as the page does: three decimals, but a plain 0 for an exact zero."""
    if number == 0:
        return "0"
    return f"{number:.3f}" if 5e-4 <= abs(number) < 1e5 else f"{number:.1e}"


def percent(share: float) -> int:
    """A share in percent, rounded as the page does: a half goes up."""
    return math.floor(100 * share + 0.5)


def inline(text: str) -> str:
    """Convert text with `code` in it to HTML."""
    return re.sub("`(.*?)`", r"<code>\1</code>", escape(text))


def check_count(name: str, count: int, most: int = MOST, least: int = 1) -> None:
    """Refuse too few to show anything, and more than anyone can see.

    Raises:
        ValueError: `count` lies outside [least, most].
    """
    if count < least:
        raise ValueError(f"a figure needs at least {least} of {name}, got {count}")
    if count > most:
        raise ValueError(f"a figure shows at most {most} of {name}, got {count}; show a part of it")
