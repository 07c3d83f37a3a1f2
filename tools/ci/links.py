"""Ask every outside link of the book; print, as Markdown, those that no longer lead there."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are a package of their own
from jupyter_book.sphinx import build_sphinx

from tools import ROOT

MOVED_FOR_GOOD = (301, 308)
# Journals and archives turn robots away, and any server may be slow for a day.
TURNED_AWAY = ("403 ", "429 ", "503 ")
SETTINGS = {
    "latex_individualpages": False,
    "nb_execution_mode": "off",
    "linkcheck_report_timeouts_as_broken": False,
    "linkcheck_retries": 3,
    "linkcheck_timeout": 30,
}

Answer = dict[str, Any]


def reading(root: Path) -> list[str]:
    """The extensions that read the book, less our own, which only shapes its site."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    return [
        name for name in config["sphinx"]["config"]["extensions"] if name != "tools.site.extension"
    ]


def ask(root: Path) -> list[Answer]:
    """Let Sphinx follow each link of the book at `root`; one answer for each outside link.

    Raises:
        RuntimeError: the book could not be read to its end.
    """
    folder = root / "_build" / "links"
    with redirect_stdout(sys.stderr):
        result = build_sphinx(
            root,
            folder,
            doctreedir=folder / ".doctrees",
            path_config=root / "_config.yml",
            noconfig=True,
            freshenv=True,
            builder="linkcheck",
            confoverrides={
                "external_toc_path": str(root / "_toc.yml"),
                "extensions": reading(root),
                **SETTINGS,
            },
        )
    # A broken link makes it 1, like any warning.
    if result not in (0, 1):
        raise RuntimeError(f"the book could not be read: {result}")
    lines = (folder / "output.json").read_text("utf-8").splitlines()
    return [answer for answer in map(json.loads, lines) if answer["uri"].startswith("http")]


def is_broken(answer: Answer) -> bool:
    """Whether a link leads nowhere; a server that turns robots away proves nothing."""
    return answer["status"] == "broken" and not answer["info"].startswith(TURNED_AWAY)


def has_moved(answer: Answer) -> bool:
    """Whether the server says that the page lives elsewhere for good."""
    return answer["status"] == "redirected" and answer["code"] in MOVED_FOR_GOOD


def describe(answer: Answer) -> str:
    """One link and what became of it, as an item of a list."""
    place = f"{answer['filename']}:{answer['lineno']}"
    found = f"moved to {answer['info']}" if has_moved(answer) else answer["info"]
    return f"- `{place}` <{answer['uri']}>: {' '.join(found.split())[:200]}"


def report(answers: Iterable[Answer]) -> str:
    """What drifted, as a list; empty if all is well."""
    return "\n".join(
        describe(answer) for answer in answers if is_broken(answer) or has_moved(answer)
    )


def main() -> None:
    """Print what drifted; how many were asked is said beside it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _config.yml")
    answers = ask(parser.parse_args().root.absolute())
    print(f"{len(answers)} links were asked.", file=sys.stderr)
    print(report(answers))


if __name__ == "__main__":
    main()
