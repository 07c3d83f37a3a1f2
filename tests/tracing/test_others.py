"""An X-ray of code that is not ours: torch's, a notebook's, and all that Python can write."""

from __future__ import annotations

import functools
import textwrap
from typing import TYPE_CHECKING, NamedTuple

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from traitlets.config import Config

from attnbook.tracing import trace
from attnbook.tracing.recorder import unpackable

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = {"batch": 3, "heads": 2, "tokens": 5, "width": 26, "hiddens": 7}


def all_made(x_ray):
    return [made for line in x_ray.lines for made in line.made]


def encoder():
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(26, 2, 7, batch_first=True)


def test_an_encoder_layer_is_seen_through_all_its_parts():
    x_ray = trace(
        encoder(),
        torch.randn(3, 5, 26),
        sizes=SIZES,
        follow=["_sa_block", "_ff_block", "self_attn", "linear1", "F.multi_head_attention_forward"],
    )

    assert x_ray.error is None
    assert x_ray.remark == ""
    text = repr(x_ray)
    assert "· self.linear1(x) (batch, tokens, hiddens)" in text
    assert "q (batch*heads, tokens, width/heads)" in text
    assert "attn_output (batch, heads, tokens, width/heads)" in text
    assert "linear1: Linear.forward" in text
    assert x_ray.shapes["src"] == (3, 5, 26)
    assert all_made(x_ray).count(("return", (3, 5, 26))) == 3
    assert ("return", (3, 5, 7)) in all_made(x_ray)


def test_the_fast_path_of_an_encoder_layer_stays_fast():
    layer = encoder().eval()
    with torch.no_grad():
        x_ray = trace(layer, torch.randn(3, 5, 26), sizes=SIZES, follow=["_sa_block"])

    (fast,) = [line for line in x_ray.lines if "_transformer_encoder_layer_fwd(" in line.source]
    assert fast.made == (("return", (3, 5, 26)),)
    assert "Not called: TransformerEncoderLayer._sa_block." in repr(x_ray)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_nested_tensor_has_a_ragged_axis():
    def layer(parts):
        nested = torch.nested.nested_tensor(list(parts), layout=torch.strided)
        return nested.to_padded_tensor(0.0)

    parts = torch.ones(3, 5), torch.ones(2, 5)
    assert "nested (2, ragged, 5)" in repr(trace(layer, parts))


class Stack(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(26, 26) for _ in range(depth))
        self.last = nn.Sequential(nn.Linear(26, 7), nn.Tanh())

    def forward(self, x, *, residual=True):
        for layer in self.layers:
            y = layer(x)
            if residual:  # noqa: SIM108 - the branch is the point
                x = x + y
            else:
                x = y
        return self.last(x)


def test_a_module_with_a_branch_and_a_loop_shows_what_ran():
    x_ray = trace(Stack(3), torch.ones(3, 5, 26), sizes=SIZES, residual=False, follow="last.0")
    by_source = {line.source.strip(): line for line in x_ray.lines}

    assert by_source["for layer in self.layers:"].notes == (("quiet", "3 passes"),)
    assert by_source["y = layer(x)"].passes == 3
    assert by_source["x = x + y"].made == ()
    assert by_source["x = y"].made == (("x", (3, 5, 26)),)
    assert by_source["return self.last(x)"].made == (("return", (3, 5, 7)),)
    assert "last.0: Linear.forward" in repr(x_ray)
    assert "return (batch, tokens, hiddens)" in repr(x_ray)


