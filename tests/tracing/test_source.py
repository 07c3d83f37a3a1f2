"""Which source is shown: inside decorators, in notebooks; and what cannot be traced."""

from __future__ import annotations

import functools
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from traitlets.config import Config

from attnbook.tracing import trace
from tests.tracing.lines import written

x = torch.ones(2, 7)


def plain(function):
    @functools.wraps(function)
    def inner(*args, **named):
        return function(*args, **named) * 1

    return inner


class Decorated(nn.Module):
    @plain
    @plain
    def forward(self, x):
        doubled = x * 2
        return doubled.clone()


class Below(Decorated):
    @plain
    def forward(self, x):
        return super().forward(x)


class Called:
    """No module, but it can be called."""

    def __call__(self, x):
        return self.half(x)

    def half(self, x):
        return x[::2]


HALF = {"follow": "half"}
TRACED = {
    "decorated": (Decorated(), {}, "Decorated.forward\n", "doubled (batch, keys)"),
    "decorated below": (Below(), {}, "Below.forward\n", "doubled (batch, keys)"),
    "a bound method": (nn.Linear(7, 3).forward, {}, "return (batch, 3)"),
    "an object": (Called(), HALF, "Called.__call__\n", "return (1, keys)"),
    "ours, compiled": (torch.compile(Decorated(), backend="eager"), {}, "doubled (batch, keys)"),
}


@pytest.mark.parametrize("name", TRACED)
def test_any_callable_is_traced_by_its_source(name):
    layer, options, *texts = TRACED[name]
    sizes = {"batch": 2, "keys": 7}
    result = trace(layer, x, sizes=sizes, vary="batch", **options)

    assert result.error is None
    assert result.remark == ""
    for text in texts:
        assert text in written(result)


CELL = '''
%precision 3
import torch
from torch import nn
from attnbook.tracing import trace
from tests.tracing.lines import written

class Cell(nn.Module):
    """Typed into a notebook."""

    def __init__(self):
        super().__init__()
        self.__project = nn.Linear(5, 3)

    def forward(self, queries):
        hidden = self.__project(queries)
        return hidden.mT
'''


@pytest.fixture
def notebook(tmp_path):
    quiet = Config({"HistoryManager": {"enabled": False}})
    yield InteractiveShell.instance(config=quiet, ipython_dir=str(tmp_path))
    InteractiveShell.clear_instance()


def test_a_class_defined_in_a_notebook_is_traced(notebook):
    for cell, size in ((CELL, 3), (CELL.replace("3)", "7)"), 7)):
        assert notebook.run_cell(cell, store_history=True).success
        again = notebook.run_cell("result = trace(Cell(), torch.ones(2, 5), sizes={'batch': 2})")
        assert again.success
        text = written(notebook.user_ns["result"])
        assert f"hidden (batch, {size})" in text
        assert f"return ({size}, batch)" in text
        assert "ipython" not in text


def test_a_function_in_a_cell_with_magics_and_await_is_traced(notebook):
    cell = """
    import asyncio
    folder = %pwd
    await asyncio.sleep(0)
    def typed(x):
        return x[0]
    """
    # In a thread of its own, because a browser of other tests may run a loop in this one.
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(notebook.run_cell, textwrap.dedent(cell)).result().success
    assert "return (7,)" in written(trace(notebook.user_ns["typed"], x))


# What cannot be traced


def generator(x):
    yield x


async def coroutine(x):
    return x


def without_source():
    scope = {}
    exec("def hidden(x): return x", scope)  # noqa: S102 - the point of the test
    return scope["hidden"]


INSTANCE = "is a class, and only an instance can be traced: create one first"
NO_DEF = r"must be a `def` in a file or a notebook cell to be traced"
NOT_RUN = "is a generator or async function, which a call does not run"


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (nn.Linear, f"Linear {INSTANCE}"),
        (len, "len is not written in Python, so it cannot be traced"),
        (functools.partial(plain, x), "partial is not written in Python"),
        (without_source(), f"hidden {NO_DEF}"),
        (lambda x: x + 1, f"<lambda> {NO_DEF}"),
        (generator, f"generator {NOT_RUN}"),
        (coroutine, f"coroutine {NOT_RUN}"),
    ],
)
def test_a_layer_that_cannot_be_traced_is_refused(layer, message):
    with pytest.raises(TypeError, match=message):
        trace(layer, x)


def test_a_function_that_is_followed_is_refused_in_the_same_way():
    with pytest.raises(TypeError, match=f"generator {NOT_RUN}"):
        trace(Decorated(), x, follow="generator")


def test_a_function_that_is_no_longer_where_it_was_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "changing.py"
    file.write_text("def layer(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import changing  # noqa: PLC0415 - it is made here

    assert trace(changing.layer, x).error is None
    for text in ("\ndef layer(x):\n    return x + 1\n", "("):
        file.write_text(text)
        with pytest.raises(TypeError, match="file must not have changed since it was imported"):
            trace(changing.layer, x)


def replace(_function):
    @functools.wraps(_function)
    def inner(_, x):
        return x

    return inner


class Replaced(nn.Module):
    @replace
    def forward(self, x):
        return x * 2


def test_a_layer_that_does_not_run_as_python_confirms_no_names():
    result = trace(Replaced(), x, sizes={"batch": 2})
    assert result.remark.startswith("Replaced.forward did not run as Python, as when it is compil")
    assert "Names hold" not in repr(result)
    assert trace(Replaced(), x).remark == result.remark
