"""Shape tracing: a table of what each line of a layer makes, with its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attnbook.torch_private import without_compiler
from attnbook.tracing.naming import USUALLY_FREE, check_names, check_sizes
from attnbook.tracing.record import Step
from attnbook.tracing.run import compare
from attnbook.tracing.show import Trace
from attnbook.tracing.source import Scope

__all__ = ["Step", "Trace", "trace"]


def trace(
    layer: Any,  # noqa: ANN401 - a module, a method or a function
    /,
    *inputs: Any,  # noqa: ANN401 - whatever the layer takes
    sizes: Mapping[str, int] | None = None,
    follow: Iterable[str] | str = (),
    vary: Iterable[str] | str | None = None,
    **keyword_inputs: Any,  # noqa: ANN401
) -> Trace:
    """Run a layer once and list the tensors that its lines make, with their shapes.

    There is a row for each argument, variable and result, and for each part of a line. In a
    notebook, a long table shows the parts of lines when you open them.

    A copy of the layer really runs, on copies of the inputs, so nothing of the run is left in
    them, and random numbers are as before. Of a function, its closure, its default values and
    the modules that it names are copied. What the run does elsewhere stays done: through a
    hook, to a global variable, to a file. A debugger does not stop in it (`sys.settrace`).

    A name is printed only where exactly one name, product or quotient of two names gives the
    size, and where a second run, on larger inputs, confirms it; else a number. A name that no
    run could change is matched by its number only, and a line at the end says so; in products
    and quotients it is used only where another axis shows where it went. Choose sizes that
    are different primes: with `batch=2, heads=4`, a 2 may be `heads/batch`.

    Args:
        layer: an `nn.Module`, a method, a function, or an object with `__call__`.
        sizes: what the sizes are called, `{"batch": 2, …}`, all different. Name all
            that the inputs have: an axis of a name's size is taken for it.
        follow: modules (`"W_q"`), methods (`"score"`) and functions (`"masked_softmax"`) to
            trace as well, by name. The first call of each is shown.
        vary: the names in `sizes` that the second run changes, by default those like
            `batch` and `num_keys`; then each other with which the layer runs, too.

    Returns:
        A `Trace`, shown as a table. If the layer raises, `trace` does not: the exception is
        in the last row of its function, after the shapes so far, and in `Trace.error`.

    Raises:
        TypeError: a source cannot be read, the layer or an input cannot be copied, or
            `sizes`, `follow` or `vary` are not of their types.
        ValueError: sizes are not distinct or not positive, or a name is not found.

    Example:
        >>> from attnbook.tracing import trace
        >>> queries, keys = torch.ones(2, 3, 5), torch.ones(2, 7, 5)
        >>> sizes = {"batch": 2, "num_queries": 3, "num_keys": 7, "size": 5}
        >>> found = trace(DotProductAttention(0.0), queries, keys, keys, sizes=sizes)
        >>> found.shapes["scores"]
        (2, 3, 7)
    """
    named = check_sizes({} if sizes is None else sizes)
    varied = {*named} & USUALLY_FREE if vary is None else {*check_names(vary, "vary", named)}
    scope = Scope(without_compiler(layer), follow)
    found = compare(scope, (inputs, keyword_inputs), named, varied)
    return Trace(*found)
