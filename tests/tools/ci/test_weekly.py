"""The weekly checks: what is reported, and the one issue about it."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
import yaml
from nbval.plugin import get_sanitize_patterns

from tools import ROOT
from tools.ci import weekly
from tools.colab import versions

GOOD = {"result": "success", "outputs": {"report": ""}}
BAD = {"result": "success", "outputs": {"report": "Versions: torch 9.0 (not 2.13.0)."}}
UNFINISHED = {"result": "failure", "outputs": {}}
RUN = {
    "GITHUB_SERVER_URL": "https://host.example",
    "GITHUB_REPOSITORY": "someone/book",
    "GITHUB_RUN_ID": "7",
}


def test_each_check_that_drifted_or_did_not_finish_has_its_section_and_no_other_has():
    checks = {"newest": BAD, "colab": GOOD, "links": UNFINISHED, "nightly": {"result": "skipped"}}
    text = weekly.issue_text(checks, RUN)
    assert "## With the newest versions\n\nVersions: torch 9.0 (not 2.13.0).\n" in text
    assert "## Links that lead elsewhere\n\nThe check did not finish.\n" in text
    assert "Colab" not in text
    assert "night" not in text
    assert text.endswith("https://host.example/someone/book/actions/runs/7")


def test_a_report_of_many_lines_reaches_the_next_job_unchanged(tmp_path):
    outputs = tmp_path / "outputs"
    weekly.pass_on_report("one\n\nreport=two\n", {"GITHUB_OUTPUT": str(outputs)})
    name, end, lines = re.fullmatch(r"(\w+)<<(\S+)\n(.*)\n\2\n", outputs.read_text(), re.S).groups()
    assert (name, lines) == ("report", "one\n\nreport=two")
    assert end not in lines


def test_an_excerpt_has_what_failed_and_not_what_passed():
    output = "tests/test_a.py ..F.\nE  assert 1 == 2\nFAILED tests/test_a.py::test_one - x\n"
    output += "=== 1 failed, 3 passed in 2.00s ===\nmake: *** [Makefile:40: unit] Error 1\n"
    lines = weekly.excerpt(output).splitlines()
    assert lines[0] == "```text"
    assert lines[1:-1] == output.splitlines()[1:]


@pytest.fixture(params=[0, 2])
def make(request, monkeypatch):
    """Record the commands instead of running them, and their exit status."""
    commands = []
    answer = request.param, "FAILED a::b\n"
    monkeypatch.setattr(weekly, "run_and_print", lambda command: commands.append(command) or answer)
    return commands, request.param


def test_tests_that_fail_with_other_versions_are_drift(make, monkeypatch):
    commands, status = make
    monkeypatch.setattr(weekly, "installation_commands", lambda _folder, _pins: [])
    monkeypatch.setattr(weekly, "list_changed_versions", lambda _folder: "torch 9.0 (not 2.13.0)")
    report = weekly.try_versions("newest", [])
    assert commands[0][-2:] == ["unit", "nbval"]
    assert ("torch 9.0" in report and "FAILED a::b" in report) == bool(status)
    assert bool(report) == bool(status)


@pytest.mark.parametrize("name", weekly.TARGETS)
def test_a_target_that_fails_is_reported(make, name):
    commands, status = make
    assert ("FAILED a::b" in weekly.CHECKS[name](name, [])) == bool(status)
    assert commands == [["make", "--keep-going", *weekly.TARGETS[name]]]


# Replaces gh, and stores issues in a file.
GH = """#!{python}
import json, pathlib, sys
store = pathlib.Path({store!r})
state = json.loads(store.read_text())
words = sys.argv[1:]
state["asked"].append(words)
path, fields = words[1], dict(w.split("=", 1) for w in words if "=" in w and w[0].isalpha())
if fields.get("body") == "@-":
    fields["body"] = sys.stdin.read()
if path == "repos/{{owner}}/{{repo}}":
    print(json.dumps(state["has_issues"]))
elif "?" in path:
    print("\\n".join(n for n, issue in state["issues"].items() if issue.get("state") != "closed"))
elif "POST" in words:
    state["issues"]["12"] = fields
else:
    state["issues"][path.rsplit("/", 1)[1]].update(fields)
store.write_text(json.dumps(state))
"""


@pytest.fixture
def github(tmp_path, monkeypatch):
    store = tmp_path / "state.json"
    store.write_text(json.dumps({"has_issues": True, "issues": {}, "asked": []}))
    script = tmp_path / "gh"
    script.write_text(GH.format(python=sys.executable, store=str(store)))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return store


def issues(github):
    return json.loads(github.read_text())["issues"]


def test_one_issue_is_opened_updated_and_closed(github):
    assert weekly.update_issue("") == "Nothing drifted."
    assert issues(github) == {}
    assert weekly.update_issue("first") == "An issue was opened."
    assert issues(github) == {"12": {"title": weekly.TITLE, "body": "first"}}
    assert weekly.update_issue("second") == "Issue 12 was updated."
    assert issues(github) == {"12": {"title": weekly.TITLE, "body": "second"}}
    assert weekly.update_issue("") == "Nothing drifted: issue 12 was closed."
    assert issues(github)["12"]["state"] == "closed"


def test_of_several_open_issues_the_first_is_updated(github):
    both = {number: {"title": weekly.TITLE} for number in ("9", "10")}
    github.write_text(json.dumps({"has_issues": True, "issues": both, "asked": []}))
    assert weekly.update_issue("new") == "Issue 9 was updated."


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("<p>0.5</p><svg>\n<g/></svg>", True),
        ("<p>0.6</p><svg></svg>", False),
        ("<p>0.5</p>", False),
    ],
)
def test_chapters_with_another_matplotlib_may_differ_in_drawings_and_in_nothing_else(text, passes):
    ((drawing, replacement),) = get_sanitize_patterns(weekly.DRAWINGS.read_text("utf-8"))

    def compared(output):
        return re.sub(drawing, replacement, output)

    assert (compared(text) == compared("<p>0.5</p><svg></svg>")) == passes


def test_colab_s_job_has_colab_s_python_and_its_pins_all_versions_that_tests_and_chapters_use():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8"))
    (python,) = (
        step["with"]
        for step in workflow["jobs"]["colab"]["steps"]
        if "python" in str(step.get("with"))
    )
    assert python == {"python-version": versions.PYTHON}
    names = {pin.partition("==")[0] for pin in weekly.PINS["colab"]}
    assert names == {*versions.COLAB, "transformers"} - {"pip", "ipykernel"}


def test_the_workflow_passes_every_check_to_the_report():
    workflow = (ROOT / ".github" / "workflows" / "weekly.yml").read_text("utf-8")
    assert f"needs: [{', '.join(weekly.CHECKS)}]" in workflow
    assert set(weekly.NAMES) == set(weekly.CHECKS)
