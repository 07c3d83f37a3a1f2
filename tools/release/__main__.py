"""Check, build and try a release, up to the upload, which only the workflow `release` does.

python -m tools.release VERSION [--tested] [--reuse]    (make release VERSION=… TESTED=1 REUSE=1)

The files are in `_build/release/dist`, and the README as PyPI shows it in `_build/release`. It
stops at the first step that refuses, and prints why.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools import ROOT
from tools.ci.run_tests import clock, passed_commit
from tools.colab.clean_environment import StepFailedError
from tools.release import distributions, environments, project_links, public_names, versions
from tools.release.distributions import Distributions
from tools.repository_address import changed_files, git, repository_address, site_address

FOLDER = ROOT / "_build" / "release"


class RefusedError(Exception):
    """The reasons why a release stops."""


def refuse(problems: Iterable[str]) -> None:
    """Stop if there are problems.

    Raises:
        RefusedError: there are.
    """
    if text := "\n".join(f"- {problem}" for problem in problems):
        raise RefusedError(text)


def check_tree(root: Path) -> None:
    """Refuse files that differ from the commit: the release is built from it."""
    if not git(root, "rev-parse", "HEAD"):
        refuse(["a release is built from a commit, and git finds none"])
    refuse(f"{name} is not committed" for name in changed_files(root))


def run_tests(root: Path) -> None:
    """Run all tests, if they have not passed for this commit, and then on each Python."""
    targets = ["pythons"]
    if passed_commit() != git(root, "rev-parse", "HEAD"):
        targets.insert(0, "test")
    for target in targets:
        done = subprocess.run(["make", "--no-print-directory", target], cwd=root, check=False)
        refuse([f"make {target} failed"] if done.returncode else [])


def build(root: Path, version: str) -> Distributions:
    """Build from the commit, with the links that its repository's address gives."""
    source = FOLDER / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.rmtree(FOLDER / "dist", ignore_errors=True)
    source.mkdir(parents=True)
    distributions.copy_commit(root, source)
    repository = repository_address(root)
    if repository:
        project_links.write_links(source, repository, site_address(), version)
    print(f"The project's links: {repository or 'none, because the repository has no address'}")
    built = distributions.build(source, FOLDER / "dist")
    refuse(distributions.problems(built))
    (FOLDER / "pypi.html").write_text(distributions.rendered(built.metadata()), "utf-8")
    for file in (built.wheel, built.sdist):
        print(f"{file.name}: {file.stat().st_size / 1e6:.2f} MB")
    print(f"{len(built.in_wheel())} files in the wheel")
    return built


def release(version: str, *, tested: bool, reuse: bool) -> None:
    """Do every step up to the upload.

    Raises:
        RefusedError: a step refuses.
    """
    check_tree(ROOT)
    refuse(versions.refusals(ROOT, version))
    changes = versions.entries(ROOT)[0].text
    refuse(public_names.compare(ROOT, public_names.public_names(), changes))
    if not tested:
        run_tests(ROOT)
    built = build(ROOT, version)
    for environment in environments.make_environments(ROOT, FOLDER, reuse=reuse):
        print(environments.try_release(environment, built, version), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try a release; 1 and the reasons if a step refuses."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("version")
    parser.add_argument("--tested", action="store_true", help="the tests have passed elsewhere")
    parser.add_argument("--reuse", action="store_true", help="use and leave the environments")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    try:
        release(options.version, tested=options.tested, reuse=options.reuse)
    except (RefusedError, StepFailedError, RuntimeError, ValueError) as error:
        print(f"No release of {options.version}:\n{error}")
        return 1
    print(
        f"{options.version} is ready after {clock(time.monotonic() - start)}. To publish it: "
        f"git tag v{options.version} && git push origin v{options.version}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
