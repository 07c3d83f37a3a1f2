"""The workflows on GitHub: their permissions, their order, and what they may fetch."""

from __future__ import annotations

import re
import tomllib

import pytest
import yaml

from tools import ROOT

FOLDER = ROOT / ".github" / "workflows"
TEXTS = {path.stem: path.read_text("utf-8") for path in sorted(FOLDER.glob("*.yml"))}
# Nobody else may write anything.
WRITERS = {
    ("publish", "copies"): {"contents"},
    ("publish", "deploy"): {"pages", "id-token"},
    ("release", "pypi"): {"id-token"},
    ("release", "copies"): {"contents"},
    ("release", "attach"): {"contents"},
    ("weekly", "report"): {"issues"},
}
each_workflow = pytest.mark.parametrize("name", TEXTS)


def jobs(text):
    return yaml.safe_load(text)["jobs"]


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
    assert re.findall(r"\w+://\S*|\bgithub\.(?:com|io)\b|git@\S*", TEXTS[name]) == []


def test_copies_are_pushed_and_tests_pass_before_the_site_is_published():
    assert before(TEXTS["publish"], "deploy") == {"copies", "build", "address", "tests"}


def test_a_site_without_answers_comes_from_its_own_folder_and_no_copy_of_them_is_pushed():
    steps = {name: job.get("steps", []) for name, job in jobs(TEXTS["publish"]).items()}
    (build,) = (step for step in steps["build"] if step.get("run") == "make zip colab")
    assert build["env"]["ANSWERS"] == "${{ vars.ANSWERS }}"
    paths = [step["with"]["path"] for step in steps["build"] if "path" in step.get("with", {})]
    folder = "${{ vars.ANSWERS == 'no' && '_build/questions/html' || '_build/html' }}"
    assert paths == [folder, "_build/colab"]
    pushing = [step for step in steps["copies"] if "run" in step]
    assert [step.get("if") for step in pushing] == ["vars.ANSWERS != 'no'"] * 2


def test_a_tag_is_tested_and_tried_before_this_workflow_itself_uploads_it_with_attestations():
    assert yaml.safe_load(TEXTS["release"])[True] == {"push": {"tags": ["v*"]}}
    assert before(TEXTS["release"], "pypi") == {"build", "address", "tests"}
    pypi = jobs(TEXTS["release"])["pypi"]
    assert pypi["environment"] == "pypi"
    upload = pypi["steps"][-1]
    assert re.fullmatch(r"pypa/gh-action-pypi-publish@[0-9a-f]{40}", upload["uses"])
    assert upload["with"] == {"attestations": True}
    runs = [step.get("run", "") for step in jobs(TEXTS["release"])["build"]["steps"]]
    assert 'make release VERSION="${GITHUB_REF_NAME#v}" TESTED=1' in runs
    for job in ("copies", "attach"):
        assert "pypi" in before(TEXTS["release"], job)


def test_each_action_is_pinned_to_a_commit_and_everywhere_to_the_same():
    used = {use for text in TEXTS.values() for use in re.findall(r"uses: ([\w/-]+@.*)", text)}
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", use) for use in used)
    assert len(used) == len({use.partition("@")[0] for use in used})


def test_main_is_tested_once_and_everything_else_too():
    triggers = {name: yaml.safe_load(text)[True] for name, text in TEXTS.items()}  # `on` is true
    assert triggers["publish"]["push"] == {"branches": ["main"]}
    assert triggers["test"]["push"] == {"branches-ignore": ["main"]}
    assert {"pull_request", "workflow_call"} <= set(triggers["test"])


def test_executions_are_fetched_only_for_this_python_this_package_and_these_pins():
    steps = jobs(TEXTS["test"])["book"]["steps"]
    cache = next(step for step in steps if step.get("uses", "").startswith("actions/cache@"))
    for part in ("python-version", "'attnbook/**'", "'requirements.txt'", "runner.os"):
        assert part in cache["env"]["MADE_WITH"]
    assert cache["with"]["key"].startswith("${{ env.MADE_WITH }}")
    assert cache["with"]["restore-keys"] == "${{ env.MADE_WITH }}"
    for name in ("publish", "release"):
        assert "cache:" not in TEXTS[name]
        assert "actions/cache" not in TEXTS[name]


def test_a_gpu_is_used_only_where_one_is_named_and_never_for_a_proposal():
    gpu = jobs(TEXTS["test"])["gpu"]
    assert gpu["if"] == "vars.GPU_RUNNER != '' && github.event_name != 'pull_request'"
    assert gpu["runs-on"] == "${{ vars.GPU_RUNNER }}"


def test_each_python_that_the_package_supports_is_tested():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    supported = [line.split()[-1] for line in project["classifiers"] if ":: Python ::" in line]
    assert jobs(TEXTS["test"])["package"]["strategy"]["matrix"]["python"] == supported
    assert "continue-on-error" not in jobs(TEXTS["test"])["package"]


def test_other_systems_and_the_next_python_are_tried_and_refuse_nothing():
    unseen = jobs(TEXTS["test"])["unseen"]
    cases = unseen["strategy"]["matrix"]["include"]
    assert unseen["continue-on-error"] is True
    assert unseen["name"].startswith("not seen yet")
    assert {case["system"].partition("-")[0] for case in cases} == {"macos", "windows", "ubuntu"}
    assert [case["python"] for case in cases if "ubuntu" in case["system"]] == ["3.14"]
