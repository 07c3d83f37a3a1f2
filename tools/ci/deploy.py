"""Steps of the publishing workflow between building and deploying; they need no package.

python3 -m tools.ci.deploy address               pass on the address, or explain how to get one
python3 -m tools.ci.deploy copies ARCHIVE [--to REMOTE]   push the Colab copies to their branch
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools import ROOT, repository_address

HOW_TO_PUBLISH = (
    "Nothing is published, because this repository has no GitHub Pages. To publish, open "
    "Settings > Pages, choose the source GitHub Actions under Build and deployment, and run "
    "this workflow again."
)
AUTHOR = {
    "GIT_AUTHOR_NAME": "publish workflow",
    "GIT_AUTHOR_EMAIL": "publish@localhost",
    "GIT_COMMITTER_NAME": "publish workflow",
    "GIT_COMMITTER_EMAIL": "publish@localhost",
}
# Git gets the token from `gh`, so it is in no file, address or command line.
# The empty value removes other helpers, which git would use first.
ASK_GH = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "credential.helper",
    "GIT_CONFIG_VALUE_0": "",
    "GIT_CONFIG_KEY_1": "credential.helper",
    "GIT_CONFIG_VALUE_1": "!gh auth git-credential",
}


def pass_on_address(environment: Mapping[str, str]) -> None:
    """Give the site's address to the next jobs, or print how to get one."""
    address = repository_address.site_address(environment)
    print(f"The site: {address}" if address else f"::warning title=Not published::{HOW_TO_PUBLISH}")
    outputs = environment.get("GITHUB_OUTPUT")
    if outputs:
        with Path(outputs).open("a", encoding="utf-8") as file:
            file.write(f"site={address}\n")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the copies.

    Raises:
        ValueError: there is no notebook among them; the branch stays unchanged.
    """
    # Python 3.11 has filters since 3.11.4; Debian's is older.
    safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **safely)  # noqa: S202 - the workflow's own archive
    if not list(folder.glob("chapters/*.ipynb")):
        raise ValueError(f"{archive} must hold chapters/*.ipynb, got none")


def push(folder: Path, remote: str, message: str) -> None:
    """Make the folder's content the only commit of the branch of copies."""
    with tempfile.TemporaryDirectory() as store:
        folders = {"GIT_DIR": store, "GIT_WORK_TREE": str(folder)}

        def git(*arguments: str) -> None:
            environment = os.environ | folders | AUTHOR | ASK_GH
            subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)

        git("init", "--quiet")
        # By force: the settings of a user may ignore files that are copies.
        git("add", "--all", "--force")
        git("commit", "--quiet", "--no-gpg-sign", "--no-verify", f"--message={message}")
        git("push", "--quiet", "--force", remote, f"HEAD:refs/heads/{repository_address.COPIES}")


def default_remote() -> str:
    """The repository itself.

    Raises:
        ValueError: neither the environment nor git names one.
    """
    address = repository_address.repository_address(ROOT)
    if not address:
        raise ValueError("no repository is known: set the remote origin, or use --to REMOTE")
    return address


def publish_copies(archive: Path, remote: str) -> None:
    """Push an archive of copies; the branch is replaced."""
    commit = repository_address.git(ROOT, "rev-parse", "HEAD")
    with tempfile.TemporaryDirectory() as folder:
        unpack(archive, Path(folder))
        push(Path(folder), remote, f"Colab copies of commit {commit or 'unknown'}")
    print(f"Branch {repository_address.COPIES} holds the copies of commit {commit or 'unknown'}.")


def read_arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    tasks = parser.add_subparsers(dest="task", required=True)
    tasks.add_parser("address")
    copies = tasks.add_parser("copies")
    copies.add_argument("archive", type=Path)
    copies.add_argument("--to", help="another remote than the repository itself")
    return parser.parse_args()


def main() -> int:
    """Run the task of the command line; 0 if it succeeds."""
    arguments = read_arguments()
    try:
        if arguments.task == "address":
            pass_on_address(os.environ)
        else:
            publish_copies(arguments.archive, arguments.to or default_remote())
    except ValueError as error:
        print(f"::error::{error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
