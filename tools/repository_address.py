"""Where a page comes from and where it is published: no address is written by hand."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

HOSTS = ("github", "gitlab", "bitbucket")
SITE = "BOOK_SITE"  # the environment's name for the address of the published site
COPIES = "colab"  # the branch that holds the chapters as Colab shows them


def git(root: Path, *arguments: str) -> str:
    """The output of a git command in the checkout at `root`; empty if there is none.

    An unpacked archive may be inside another checkout, whose output would be wrong.
    """
    if not (root / ".git").exists():
        return ""
    try:
        run = subprocess.run(
            ["git", "-C", root, *arguments], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return run.stdout.strip()


def changed_files(root: Path) -> list[str]:
    """The files that differ from the commit that is checked out, new ones included."""
    lines = git(root, "status", "--porcelain").splitlines()
    return [line.split(maxsplit=1)[1] for line in lines]


def describe_commit(root: Path) -> str:
    """The sentence at the foot of each page."""
    commit = git(root, "rev-parse", "--short=10", "HEAD")
    changed = ", with local changes" if git(root, "status", "--porcelain", "-uno") else ""
    source = f"commit <code>{commit}</code>{changed}" if commit else "an unknown commit"
    return f"Made from {source} with torch {version('torch')}."


def web_address(remote: str) -> str:
    """The page of a git remote, without user names and passwords; empty for a local one."""
    scp_like = re.fullmatch(r"(?:[^@/]+@)?([^:/@]+):(?!/)(.+)", remote)
    address = f"https://{scp_like[1]}/{scp_like[2]}" if scp_like else remote
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http", "ssh") or not any(name in host for name in HOSTS):
        return ""
    return f"https://{host}{parts.path.removesuffix('/').removesuffix('.git')}"


def repository_address(root: Path, environment: Mapping[str, str] = os.environ) -> str:
    """The repository's address from CI or from the git remote; never written by hand."""
    server = environment.get("GITHUB_SERVER_URL")
    name = environment.get("GITHUB_REPOSITORY")
    if server and name:
        return web_address(f"{server}/{name}")
    return web_address(git(root, "remote", "get-url", "origin"))


def is_plain(parts: SplitResult) -> bool:
    """Whether an address names a host and a path by https, and nothing more."""
    more = parts.username or parts.password or parts.query or parts.fragment
    return parts.scheme == "https" and bool(parts.hostname) and not more


def site_address(environment: Mapping[str, str] = os.environ) -> str:
    """The address of the published site, with a slash at its end; empty if it is unknown.

    Raises:
        ValueError: the environment's address is not one by https.
    """
    address = environment.get(SITE, "").strip()
    if not address:
        return ""
    if not is_plain(urlsplit(address)) or re.search(r"[\s<>\"'\\]", address):
        raise ValueError(
            f"{SITE} must be an address like https://example.org/book/, got {address!r}"
        )
    return f"{address.rstrip('/')}/"


def tagged_version(environment: Mapping[str, str] = os.environ) -> str:
    """The version that CI publishes from its tag; empty elsewhere."""
    name = environment.get("GITHUB_REF_NAME", "")
    is_release = environment.get("GITHUB_REF_TYPE") == "tag" and re.fullmatch(r"v\d[\w.]*", name)
    return name.removeprefix("v") if is_release else ""


def colab_address(repository: str, page: str) -> str:
    """Colab's address of a chapter's copy; empty for a repository that is not on github.com."""
    parts = urlsplit(repository)
    names = parts.path.removesuffix("/").removesuffix(".git").strip("/")
    if parts.hostname != "github.com" or names.count("/") != 1:
        return ""
    page_path = f"blob/{COPIES}/chapters/{page}.ipynb"
    return f"https://colab.research.google.com/github/{names}/{page_path}"
