"""Check and print the sentences that readers see: `messages.json` of each folder.

python -m tools.ci.messages check    what `make lint` runs
python -m tools.ci.messages print    every sentence, for proofreading

Checked in each folder that has a table, and below it: each key is used (a group as a whole) and
exists, each field is given, no two entries share a sentence, and none is written in the code.
`messages_exceptions.toml` lists texts in the code that may stay, with reasons. Errors that Python
raises have their sentence at the `raise`, because the chapters show the checks of the layers, and
because nobody translates exceptions; the texts of a practice task are in the task's file. Both are
printed, too.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attnbook.messages import FIELD, FILE, PLURAL
from attnbook.practice.registry import LIST_TASKS, TASKS
from tools import ROOT, project_files
from tools.site.assets.node import NODE

EXCEPTIONS = Path(__file__).with_name("messages_exceptions.toml")
# Where a name refers to the table of the file's own folder, or to the one that figures share.
NAMES = {
    "TEXT": None,
    "SHARED": Path("attnbook/figures/shared"),
    "TOKENS": Path("attnbook/figures/tokens"),
    "CODE": Path("attnbook/figures/code"),
}
NO_READER = re.compile(r"(Error|warn|warning|info|compile|add_argument|ArgumentParser)$")
SENTENCE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,}")


@dataclass(frozen=True)
class Use:
    """A place in the code that uses a sentence, or one of several; `fields` is None if spread."""

    line: int
    keys: list[tuple[str, str | None]]
    fields: list[str] | None


@dataclass(frozen=True)
class Text:
    """A text in the code that people see."""

    line: int
    text: str


def tables(root: Path, files: Iterable[Path]) -> dict[Path, dict[str, Any]]:
    """The tables by their folders."""
    found = (file for file in files if file.name == FILE)
    return {
        file.parent.relative_to(root): json.loads(file.read_text("utf-8")) for file in sorted(found)
    }


def sentences(entry: str | dict[str, str]) -> list[str]:
    """The sentences of an entry of a table."""
    return [entry] if isinstance(entry, str) else [*entry.values()]


def fields_of(entry: str | dict[str, str]) -> set[str]:
    """The fields of an entry; a group has none of its own, since the code fills its sentences."""
    if isinstance(entry, dict) and set(entry) != PLURAL:
        return set()
    plural = {"count"} if isinstance(entry, dict) else set()
    return plural | {name for text in sentences(entry) for name in FIELD.findall(text)}


def in_javascript(files: Mapping[str, str]) -> dict[str, tuple[list[Use], list[Text]]]:
    """What JavaScript uses of tables, and what it writes itself."""
    program = Path(__file__).with_suffix(".mjs")
    # node finds its packages from the folder that it runs in.
    done = subprocess.run(
        [NODE, "--input-type=module", "--eval", program.read_text("utf-8")],
        cwd=ROOT / "tools",
        input=json.dumps([*files.items()]),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{program.name} failed: {done.stderr}")
    return {
        name: (
            [Use(use["line"], [*map(tuple, use["keys"])], use["fields"]) for use in found["uses"]],
            [Text(**text) for text in found["texts"]],
        )
        for name, found in json.loads(done.stdout).items()
    }


def in_python(source: str) -> tuple[list[Use], list[Text]]:
    """What Python uses of tables, and what it writes itself."""
    tree = ast.parse(source)
    hidden = {id(part) for node in ast.walk(tree) if is_hidden(node) for part in ast.walk(node)}
    whole = (node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr))
    hidden |= {id(part) for node in whole for part in node.values}
    uses, texts = [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (table := table_of(node.func)):
            names = [keyword.arg for keyword in node.keywords]
            given = None if None in names else [name for name in names if name]
            uses.append(Use(node.lineno, [(table, key) for key in keys_of(node.args[0])], given))
        elif (
            isinstance(node, ast.Constant | ast.JoinedStr)
            and id(node) not in hidden
            and SENTENCE.search(visible_text(text_of(node)))
        ):
            texts.append(Text(node.lineno, text_of(node)))
    return uses, texts


def table_of(function: ast.expr) -> str | None:
    """The name of the table that `TEXT(…)` or `TEXT.group(…)` reads."""
    if isinstance(function, ast.Attribute) and function.attr == "group":
        function = function.value
    return function.id if isinstance(function, ast.Name) and function.id in NAMES else None


def keys_of(argument: ast.expr) -> Iterator[str | None]:
    """The keys that an argument can be; None for one that only the running code knows."""
    if isinstance(argument, ast.IfExp):
        yield from (*keys_of(argument.body), *keys_of(argument.orelse))
    else:
        yield str(argument.value) if isinstance(argument, ast.Constant) else None


def visible_text(text: str) -> str:
    """What a page shows of a piece of HTML."""
    return re.sub(r"<[^>]*>", "", text)


def is_hidden(node: ast.AST) -> bool:
    """Whether no text in a node is for readers: docstrings, errors, warnings of a build, types."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Call):
        return bool(NO_READER.search(ast.unparse(node.func))) or bool(table_of(node.func))
    return isinstance(node, ast.Raise | ast.Subscript | ast.arg)


