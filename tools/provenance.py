"""Where a page comes from: the commit, the torch version and the repository, if known."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

HOSTS = ("github", "gitlab", "bitbucket")


def git(root: Path, *arguments: str) -> str:
    """What git says about the checkout whose top is `root`; nothing where there is none.

    An unpacked archive may lie inside some other checkout, which must not answer for it.
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


def made_from(root: Path) -> str:
    """The sentence at the foot of each page."""
    commit = git(root, "rev-parse", "--short=10", "HEAD")
    changed = ", with local changes" if git(root, "status", "--porcelain", "-uno") else ""
    source = f"commit <code>{commit}</code>{changed}" if commit else "an unknown commit"
    return f"Made from {source} with torch {version('torch')}."


def web_address(remote: str) -> str:
    """The page of a git remote, without user names and passwords; nothing for a local one."""
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
        return f"{server}/{name}"
    return web_address(git(root, "remote", "get-url", "origin"))
