"""Check the words of what people read: code, comments, messages, Markdown.

python -m tools.ci.words

codespell finds misspelt words, and by two lists of ours words that this project replaces
(`words/replaced.txt`, also within names in code) and American spellings in prose
(`words/american.txt`). `words/exceptions.toml` lists what may stay, with reasons; an exception that
nothing needs is reported, too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tools import ROOT, project_files
from tools.book.notebooks import read

WORDS = Path(__file__).with_name("words")
# Data (but not tables of messages), pictures, what readers wrote, and the lists themselves.
LEFT_OUT = re.compile(
    r"(?<!/messages)\.(jsonl?|svg|png|safetensors)$|/(readers|blind|snippets|words)/"
)
PROSE = re.compile(r"\.(md|cff|ipynb)$|/messages\.json$")
PARTS_OF_NAMES = r"[A-Z]+(?![a-z])|[A-Za-z][a-z]+"
LINE = re.compile(r"^(?:\./)?(.+?):(\d+): (\S+) ==> (.*)$")


@dataclass(frozen=True)
class Finding:
    """A word that should be another."""

    file: str
    line: int
    word: str
    better: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.word} → {self.better}"


@dataclass(frozen=True)
class Allowed:
    """Words that may stay in the files of a pattern, and why."""

    files: str
    words: Sequence[str]
    reason: str

    def covers(self, finding: Finding) -> bool:
        """Whether it allows this word."""
        return finding.word.lower() in self.words and fnmatch(finding.file, self.files)


def cells_in(folder: Path, notebooks: Iterable[str]) -> None:
    """Write each notebook's cells under its name, without what they printed."""
    for name in notebooks:
        texts = [cell.source for cell in read(ROOT / name).cells]
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n\n".join(texts), "utf-8")


def search(folder: Path, files: Sequence[str], *options: str | Path) -> Iterator[Finding]:
    """Yield what codespell finds in some files of a folder."""
    if not files:
        return
    command = [sys.executable, "-m", "codespell_lib", "--disable-colors", *options, *files]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 65):  # 65: it found something
        raise RuntimeError(f"codespell failed: {done.stdout}{done.stderr}")
    for line in done.stdout.splitlines():
        if match := LINE.match(line):
            yield Finding(match[1], int(match[2]), match[3], match[4])


def findings(folder: Path, files: Sequence[str]) -> Iterator[Finding]:
    """Yield the words of some files that are misspelt, replaced or American."""
    yield from search(folder, files)
    yield from search(
        folder, files, "--dictionary", WORDS / "replaced.txt", "--regex", PARTS_OF_NAMES
    )
    prose = [file for file in files if PROSE.search(file)]
    yield from search(folder, prose, "--dictionary", WORDS / "american.txt")


def exceptions(file: Path = WORDS / "exceptions.toml") -> list[Allowed]:
    """What may stay."""
    return [Allowed(**entry) for entry in tomllib.loads(file.read_text("utf-8"))["allowed"]]


def problems(found: Sequence[Finding], allowed: Sequence[Allowed]) -> list[str]:
    """What no exception covers, and each word of an exception that nothing needs."""
    wrong = [str(one) for one in found if not any(rule.covers(one) for rule in allowed)]
    unused = [
        f"tools/ci/words/exceptions.toml: {word!r} in {rule.files} is not needed"
        for rule in allowed
        for word in rule.words
        if not any(rule.covers(one) and one.word.lower() == word for one in found)
    ]
    return wrong + unused


def main() -> int:
    """Print the problems of all files of the project; 1 if there are any."""
    names = [str(path.relative_to(ROOT)) for path in project_files()]
    files = [name for name in names if not LEFT_OUT.search(name)]
    notebooks = [file for file in files if file.endswith(".ipynb")]
    with tempfile.TemporaryDirectory() as folder:
        cells_in(Path(folder), notebooks)
        found = [*findings(Path(folder), notebooks)]
    found += findings(ROOT, [file for file in files if file not in notebooks])
    wrong = problems(found, exceptions())
    print("\n".join(wrong) or f"{len(files)} files: no replaced or misspelt words")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
