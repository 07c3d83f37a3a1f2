"""`make pythons` runs what it finds, names what it does not, and fails if a part does."""

from __future__ import annotations

import pytest

from tools import ROOT
from tools.ci import pythons

# Instead of make: notes its last three words, and fails as it is asked to.
MAKE = '#!/bin/sh\nshift; echo "$*" >> "$CALLS"\ncase "$*" in *"$FAILS") exit 2;; esac\n'


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """A PATH with Python 3.11, one that is too new, a broken one, and the stand-in for make."""
    texts = {
        "python3.11": "#!/bin/sh\necho 3.11.9\n",
        "python3": "#!/bin/sh\necho 3.14.0\n",
        "python3.12": "#!/bin/sh\necho 3.12.1; exit 127\n",
        "make": MAKE,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("CALLS", str(calls := tmp_path / "calls"))
    monkeypatch.setenv("FAILS", "nothing")
    return calls


def row(series, *cells):
    return "".join(f"{cell:10}" for cell in (series, *cells)).rstrip()


def test_what_is_promised_is_what_the_workflow_tests_and_the_makefile_takes():
    assert pythons.promised_versions() == ["3.11", "3.12", "3.13"]
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert f"python: {pythons.promised_versions()}".replace("'", '"') in workflow
    assert "(3, 11) <= sys.version_info[:2] <= (3, 13)" in (ROOT / "Makefile").read_text()


def test_a_python_that_is_not_found_is_named_as_not_run(programs, capsys):
    assert pythons.main([]) == 0
    table = capsys.readouterr().out
    assert row("3.11.9", "passed", "passed", "0:00") in table
    assert row("3.12", "not run", "not run") in table
    words = "VENV=_build/pythons/3.11 PYTHON=python3.11"
    assert programs.read_text().splitlines() == [f"{words} unit", f"{words} nbval"]


@pytest.mark.parametrize(
    ("fails", "results"), [("unit", ("FAILED", "passed")), ("nbval", ("passed", "FAILED"))]
)
def test_a_part_that_fails_is_in_the_table_and_the_others_still_run(
    programs, capsys, monkeypatch, fails, results
):
    monkeypatch.setenv("FAILS", fails)
    assert pythons.main([str(programs.parent / "python3.11")]) == 1
    assert row("3.11.9", *results, "0:00") in capsys.readouterr().out


def test_it_fails_where_no_promised_python_is_found(programs, capsys):
    assert pythons.main(["python3", "/no/such/python"]) == 1
    assert "not run" in capsys.readouterr().out
    assert not programs.exists()
