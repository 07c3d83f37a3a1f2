"""`python -m attnbook`: what is installed and works here.

`selftest` compares the layers with formulas; `fingerprint` says which conventions any attention
function follows.
"""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

from attnbook.conventions import Fingerprint, fingerprint
from attnbook.selftest.environment import describe_environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return 1 if the self-test finds a fault, or cannot run."""
    parser = argparse.ArgumentParser(prog="python -m attnbook", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    selftest = commands.add_parser(
        "selftest", help="compare the layers with formulas in float64, in about a minute"
    )
    selftest.add_argument("--device", default="cpu", choices=["cpu", "cuda", "mps"])
    selftest.add_argument("--seconds", type=float, default=60.0, help="at most about so many")
    selftest.add_argument("--json", type=Path, metavar="FILE", help="store the receipt here, too")
    prints = commands.add_parser(
        "fingerprint", help="which conventions a function follows, or in what two differ"
    )
    prints.add_argument("functions", nargs="+", metavar="MODULE:FUNCTION", help="one or two")
    options = parser.parse_args(arguments)
    if options.command is None:
        _write("\n".join(f"{name}: {it}" for name, it in describe_environment().items()))
        return 0
    return _selftest(options) if options.command == "selftest" else _fingerprint(options.functions)


def _selftest(options: argparse.Namespace) -> int:
    from attnbook.selftest.run import describe, run  # noqa: PLC0415 - versions do not need it

    try:
        receipt = run(options.device, options.seconds)
    except ValueError as error:
        _write(f"attnbook selftest: {error}")
        return 1
    _write(describe(receipt))
    if options.json:
        options.json.write_text(json.dumps(receipt, indent=1) + "\n", "utf-8")
    else:
        _write(f"\n{json.dumps(receipt)}")
    return 1 if receipt["faults"] else 0


def _fingerprint(names: Sequence[str]) -> int:
    """Print the fingerprint of one function, or the differences of two."""
    found: list[Fingerprint] = []
    for name in names:
        try:
            found.append(fingerprint(pkgutil.resolve_name(name), name=name.rpartition(":")[2]))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            _write(f"attnbook fingerprint: {name}: {error}")
            return 1
    if len(found) == 1:
        _write(str(found[0]))
    for other in found[1:]:
        _write("\n".join(found[0].differences(other)) or "no differences")
    return 0


def _write(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