CELL = '''
%precision 3
import torch
from torch import nn
from attnbook.tracing import trace

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


def test_a_class_that_was_typed_into_a_notebook_is_read(notebook):
    for cell in (CELL, CELL.replace("3)", "7)")):
        assert notebook.run_cell(cell, store_history=True).success
        again = notebook.run_cell("x_ray = trace(Cell(), torch.ones(2, 5), sizes={'batch': 2})")
        assert again.success
        size = notebook.user_ns["Cell"]()(torch.ones(2, 5)).shape[0]
        text = repr(notebook.user_ns["x_ray"])
        assert f"hidden (batch, {size})" in text
        assert f"return ({size}, batch)" in text
        assert "ipython" not in text


def test_a_cell_with_magics_and_await_is_read(notebook):
    cell = """
    import asyncio, torch
    from attnbook.tracing import trace
    folder = %pwd
    await asyncio.sleep(0)
    def typed(x):
        return x[0]
    """
    assert notebook.run_cell(textwrap.dedent(cell)).success
    assert "return (5,)" in repr(trace(notebook.user_ns["typed"], torch.ones(2, 5)))


# What Python can write


def closing_over(scale):
    class Base(nn.Module):
        def forward(self, x):
            return x * scale

    class Private(Base):
        def __init__(self):
            super().__init__()
            self.__shift = nn.Parameter(torch.ones(5))

        @torch.no_grad()
        def forward(self, x):
            self.out, first = super().forward(x) + self.__shift, Base.forward(self, x)[0]
            return first

    return Private()


def test_closures_private_names_decorators_and_super_work():
    x_ray = trace(closing_over(2.0), torch.ones(2, 5), sizes={"batch": 2, "size": 5})

    assert x_ray.error is None
    assert all_made(x_ray)[1:3] == [("self.out", (2, 5)), ("first", (5,))]
    assert "Base.forward, the first of 2 calls\ndef forward(self, x):   x (batch, size)" in repr(
        x_ray
    )
    assert "@torch.no_grad()" in repr(x_ray)


class Pair(NamedTuple):
    one: torch.Tensor
    two: torch.Tensor


def everything(x, *more, flag=False, **named):
    (a, *b), c = more, named["last"]
    q, k = (t.sum(-1) for t in (x, a))
    first, second = x  # noqa: RUF059 - bound to be shown
    pair = Pair(q, k)
    by_name = {"pair": pair, "list": [c]}  # noqa: F841 - bound to be shown
    total = 0.0
    total += x[0]
    both = same = x[0]  # noqa: F841 - bound to be shown

    def inner(z: Sequence):
        return z.sum(0)

    squeezed = [inner(part) for part in x]
    if (top := x.amax(-1)) is not None and not flag:
        kept: torch.Tensor = top[:, None]
    with torch.no_grad() as _:
        matched = x
    match len(b):
        case 1:
            matched = x.mT
        case -1:
            matched = 0
    try:
        x @ x
    except RuntimeError:
        matched = x @ x.T
    assert matched is not None, f"{x.sum() + 1}"
    return (
        matched,
        kept,
        squeezed[0].reshape(
            len(squeezed[1:]),
        ),
    )


def test_whatever_a_statement_binds_is_shown():
    x = torch.ones(2, 5)
    x_ray = trace(everything, x, torch.ones(3), torch.ones(4), last=torch.ones(6))
    made = {(name, shape) for name, shape in all_made(x_ray)}

    assert x_ray.error is None
    assert made >= {
        *[("x", (2, 5)), ("more[0]", (3,)), ("more[1]", (4,)), ("named['last']", (6,))],
        *[("a", (3,)), ("b[0]", (4,)), ("c", (6,))],
        *[("q", (2,)), ("k", ()), ("first", (5,)), ("second", (5,))],
        *[("pair.one", (2,)), ("pair.two", ())],
        *[("by_name['pair'].one", (2,)), ("by_name['list'][0]", (6,))],
        *[("total", (5,)), ("both", (5,)), ("same", (5,)), ("return", ()), ("squeezed[1]", ())],
        *[("top", (2,)), ("kept", (2, 1)), ("matched", (5, 2)), ("matched", (2, 2))],
        ("squeezed[0].reshape(len(squeezed[1:]))", (1,)),
    }


def test_a_statement_of_several_lines_belongs_to_its_first():
    x_ray = trace(everything, torch.ones(2, 5), torch.ones(3), torch.ones(4), last=torch.ones(6))
    lines = [line for line in x_ray.lines if line.source.startswith(("    return (", "        "))]
    first = next(line for line in lines if line.source == "    return (")
    rest = x_ray.lines[x_ray.lines.index(first) + 1 :]

    assert [name for name, _ in first.made[:2]] == ["matched", "kept"]
    assert ("squeezed[0]", ()) in first.parts
    assert all(line.made == () for line in rest)


def test_unpacking_takes_no_more_than_python_would():
    endless = iter(int, 1)
    assert unpackable(("a", "b"), endless) == [0, 0, 0]
    assert unpackable(("a", ("*", "b")), iter("xyz")) == ["x", "y", "z"]
    assert unpackable(("a", "b"), 3) == 3

    def layer(x):
        a, b = (x for _ in range(3))
        return a + b

    assert "too many values to unpack" in str(trace(layer, torch.ones(1)).error)


def test_a_generator_that_is_followed_shows_what_it_yields():
    def parts(x):
        for i in range(3):
            yield x[i:]

    def layer(x):
        return sum(part.sum() for part in parts(x))

    text = repr(trace(layer, torch.ones(4), follow="parts"))
    assert "3 passes" in text
    assert "yield (4,), in the last pass (2,)" in text


def test_a_function_that_calls_itself_shows_its_first_call():
    def halve(x):
        return halve(x[::2]) if len(x) > 1 else x

    text = repr(trace(halve, torch.ones(8)))
    assert text.startswith("halve, the first of 4 calls\n")
    assert "x (8,)" in text
    assert "· x[::2] (4,)" in text


def test_a_partial_a_bound_method_and_a_lambda_are_read():
    stack = Stack(1)
    triple = lambda x, times=3: x.repeat(times)  # noqa: E731 - the point of the test

    assert "return (3, 5, 7)" in repr(trace(stack.forward, torch.ones(3, 5, 26)))
    assert "return (6,)" in repr(trace(functools.partial(triple, times=2), torch.ones(3)))
    assert repr(trace(triple, torch.ones(3))).startswith("<lambda>\n")


class Called:
    """No module, but it can be called."""

    def __call__(self, x):
        return self.half(x)

    def half(self, x):
        return x[::2]


def test_an_object_that_can_be_called_is_read():
    for called in (Called(), functools.partial(Called())):
        text = repr(trace(called, torch.ones(6), follow="half"))
        assert text.startswith("Called.__call__\n")
        assert "return (3,)" in text
    layer = functools.partial(nn.Linear(5, 3))
    assert "return (batch, 3)" in repr(trace(layer, torch.ones(2, 5), sizes={"batch": 2}))


class Counting(type):
    """Makes instances in Python."""

    def __call__(cls, *inputs):
        return super().__call__(*inputs)


class Counted(metaclass=Counting):
    """What it makes is not what is traced."""


@pytest.mark.parametrize("kind", [nn.Linear, Called, Counted])
def test_a_class_is_refused_for_an_instance(kind):
    name = kind.__name__
    with pytest.raises(TypeError, match=f"{name} is a class, and what is traced is an instance"):
        trace(kind, torch.ones(1))


def generator(x):
    yield x


async def coroutine(x):
    return x


async def asynchronous(x):
    yield x


class Yielding(nn.Module):
    def forward(self, x):
        yield x


@pytest.mark.parametrize(
    ("layer", "kind"),
    [
        (generator, "a generator function"),
        (functools.partial(generator), "a generator function"),
        (Yielding(), "a generator function"),
        (coroutine, "an async function"),
        (asynchronous, "an async function"),
    ],
)
def test_what_a_call_does_not_run_is_refused(layer, kind):
    with pytest.raises(TypeError, match=f" is {kind}, which a call does not run: trace a"):
        trace(layer, torch.ones(1))


def test_a_layer_whose_python_does_not_run_confirms_nothing():
    @functools.wraps(generator)
    def late(x):
        return generator(x)

    x_ray = trace(late, torch.ones(2), sizes={"batch": 2})

    assert x_ray.remark.startswith("generator did not run as Python")
    assert "Names hold" not in repr(x_ray)
    assert trace(late, torch.ones(2)).remark == x_ray.remark


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_scripted_layer_confirms_nothing():
    x_ray = trace(torch.jit.script(nn.Linear(5, 3)), torch.ones(2, 5), sizes={"batch": 2})

    assert x_ray.remark.startswith("Linear.forward did not run as Python, as when it is compiled")
    assert "Names hold" not in repr(x_ray)


def test_two_lambdas_on_one_line_are_refused():
    both = [lambda x: x + 1, lambda x: x - 1]

    with pytest.raises(TypeError, match="shares its line with another"):
        trace(both[0], torch.ones(1))


def test_a_compiled_layer_is_shown_as_it_was_written():
    for layer in (Stack(1), nn.Linear(26, 7)):
        compiled = torch.compile(layer, backend="eager")
        assert "return (3, 5, 7)" in repr(trace(compiled, torch.ones(3, 5, 26)))
