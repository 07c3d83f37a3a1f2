"""Links of a release, made from the address of its repository, which is written nowhere.

They are written into a copy of the commit: into its `pyproject.toml`, and into its README, whose
relative links work on GitHub and lead nowhere on PyPI.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit

PROJECT = "[project]\n"
# Around a linked picture, only the end of the link is left once the picture is found.
LINK = re.compile(r"(!?\[[^\[\]]*\]|\])\(([^)\s]+)\)")
DEPLOYED = "../../deployments/github-pages"  # GitHub's own page about the published site


def urls(repository: str, site: str, version: str) -> dict[str, str]:
    """The links next to the project's description."""
    links = {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/v{version}/CHANGELOG.md",
    }
    return {"Documentation": site, **links} if site else links


def absolute_links(text: str, repository: str, site: str, version: str) -> str:
    """A Markdown page at the repository's root with each relative link made absolute."""

    def absolute(match: re.Match[str]) -> str:
        text, target = match.groups()
        if urlsplit(target).scheme or target.startswith("#"):
            return match[0]
        # As GitHub resolves them: a picture's file, or the page that shows a file.
        base = f"{repository}/{'raw' if text.startswith('!') else 'blob'}/v{version}/"
        return f"{text}({site if site and target == DEPLOYED else urljoin(base, target)})"

    return LINK.sub(absolute, text)


def write_links(folder: Path, repository: str, site: str, version: str) -> None:
    """Write the links into a copy of the repository."""
    lines = "".join(
        f'{name} = "{address}"\n' for name, address in urls(repository, site, version).items()
    )
    about, readme = folder / "pyproject.toml", folder / "README.md"
    text = about.read_text("utf-8")
    about.write_text(text.replace(PROJECT, f"[project.urls]\n{lines}\n{PROJECT}", 1), "utf-8")
    page = readme.read_text("utf-8")
    readme.write_text(absolute_links(page, repository, site, version), "utf-8")
