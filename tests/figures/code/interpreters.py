"""Asks the Python of a page in both interpreters that run it."""

from __future__ import annotations

import ast
import atexit
import importlib.util
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from attnbook.practice.list_task import ListTask
from tools.site.assets.node import NODE, TOOLS
from tools.site.figures.lazy_scripts import bundle

PROGRAM = Path(__file__).with_name("micropython.mjs")
PACKAGE = TOOLS / "node_modules" / "@micropython" / "micropython-webassembly-pyscript"
PAGE = TOOLS / "site" / "python_in_page" / "page.py"


@cache
def scripts() -> Path:
    """A folder with the scripts that pages load at the first touch, as the build writes them."""
    folder = Path(tempfile.mkdtemp(prefix="attnbook-late-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    bundle(folder)
    return folder


def in_micropython(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of the script that pages load, in node."""
    script = scripts() / "python.js"
    job = {"script": str(script), "package": str(PACKAGE), "questions": questions}
    done = subprocess.run(
        [NODE, PROGRAM],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(done.stdout)


@cache
def page() -> ModuleType:
    """The program that MicroPython runs for a page, as a module."""
    spec = importlib.util.spec_from_file_location("page", PAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def in_cpython(questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers of the same program in CPython."""
    answers = []
    for question in questions:
        with redirect_stdout(io.StringIO()) as output:
            answer = json.loads(page().answer(json.dumps(question)))
        answers.append(answer | {"printed": output.getvalue().rstrip("\n")})
    return answers


def with_dependencies(name: str, defined: dict[str, ast.FunctionDef]) -> list[ast.FunctionDef]:
    """The functions that a function needs, directly or not, and then the function."""
    needed = {}
    for part in ast.walk(defined[name]):
        if isinstance(part, ast.Name) and part.id in defined and part.id != name:
            needed |= {node.name: node for node in with_dependencies(part.id, defined)}
    return [*needed.values(), defined[name]]


def as_typed(task: ListTask, function: Any) -> str:
    """The code of a right implementation or a bug, as a reader would type it."""
    module = ast.parse(inspect.getsource(sys.modules[function.__module__]))
    defined = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    body = [ast.parse("import math").body[0], *with_dependencies(function.__name__, defined)]
    for node in body:
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef):
                part.decorator_list, part.returns = [], None
            if isinstance(part, ast.arg):
                part.annotation = None
    return f"{ast.unparse(ast.Module(body, []))}\n{task.called} = {function.__name__}\n"


def without_messages(verdict: list[str]) -> list[str]:
    """A verdict without the messages of errors, which each interpreter words differently."""
    return [
        re.sub(r"It raises \w+(:.*?)?\. It was called", "It raises. It was called", text)
        for text in verdict
    ]
