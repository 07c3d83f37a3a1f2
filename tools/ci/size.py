"""Print how large the project is: lines of product and tests, words to read, processor-minutes.

python -m tools.ci.size
"""

from __future__ import annotations

from pathlib import Path

from tools import ROOT, project_files

CODE = (".py", ".js", ".mjs", ".css")
# Where `make test` writes how many seconds of a processor it took.
PROCESSOR = ROOT / "_build" / "processor-seconds"


def lines_of(folders: tuple[str, ...], root: Path = ROOT) -> int:
    """Count the lines of code in some folders that git tracks or would track."""
    files = [file for file in project_files(root) if file.suffix in CODE]
    inside = [file for file in files if file.relative_to(root).parts[0] in folders]
    return sum(len(file.read_text("utf-8").splitlines()) for file in inside)


def main() -> None:
    """Print a line for each."""
    rows = {
        "lines of product": lines_of(("attnbook", "tools")),
        "lines of tests": lines_of(("tests",)),
        **{
            f"words of {page.name}": len(page.read_text("utf-8").split())
            for page in sorted(ROOT.glob("*.md"))
        },
    }
    if PROCESSOR.exists():
        rows["processor-minutes of the last `make test`"] = round(float(PROCESSOR.read_text()) / 60)
    for name, number in rows.items():
        print(f"{number:8,}  {name}")


if __name__ == "__main__":
    main()
