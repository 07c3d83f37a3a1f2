"""The order in which tests run, so that no core waits at the end, and their progress.

Files run longest first, by the seconds that each took last time: `_build/test-seconds.json`, and in
a new clone `tests/seconds.json`. Tests of the built book come after the others, because
`make test` builds the book meanwhile; files of a second or two come last and fill the gaps.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tools import ROOT

STORED = ROOT / "tests" / "seconds.json"
LAST = ROOT / "_build" / "test-seconds.json"
# Where `make test` reads the progress of the tests; see tools/ci/run_tests.py.
PROGRESS = "ATTNBOOK_TEST_PROGRESS"
FILLER = 2  # seconds
UNKNOWN = 10  # seconds of a file that is new
# Tests that ended their process, and ran again.
AGAIN = pytest.StashKey[list[str]]()


def seconds_of_files() -> dict[str, float]:
    """Read how long each part (see `find_part`) took last time."""
    found = next((path for path in (LAST, STORED) if path.exists()), None)
    return json.loads(found.read_text("utf-8")) if found else {}


def find_part(nodeid: str) -> str:
    """Name what runs on one worker: a file, or the tests of one engine in it."""
    file, _, test = nodeid.partition("::")
    engine = next((name for name in ("firefox", "webkit") if f"[{name}" in test), "")
    return f"{file}:{engine}" if engine else file


class Schedule(LoadScopeScheduling):
    """Gives workers the parts in their order."""

    def _split_scope(self, nodeid: str) -> str:
        return find_part(nodeid)

    def remove_node(self, node):
        """Give the tests of a worker that has ended to others.

        The test that ended it runs once more, because browsers sometimes never answer. If it ends
        that worker, too, it has failed; xdist would try it on each new worker.
        """
        work = self.assigned_work[node]
        left = [test for tests in work.values() for test, done in tests.items() if not done]
        again, failed = self.config.stash[AGAIN], None
        if left and left[0] in again:
            failed = left.pop(0)
        else:
            again += left[:1]
        self.assigned_work[node] = parts = {}
        for test in left:
            parts.setdefault(find_part(test), {})[test] = False
        super().remove_node(node)
        return failed


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    config.stash[AGAIN] = []
    if config.getoption("dist") == "loadfile":
        config.option.loadscopereorder = False
        return Schedule(config, log)
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if not hasattr(config, "workerinput"):
        return  # one process runs tests in the requested order
    seconds = seconds_of_files()
    parts = {find_part(item.nodeid) for item in items}
    of_book = {find_part(item.nodeid) for item in items if item.get_closest_marker("book")}

    def turn(item):
        part = find_part(item.nodeid)
        time_taken = seconds.get(part, UNKNOWN)
        return (time_taken < FILLER, part in of_book, -time_taken, part)

    items.sort(key=turn)
    assert parts == {find_part(item.nodeid) for item in items}


class Progress:
    """Counts finished tests, for `make test`, and stores how long each part took."""

    def __init__(self, config: pytest.Config, file: str | None) -> None:
        self.config, self.file = config, Path(file) if file else None
        self.seconds: dict[str, float] = defaultdict(float)
        self.total = 0
        self.state = {"done": 0, "total": 0, "failed": [], "running": {}, "seconds_left": 0.0}
        self.expected = seconds_of_files()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node, ids):  # noqa: ARG002 - xdist's names
        self.state["total"] = len(ids)
        self.total = sum(self.expected.get(part, UNKNOWN) for part in {*map(find_part, ids)})

    def pytest_runtest_logstart(self, nodeid):
        self.state["running"][nodeid] = time.time()
        self.write()

    def pytest_runtest_logreport(self, report):
        self.seconds[find_part(report.nodeid)] += report.duration
        if report.when not in ("setup", "call"):  # also not known, if its process ended
            self.state["done"] += 1
            self.state["running"].pop(report.nodeid, None)
        if report.failed:
            self.state["failed"].append(report.nodeid)
        self.write()

    def pytest_collectreport(self, report):
        if report.failed:
            self.state["failed"].append(report.nodeid)

    def write(self) -> None:
        if self.file is None:
            return
        left = self.total - sum(
            min(done, self.expected.get(part, done)) for part, done in self.seconds.items()
        )
        self.state["seconds_left"] = max(left, 0.0)
        self.state["again"] = self.config.stash.get(AGAIN, [])
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(self.state), "utf-8")
        new.replace(self.file)

    def pytest_sessionfinish(self):
        self.write()
        if self.file:
            LAST.parent.mkdir(exist_ok=True)
            seconds = seconds_of_files() | {part: round(s, 1) for part, s in self.seconds.items()}
            LAST.write_text(json.dumps(seconds, indent=1, sort_keys=True) + "\n", "utf-8")


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        # Removed from the environment, because some tests run pytest themselves.
        config.pluginmanager.register(Progress(config, os.environ.pop(PROGRESS, None)))
