"""The workflows on GitHub: their permissions, and that each step can also be run locally."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest
import yaml

from tools import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yml"))}
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
# Nobody else may write anything.
WRITERS = {
    ("publish", "copies"): {"contents"},
    ("publish", "deploy"): {"pages", "id-token"},
    ("weekly", "report"): {"issues"},
}
each_workflow = pytest.mark.parametrize("name", TEXTS)


def jobs(text):
    return yaml.safe_load(text)["jobs"]


def runs(text):
    """Every shell command of a workflow."""
    steps = (step for job in jobs(text).values() for step in job.get("steps", []))
    return [step["run"].strip() for step in steps if "run" in step]


def loose_actions(text):
    """The actions that are no file of this repository and not pinned by a commit and a version."""
    pinned = r"[\w.-]+(/[\w.-]+)+@[0-9a-f]{40} # v\d+(\.\d+)*"
    for used in re.findall(r"^ *(?:- )?uses: *(.*)$", text, re.MULTILINE):
        local = used.startswith("./") and (ROOT / used.split()[0]).is_file()
        if not local and not re.fullmatch(pinned, used):
            yield used


def has_tasks(path, tasks):
    """Whether a script exists and has these tasks."""
    file = ROOT / path
    return file.is_file() and all(f'"{task}"' in file.read_text("utf-8") for task in tasks[:1])


def is_local(command):
    """Whether a step is one command that anyone can run in a checkout."""
    if "\n" in command:
        return False
    match command.split():
        case ["make", *words]:
            return bool(words) and {word for word in words if "=" not in word} <= TARGETS
        case ["python" | "python3", "-m", module, *tasks] if module.startswith("tools."):
            return has_tasks(f"{module.replace('.', '/')}.py", tasks)
        case [".ci/run"]:
            return os.access(ROOT / ".ci" / "run", os.X_OK)
        case [".venv/bin/python", "-c", *_] | ["gh", "run", "download", *_]:
            return True
    return False


def writing(text):
    """The write permissions of each job, by its name."""
    all_of_them = {name: job.get("permissions", {}) for name, job in jobs(text).items()}
    return {
        name: {what for what, how in permissions.items() if how != "read"}
        for name, permissions in all_of_them.items()
        if isinstance(permissions, str) or any(how != "read" for how in permissions.values())
    }


def before(text, name):
    """The jobs that must have succeeded before this one begins."""
    needed = jobs(text)[name].get("needs", [])
    direct = {needed} if isinstance(needed, str) else set(needed)
    return direct.union(*(before(text, other) for other in direct))


def named_addresses(text):
    return re.findall(r"\w+://\S*|\bgithub\.(?:com|io)\b|git@\S*", text)


@each_workflow
def test_every_action_is_pinned_by_its_commit_and_names_its_version(name):
    assert list(loose_actions(TEXTS[name])) == []


@each_workflow
def test_every_step_is_one_command_that_can_be_run_locally(name):
    assert [command for command in runs(TEXTS[name]) if not is_local(command)] == []


@each_workflow
def test_workflows_may_only_read_and_only_some_jobs_may_write(name):
    assert yaml.safe_load(TEXTS[name])["permissions"] == {"contents": "read"}
    allowed = {job: what for (workflow, job), what in WRITERS.items() if workflow == name}
    assert writing(TEXTS[name]) == allowed


def test_no_job_that_may_write_installs_anything():
    for workflow, job in WRITERS:
        steps = jobs(TEXTS[workflow])[job]["steps"]
        assert not any("make" in step.get("run", "") for step in steps)
        assert not any("setup-python" in step.get("uses", "") for step in steps)


@each_workflow
def test_no_workflow_names_an_address(name):
    assert named_addresses(TEXTS[name]) == []


def test_copies_are_pushed_and_tests_pass_before_the_site_is_published():
    assert before(TEXTS["publish"], "deploy") == {"copies", "build", "address", "tests"}
    turned = TEXTS["publish"].replace("needs: copies", "needs: build")
    assert "copies" not in before(turned, "deploy")


def test_a_site_without_answers_comes_from_its_own_folder_and_no_copy_of_them_is_pushed():
    steps = {name: job.get("steps", []) for name, job in jobs(TEXTS["publish"]).items()}
    (build,) = (step for step in steps["build"] if step.get("run") == "make book colab")
    assert build["env"]["ANSWERS"] == "${{ vars.ANSWERS }}"
    paths = [step["with"]["path"] for step in steps["build"] if "path" in step.get("with", {})]
    folder = "${{ vars.ANSWERS == 'no' && '_build/questions/html' || '_build/html' }}"
    assert paths == [folder, "_build/colab"]
    pushing = [step for step in steps["copies"] if "run" in step]
    assert [step.get("if") for step in pushing] == ["vars.ANSWERS != 'no'"] * 2


def test_main_is_tested_once_and_everything_else_too():
    triggers = {name: yaml.safe_load(text)[True] for name, text in TEXTS.items()}  # `on` is true
    assert triggers["publish"]["push"] == {"branches": ["main"]}
    assert triggers["test"]["push"] == {"branches-ignore": ["main"]}
    assert {"pull_request", "workflow_call"} <= set(triggers["test"])


def caching(text):
    return re.findall(r"^.*\bcache\b.*$", re.sub(r"#.*", "", text), re.MULTILINE)


def test_no_published_file_comes_from_a_cache():
    assert caching(TEXTS["publish"]) == []
    assert caching(TEXTS["test"]) != []


def test_executions_are_fetched_only_for_this_python_this_package_and_these_pins():
    steps = jobs(TEXTS["test"])["book"]["steps"]
    cache = next(step for step in steps if step.get("uses", "").startswith("actions/cache@"))
    for part in ("python-version", "'attnbook/**'", "'requirements.txt'", "runner.os"):
        assert part in cache["env"]["MADE_WITH"]
    assert cache["with"]["key"].startswith("${{ env.MADE_WITH }}")
    assert cache["with"]["restore-keys"] == "${{ env.MADE_WITH }}"


def test_a_gpu_is_used_only_where_one_is_named_and_never_for_a_proposal():
    gpu = jobs(TEXTS["test"])["gpu"]
    assert gpu["if"] == "vars.GPU_RUNNER != '' && github.event_name != 'pull_request'"
    assert gpu["runs-on"] == "${{ vars.GPU_RUNNER }}"


def test_each_python_that_the_package_supports_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = [line.split()[-1] for line in project["classifiers"] if ":: Python ::" in line]
    assert jobs(TEXTS["test"])["package"]["strategy"]["matrix"]["python"] == supported


# The linters of `make lint`, on a copy with a fault


def linters():
    scripts = sysconfig.get_path("scripts")
    lines = re.findall(r"^\t\$\(BIN\)/((?:zizmor|check-jsonschema) .*)$", MAKEFILE, re.MULTILINE)
    return [f"{scripts}/{line}" for line in lines]


def complaints(folder, tool=""):
    """The linters that find a fault in the folder's workflows."""
    for line in linters():
        name = Path(line.split()[0]).name
        if tool in name and subprocess.run(line, shell=True, cwd=folder, check=False).returncode:  # noqa: S602 - a recipe
            yield name


TEST, SCHEMA = "workflows/test.yml", "check-jsonschema"
FAULTS = {
    "an expression in a command": (
        TEST,
        "run: .ci/run",
        "run: .ci/run ${{ github.head_ref }}",
        "zizmor",
    ),
    "a right to write": (TEST, "contents: read", "contents: write", "zizmor"),
    "a stored password": (TEST, "persist-credentials: false", "fetch-depth: 1", "zizmor"),
    "an unknown key": (TEST, "fail-fast:", "fail-first:", SCHEMA),
    "no time limit": (TEST, "    timeout-minutes: 90\n", "", SCHEMA),
    "another interval": ("dependabot.yml", "interval: weekly", "interval: sometimes", SCHEMA),
}


def copied(folder, name, old, new):
    """Copy the workflows, with a fault in one of the files."""
    shutil.copytree(ROOT / ".github", folder / ".github")
    file = folder / ".github" / name
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")
    return folder


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("fault", FAULTS)
def test_make_lint_notices(fault, tmp_path):
    assert len(linters()) == 4
    *change, tool = FAULTS[fault]
    assert tool in complaints(copied(tmp_path, *change), tool)
