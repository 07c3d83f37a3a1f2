"""Check what pinned versions hide: newest versions, Colab's, other processors, links.

python -m tools.ci.weekly newest [PIN ...]   run the tests and chapters with the newest versions
python -m tools.ci.weekly colab [PIN ...]    the same with versions like Google Colab's
python -m tools.ci.weekly oldest [PIN ...]   the same with the oldest torch that is promised
python -m tools.ci.weekly nightly [PIN ...]  the same with last night's torch
python -m tools.ci.weekly processors         run the chapters as on ten other processors
python -m tools.ci.weekly combinations       run the tests on every combination of parameters
python -m tools.ci.weekly faults             which faults in our own code no test detects
python -m tools.ci.weekly links              request every outside link
python -m tools.ci.weekly report             open, update or close the issue, from CHECKS

It needs only Python, make, and for the report `gh`. Drift is not a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tools import ROOT
from tools.ci.pythons import oldest_torch
from tools.colab.versions import COLAB, TRANSFORMERS

TITLE = "Weekly check: what drifted"
NAMES = {
    "newest": "With the newest versions",
    "colab": "With Colab's versions",
    "oldest": "With the oldest torch",
    "nightly": "With last night's torch",
    "processors": "On other processors",
    "combinations": "With every combination of parameters, and every Colab copy",
    "faults": "Faults that no test detects",
    "links": "Links that lead elsewhere",
}
PINS: dict[str, list[str]] = {
    "newest": ["transformers", "x-transformers"],  # for tests that skip where they are missing
    # All packages except those that install and run the others, and the one that a test reads.
    "colab": [
        f"{name}=={version}"
        for name, version in {**COLAB, "transformers": TRANSFORMERS}.items()
        if name not in {"pip", "ipykernel"}
    ],
    "oldest": [oldest_torch(ROOT)],
    "nightly": ["torch>=0.dev0"],  # from the index that the workflow's repository names
}
# Another matplotlib moves labels by a part of a point.
DRAWINGS = Path(__file__).with_name("drawings.cfg")
TARGETS = {
    "processors": ["rounding"],
    "combinations": ["FULL=1", "unit", "colab-test"],
    "faults": ["mutants"],
}
IMPORTANT = re.compile(
    r"^(FAILED|SURVIVES|ERROR|E\s|make.*\*\*\*|ERROR:|=+ .*\b(failed|error)).*", re.MULTILINE
)
# An issue has at most 65,536 characters.
LINES, CHARACTERS = 60, 10_000


def run_and_print(command: list[str]) -> tuple[int, str]:
    """Run a command and print its output; gives its exit status and its output."""
    lines = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    return process.returncode, "".join(lines)


def installation_commands(folder: Path, pins: list[str]) -> list[list[str]]:
    """The commands that make an environment for the whole book with only these pins."""
    python = str(folder / "bin" / "python")
    return [
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "--editable", ".[book,test]", *pins],
        [str(folder / "bin" / "npm"), "ci", "--prefix", "tools", "--loglevel=error"],
        # With this file, the Makefile does not change the environment.
        [python, "-c", f"open({str(folder / 'ready')!r}, 'w')"],
    ]


def versions(text: str) -> dict[str, str]:
    """The pinned versions in a requirements file, by name."""
    pairs = re.findall(r"^([\w.-]+)==([^\s;+]+)", text, re.MULTILINE)
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


def list_changed_versions(folder: Path) -> str:
    """The versions that differ from those of the book."""
    done = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
    )
    installed, pinned = (
        versions(done.stdout),
        versions((ROOT / "requirements.txt").read_text("utf-8")),
    )
    names = sorted(
        name for name in installed if pinned.get(name, installed[name]) != installed[name]
    )
    return ", ".join(f"{name} {installed[name]} (not {pinned[name]})" for name in names)


def excerpt(output: str) -> str:
    """The important lines of a long output, or its end, as a block of code."""
    lines = [match[0] for match in IMPORTANT.finditer(output)] or output.splitlines()[-20:]
    return "\n".join(["```text", *(line[:200] for line in lines[-LINES:]), "```"])


def try_versions(name: str, pins: list[str]) -> str:
    """Run unit tests and chapters with other versions; gives the failures."""
    folder = ROOT / "_build" / "drift" / name
    for command in installation_commands(folder, PINS[name] + pins):
        status, output = run_and_print(command)
        if status:
            return f"They cannot be installed.\n\n{excerpt(output)}"
    variables = [f"VENV={folder}", f"PYTEST_ADDOPTS=--nbval-sanitize-with={DRAWINGS}"]
    status, output = run_and_print(["make", "--keep-going", *variables, "unit", "nbval"])
    return f"Versions: {list_changed_versions(folder)}.\n\n{excerpt(output)}" if status else ""


def try_targets(name: str, _pins: list[str]) -> str:
    """Run targets that take too long for every push; gives the failures."""
    status, output = run_and_print(["make", "--keep-going", *TARGETS[name]])
    return excerpt(output) if status else ""


def try_links(_name: str, _pins: list[str]) -> str:
    """Request the outside links; gives those that are broken or moved."""
    status, output = run_and_print(["make", ".venv/ready"])
    if status:
        return f"The book's environment cannot be made.\n\n{excerpt(output)}"
    command = [".venv/bin/python", "-m", "tools.ci.links"]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


CHECKS: dict[str, Callable[[str, list[str]], str]] = {
    "newest": try_versions,
    "colab": try_versions,
    "oldest": try_versions,
    "nightly": try_versions,
    "processors": try_targets,
    "combinations": try_targets,
    "faults": try_targets,
    "links": try_links,
}


def pass_on_report(report: str, environment: Mapping[str, str]) -> None:
    """Pass a report to the next job, and print it."""
    report = report.strip()[:CHARACTERS]
    print(f"\n{report or 'Nothing drifted.'}")
    outputs = environment.get("GITHUB_OUTPUT")
    if outputs:
        end = f"end-{os.urandom(8).hex()}"
        with Path(outputs).open("a", encoding="utf-8") as file:
            file.write(f"report<<{end}\n{report}\n{end}\n")


def section(name: str, check: Mapping[str, Any]) -> str:
    """The report of one check under its heading; empty if nothing drifted."""
    if check["result"] == "skipped":
        return ""
    finished = check["result"] == "success"
    text = check["outputs"].get("report", "") if finished else "The check did not finish."
    return f"## {NAMES[name]}\n\n{text}" if text else ""


def issue_text(checks: Mapping[str, Mapping[str, Any]], environment: Mapping[str, str]) -> str:
    """The whole issue; empty if nothing drifted."""
    sections = [text for name, check in checks.items() if (text := section(name, check))]
    if not sections:
        return ""
    has_run = all(
        f"GITHUB_{part}" in environment for part in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    run = "{GITHUB_SERVER_URL}/{GITHUB_REPOSITORY}/actions/runs/{GITHUB_RUN_ID}"
    foot = f"The whole output: {run.format_map(environment)}" if has_run else ""
    return "\n\n".join(
        [
            "The book still works with its pinned versions; these checks found differences.",
            *sections,
            foot,
        ]
    ).strip()


def gh(*arguments: str, text: str = "") -> str:
    """The response of GitHub; `gh` puts the repository's name into the braces."""
    command = ["gh", "api", *arguments]
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def update_issue(text: str) -> str:
    """Open the issue, update it, or close it; gives a message about it."""
    issues = "repos/{owner}/{repo}/issues"
    if gh("repos/{owner}/{repo}", "--jq", ".has_issues") != "true":
        return "This repository has no issues, so none was opened."
    ours = f".[] | select(.title == {json.dumps(TITLE)} and (.pull_request | not)) | .number"
    numbers = gh(f"{issues}?state=open&per_page=100", "--paginate", "--jq", ours).split()
    if not numbers and not text:
        return "Nothing drifted."
    if not numbers:
        gh(issues, "-X", "POST", "-f", f"title={TITLE}", "-F", "body=@-", text=text)
        return "An issue was opened."
    number = min(numbers, key=int)
    if text:
        gh(f"{issues}/{number}", "-X", "PATCH", "-F", "body=@-", text=text)
        return f"Issue {number} was updated."
    gh(f"{issues}/{number}", "-X", "PATCH", "-f", "state=closed")
    return f"Nothing drifted: issue {number} was closed."


def main() -> int:
    """Run the task of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("task", choices=[*CHECKS, "report"])
    parser.add_argument("pins", nargs="*", help="further requirements, such as torch==2.13.0")
    arguments = parser.parse_args()
    if arguments.task == "report":
        text = issue_text(json.loads(os.environ["CHECKS"]), os.environ)
        print(text)
        print(update_issue(text))
    else:
        pass_on_report(CHECKS[arguments.task](arguments.task, arguments.pins), os.environ)
    return 0


if __name__ == "__main__":
    sys.exit(main())
