"""Request every outside link of the book; print, as Markdown, those that are broken or moved."""

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
# Journals and archives refuse robots, and any server may be slow for a day.
TURNED_AWAY = ("403 ", "429 ", "503 ")
SETTINGS = {
    "latex_individualpages": False,
    "nb_execution_mode": "off",
    "linkcheck_report_timeouts_as_broken": False,
    "linkcheck_retries": 3,
    "linkcheck_timeout": 30,
}

Response = dict[str, Any]


def reading_extensions(root: Path) -> list[str]:
    """The extensions that read the book, without ours, which only affects its site."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    return [
        name for name in config["sphinx"]["config"]["extensions"] if name != "tools.site.extension"
    ]


def request_links(root: Path) -> list[Response]:
    """Let Sphinx request each link of the book at `root`; gives one response for each outside link.

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
                "extensions": reading_extensions(root),
                **SETTINGS,
            },
        )
    # A broken link makes it 1, like any warning.
    if result not in (0, 1):
        raise RuntimeError(f"the book could not be read: {result}")
    lines = (folder / "output.json").read_text("utf-8").splitlines()
    return [response for response in map(json.loads, lines) if response["uri"].startswith("http")]


def is_broken(response: Response) -> bool:
    """Whether a link leads nowhere; a refusal of robots does not count."""
    return response["status"] == "broken" and not response["info"].startswith(TURNED_AWAY)


def has_moved(response: Response) -> bool:
    """Whether the server reports that the page has moved permanently."""
    return response["status"] == "redirected" and response["code"] in MOVED_FOR_GOOD


def describe(response: Response) -> str:
    """A link and its problem, as an item of a list."""
    position = f"{response['filename']}:{response['lineno']}"
    problem = f"moved to {response['info']}" if has_moved(response) else response["info"]
    return f"- `{position}` <{response['uri']}>: {' '.join(problem.split())[:200]}"


def report(responses: Iterable[Response]) -> str:
    """The broken and moved links as a list; empty if there are none."""
    return "\n".join(
        describe(response) for response in responses if is_broken(response) or has_moved(response)
    )


def main() -> None:
    """Print the broken and moved links, and the number of requests on stderr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with _config.yml")
    responses = request_links(parser.parse_args().root.absolute())
    print(f"{len(responses)} links were requested.", file=sys.stderr)
    print(report(responses))


if __name__ == "__main__":
    main()