def text_of(node: ast.AST) -> str:
    """The text of a literal, with `{}` for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or "{}" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def table_for(name: str, file: Path, known: Iterable[Path]) -> Path | None:
    """The folder of the table that a name in a file refers to: the nearest above the file."""
    if folder := NAMES[name]:
        return folder
    return next((folder for folder in file.parents if folder in known), None)


def problems(root: Path, files: Iterable[Path], allowed: list[dict[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with the tables, with their uses and with texts in the code."""
    files = [*files]
    known = tables(root, files)
    names = [file.relative_to(root) for file in files]
    code = [name for name in names if table_for("TEXT", name, known)]
    inspected = in_javascript(
        {str(name): (root / name).read_text("utf-8") for name in code if name.suffix == ".js"}
    )
    inspected |= {
        str(name): in_python((root / name).read_text("utf-8"))
        for name in code
        if name.suffix == ".py"
    }
    yield from find_repeated(known)
    used: set[tuple[Path, str]] = set()
    needed: set[tuple[str, str]] = set()
    for file, (uses, texts) in sorted(inspected.items()):
        for use in uses:
            yield from (f"{file}:{use.line}: {each}" for each in misuse(use, file, known, used))
        for text in texts:
            rule = next((rule for rule in allowed if permits(rule, file, text.text)), None)
            if rule is None:
                yield f"{file}:{text.line}: {text.text!r} belongs in {FILE}"
            else:
                needed.add((rule["files"], next(t for t in rule["texts"] if fnmatch(text.text, t))))
    for folder, table in known.items():
        yield from (f"{folder / FILE}: {k} is not used" for k in table if (folder, k) not in used)
    for rule in allowed:
        for pattern in rule["texts"]:
            if (rule["files"], pattern) not in needed:
                yield f"{EXCEPTIONS.name}: {pattern!r} in {rule['files']} is not needed"


def find_repeated(known: Mapping[Path, dict[str, Any]]) -> Iterator[str]:
    """Yield the sentences that stand in two entries."""
    first: dict[str, str] = {}
    for folder, table in known.items():
        for key, entry in table.items():
            for text in sentences(entry):
                place = f"{folder / FILE}: {key}"
                if SENTENCE.search(text) and first.setdefault(text, place) != place:
                    yield f"{place} repeats {first[text]}"


def misuse(
    use: Use, file: str, known: Mapping[Path, dict[str, Any]], used: set[tuple[Path, str]]
) -> Iterator[str]:
    """Yield what is wrong with one use of tables; adds its keys to those in use."""
    entries = []
    for name, key in use.keys:
        folder = table_for(name, Path(file), known)
        if key is None:
            yield "a key must be written out: make a group for keys that the code computes"
        elif folder is None or key not in known.get(folder, {}):
            yield f"{name} has no {key}"
        else:
            used.add((folder, key))
            entries.append(known[folder][key])
    if use.fields is None or not entries:
        return
    needed = set.union(*map(fields_of, entries))
    yield from (f"field {name} is missing" for name in sorted(needed - set(use.fields)))
    if not any(isinstance(entry, dict) and set(entry) != PLURAL for entry in entries):
        yield from (f"field {name} is not needed" for name in sorted(set(use.fields) - needed))


def permits(rule: dict[str, Any], file: str, text: str) -> bool:
    """Whether an exception covers a text."""
    return fnmatch(file, rule["files"]) and any(fnmatch(text, each) for each in rule["texts"])


def exceptions() -> list[dict[str, Any]]:
    """The texts in the code that may stay."""
    allowed: list[dict[str, Any]] = tomllib.loads(EXCEPTIONS.read_text("utf-8"))["allowed"]
    return allowed


def errors(root: Path, files: Iterable[Path]) -> Iterator[str]:
    """Yield the sentences of errors that the package raises, by file and line."""
    for file in files:
        if file.suffix != ".py" or root / "attnbook" not in file.parents:
            continue
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                for text in filter(None, map(text_of, node.exc.args[:1])):
                    yield f"  {file.relative_to(root)}:{node.lineno}  {text}"


def everything() -> Iterator[str]:
    """Yield a line for each sentence."""
    files = project_files()
    for folder, table in tables(ROOT, files).items():
        yield f"\n{folder}"
        yield from (f"  {key}: {text}" for key, entry in table.items() for text in sentences(entry))
    for name, task in (TASKS | LIST_TASKS).items():
        yield f"\nattnbook/practice/tasks: {name}"
        yield from (f"  {line}" for line in task.statement.splitlines() if line.strip())
        yield from (f"  case: {case}" for case in task.cases)
        yield from (f"  law: {law.words}" for law in task.laws)
        yield from (f"  right, {each.name}: {each.why}" for each in task.solutions.values())
        for bug in task.bugs.values():
            parts = {"cause": bug.cause, "fix": bug.fix, "symptom": bug.symptom}
            yield f"  bug: {bug.name}"
            yield from (f"    {part}: {text}" for part, text in parts.items() if text)
    yield "\nErrors of the package"
    yield from errors(ROOT, files)


def main() -> int:
    """Run the task of the command line; 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("task", choices=["check", "print"])
    if parser.parse_args().task == "print":
        print("\n".join(everything()))
        return 0
    wrong = [*problems(ROOT, project_files(), exceptions())]
    print("\n".join(wrong) or "Every message is in a table, and each of a table is used.")
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
