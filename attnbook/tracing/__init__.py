"""Shape tracing: a layer's source, with the shape of what each of its lines made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import RLock
from typing import Any

from attnbook.tracing.naming import VARIED, check_sizes, check_varied
from attnbook.tracing.record import Step
from attnbook.tracing.run import compare
from attnbook.tracing.show import Trace
from attnbook.tracing.source import Scope

# `sys.stdout` and the state of random numbers are one for all threads. A layer may trace another.
one_at_a_time = RLock()

__all__ = ["Step", "Trace", "trace"]


def trace(
    layer: Any,  # noqa: ANN401 - a module, a method or a function
    /,
    *inputs: Any,  # noqa: ANN401 - whatever the layer takes
    sizes: Mapping[str, int] | None = None,
    follow: Iterable[str] | str | bool = (),
    vary: Iterable[str] | str = VARIED,
    **keyword_inputs: Any,  # noqa: ANN401
) -> Trace:
    """Run a layer once and show its source with the shape of every tensor it makes.

    A copy of the layer really runs, on copies of the inputs. So nothing of the run is left
    in the layer, in its attributes or in its inputs, and random numbers are as before. If the
    layer is a function, so are the variables that it closes over, its default values and the
    modules that it names. What the run does elsewhere stays done: through a hook, to a global
    variable that is no module, to a file. During the run, `sys.settrace` is in use: a debugger
    does not stop there.

    A name is printed only where exactly one of the names, one product of up to three or one
    quotient of two gives the size, and where a second run, on larger inputs, confirms it.
    Everything else is a number. A name that no run could change is matched by its number only,
    and a line at the end says so; in products and quotients it is used only where another axis
    shows where it went. Sizes that are different primes are rarely confused: with
    `batch=2, heads=4`, a 2 may be `heads/batch`.

    Args:
        layer: an `nn.Module`, a method, a function or an object with `__call__`, written
            in Python.
        sizes: what the sizes are called, `{"batch": 2, …}`, all different. Name all
            that the inputs have: an axis of a name's size is taken for it.
        follow: what to trace as well: modules inside the layer (`"W_q"`), methods
            (`"score"`) and functions (`"masked_softmax"`) that it calls, by name.
            True means all modules inside. Its first call is shown.
        vary: names in `sizes` that the second run changes; at first, those like `batch`
            and `num_keys`, and of the others each with which the layer runs. Most of
            these, like `num_hiddens`, are fixed by parameters.

    Returns:
        A `Trace`, shown as text or HTML. If the layer raises, `trace` does not: the
        exception is shown at its line, with the shapes so far, and is in `Trace.error`.

    Raises:
        TypeError: a source cannot be read, the layer is a generator function or `async
            def`, the layer or an input cannot be copied, `sizes` are no whole numbers by
            name, or `follow` or `vary` no names.
        ValueError: sizes are not distinct or not positive, or a name in `follow` or `vary`
            is not found.

    Example:
        >>> from attnbook.tracing import trace
        >>> queries, keys = torch.ones(2, 3, 5), torch.ones(2, 7, 5)
        >>> sizes = {"batch": 2, "num_queries": 3, "num_keys": 7, "size": 5}
        >>> found = trace(DotProductAttention(0.0), queries, keys, keys, sizes=sizes)
        >>> found.shapes["scores"]
        (2, 3, 7)
    """
    named = check_sizes({} if sizes is None else sizes)
    varied, maybe = check_varied(vary, named), {*named} if vary is VARIED else set()
    with one_at_a_time:
        scope = Scope(getattr(layer, "_orig_mod", layer), follow)  # torch.compile's
        found = compare(scope, (inputs, keyword_inputs), named, varied, maybe)
    return Trace(*found, scope.modules)
