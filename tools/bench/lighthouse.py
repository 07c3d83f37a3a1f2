"""Scores of Lighthouse, Google's tool, for each built page, as on a mid-range phone.

The performance is timed in a simulation of a slow processor and a slow network, so it is lower on
a busy machine; the other three scores do not depend on time.
See `python -m tools.bench.measure lighthouse`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

from tools import ROOT
from tools.bench.browser import serve
from tools.bench.pages import SITE, require_book
from tools.chromium import QUIET, on_path
from tools.table_of_contents import pages

VERSION = "12.8.2"
WORK = ROOT / "_build" / "lighthouse"
ROUNDS, TIMEOUT = 3, 180  # runs of each page, of which the median counts; seconds for one
TARGETS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
CATEGORIES = tuple(TARGETS)
# The parts of the performance, all but the last in milliseconds.
TIMES = {
    "first-contentful-paint": "first paint ms",
    "largest-contentful-paint": "largest paint ms",
    "total-blocking-time": "blocked ms",
    "cumulative-layout-shift": "shift",
}
Row = dict[str, Any]


def fetch() -> Path:
    """Fetch Lighthouse from npm, once; returns its program."""
    program = WORK / "node_modules" / "lighthouse" / "cli" / "index.js"
    if not program.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "package.json").write_text('{"private": true}')
        npm = Path(sys.executable).parent / "npm"
        command = [str(npm), "install", "--ignore-scripts", "--silent", f"lighthouse@{VERSION}"]
        subprocess.run(command, cwd=WORK, check=True)
    return program


def run_lighthouse(program: Path, chrome: str, address: str) -> Row:
    """One run of Lighthouse: its four scores of 100, and the times.

    Raises:
        RuntimeError: it gives no scores.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        node = Path(sys.executable).parent / "node"
        flags = " ".join(["--headless=new", *QUIET, f"--user-data-dir={folder}"])
        options = ["--quiet", "--output=json", f"--chrome-flags={flags}"]
        command = [str(node), str(program), address, *options]
        variables = {"CHROME_PATH": chrome, "HOME": folder}
        done = subprocess.run(
            command,
            env=os.environ | variables,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    try:
        report = json.loads(done.stdout)
        scores = {name: 100 * report["categories"][name]["score"] for name in CATEGORIES}
        return scores | {
            name: report["audits"][audit]["numericValue"] for audit, name in TIMES.items()
        }
    except (ValueError, KeyError, TypeError) as error:
        raise RuntimeError(f"Lighthouse gives no scores for {address}: {done.stderr}") from error


def median_of(runs: list[Row]) -> Row:
    """The median of each score and time."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def lighthouse_row(report_progress: Any = print) -> Row:  # noqa: ANN401 - the progress of `measure`
    """Run Lighthouse on every page, several times, round by round."""
    require_book()
    program = fetch()
    with sync_playwright() as playwright:
        chrome = on_path() or playwright.chromium.executable_path
    names = [*pages(), "search"]
    runs: dict[str, list[Row]] = {name: [] for name in names}
    loads = [os.getloadavg()[0]]
    with serve(SITE) as url:
        for number in range(ROUNDS):
            for name in names:
                report_progress(f"lighthouse: round {number + 1} of {ROUNDS}, {name}")
                runs[name].append(run_lighthouse(program, chrome, f"{url}{name}.html"))
                loads.append(os.getloadavg()[0])
    return {
        "lighthouse": VERSION,
        "rounds": ROUNDS,
        "busy": statistics.median(loads),  # processes that used a core, including Lighthouse
        "scores": {Path(name).name: median_of(results) for name, results in runs.items()},
    }


def table(row: Row) -> list[str]:
    """The scores as a table; a score below its target has a star."""
    heads = [*CATEGORIES, *TIMES.values()]
    lines = [
        f"Lighthouse {row['lighthouse']}, mobile, median of {row['rounds']}; "
        f"load of the machine {row['busy']:.1f}",
        f"{'':31}" + "".join(f"{head:>17}" for head in heads),
    ]
    for name, scores in row["scores"].items():
        cells = [
            f"{scores[head]:.0f}{'*' if scores[head] < least else ' '}"
            for head, least in TARGETS.items()
        ]
        cells += [f"{scores[head]:.{3 if head == 'shift' else 0}f} " for head in TIMES.values()]
        lines.append(f"{name:31}" + "".join(f"{cell:>17}" for cell in cells))
    return lines
