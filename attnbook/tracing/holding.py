"""What objects hold, read and written by their base types: no method of their own is asked."""

from __future__ import annotations

import sys
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from functools import partial
from types import GetSetDescriptorType, MemberDescriptorType, MethodType, SimpleNamespace
from typing import Any

from torch import Tensor

CHANGING: tuple[Any, ...] = (OrderedDict, dict, list, set, deque)
_OWN = (GetSetDescriptorType, MemberDescriptorType)
ATOMS = (str, bytes, int, float, complex, bool, type(None))
# Loggers, threads, files and the like lead to the whole program; these do not.
_CLOSED = {*sys.stdlib_module_names} - {"__main__", "argparse", "collections", "types"}


def base_of(value: object) -> Any:  # noqa: ANN401 - a built-in type, or None
    """Find the built-in type of a container, which knows what is in it whatever it overrides."""
    kinds = type(value).__mro__
    return next((base for base in (*CHANGING, tuple, frozenset) if base in kinds), None)


def contents(value: object) -> list[Any]:
    """List what is in a container; in a dictionary, each key and what it stands for."""
    base = base_of(value)
    if base is None:
        return []
    if issubclass(base, dict):
        return [part for pair in base.items(value) for part in pair]
    return [*base.__iter__(value)]


def refill(container: object, before: list[Any]) -> None:
    """Put back what was in a container."""
    if [*map(id, contents(container))] == [*map(id, before)]:
        return
    base = base_of(container)
    base.clear(container)
    if issubclass(base, dict):
        for key, item in zip(before[::2], before[1::2], strict=True):
            base.__setitem__(container, key, item)
    else:
        refill_with: Any = set.update if base is set else base.extend
        refill_with(container, before)


def slots(value: object) -> Iterator[tuple[MemberDescriptorType, list[Any]]]:
    """List the attributes of an object's slots, each with its value; none if it is not set."""
    for kind in type(value).__mro__:
        for slot in vars(kind).values() if "__slots__" in vars(kind) else ():
            if isinstance(slot, MemberDescriptorType):
                try:
                    yield slot, [slot.__get__(value)]
                except AttributeError:
                    yield slot, []


def attributes(value: object) -> list[dict[str, Any]]:
    """Find an object's attributes, if it has any, but not what a property makes up."""
    found = (vars(kind).get("__dict__") for kind in type(value).__mro__)
    return [it.__get__(value) for it in found if isinstance(it, _OWN)][:1]


def is_foreign(value: object) -> bool:
    """Whether an object is Python's own and no container: what it holds is its own affair."""
    if base_of(value) or isinstance(value, partial | MethodType):
        return False
    return isinstance(value, type) or str(type(value).__module__).partition(".")[0] in _CLOSED


def reachable(value: object, closed: Callable[[object], bool]) -> list[object]:
    """List an object and all that it holds, each once, entering nothing that is closed.

    Numbers and texts are not listed: there may be very many.
    """
    found: dict[int, object] = {}
    left = [value]
    while left:
        each = left.pop()
        if type(each) not in ATOMS and id(each) not in found:
            found[id(each)] = each
            if not is_foreign(each) and not closed(each):
                left += _inside(each)
    return [*found.values()]


def _inside(value: object) -> list[object]:
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, Tensor):
        of_leaf = [value.grad, value._backward_hooks] if value.is_leaf else []
        return [*of_leaf, vars(value)]  # a wrapper's parts are its attributes
    found = [*contents(value), *(it for _, several in slots(value) for it in several)]
    return [*found, *attributes(value)]


class Rebuilding:
    """Copies of objects in which some things have others in their place; the rest is shared.

    Args:
        changed: by id of what stands in an original, what stands in its copy.
        whole: what is entered no more.
    """

    def __init__(self, changed: dict[int, Any], whole: Callable[[object], bool]) -> None:
        self.made, self.changed, self.whole = dict(changed), {*changed}, whole

    def of(self, value: Any) -> Any:  # noqa: ANN401 - a copy is of its original's kind
        """Copy an object if anything in it changes.

        Raises:
            TypeError: only its own methods could make another of its kind.
        """
        if id(value) not in self.made:
            if not any(id(it) in self.changed for it in reachable(value, self.whole)):
                return value
            self._make(value)
        return self.made[id(value)]

    def _make(self, value: Any) -> None:  # noqa: ANN401
        base, kind = base_of(value), type(value)
        if isinstance(value, partial):
            given, by_name = self.of(value.args), self.of(value.keywords)
            self.made[id(value)] = new = kind(self.of(value.func), *given, **by_name)
        elif isinstance(value, MethodType):
            self.made[id(value)] = new = MethodType(value.__func__, self.of(value.__self__))
        elif base in (tuple, frozenset):
            items = map(self.of, contents(value))
            # What torch returns, as `max` does, is made by its own type only.
            special = hasattr(kind, "n_sequence_fields")
            self.made[id(value)] = new = kind(items) if special else base.__new__(kind, items)
        else:
            # Known before it is filled: it may hold itself.
            plain = SimpleNamespace if isinstance(value, SimpleNamespace) else object
            self.made[id(value)] = new = (base or plain).__new__(kind)
            self._fill(new, value)
        for own in attributes(value):
            attributes(new)[0].update((name, self.of(item)) for name, item in own.items())
        for slot, several in slots(value):
            for item in several:
                slot.__set__(new, self.of(item))

    def _fill(self, new: Any, value: Any) -> None:  # noqa: ANN401
        if isinstance(value, deque):
            deque.__init__(new, (), value.maxlen)
        elif isinstance(value, defaultdict):
            new.default_factory = value.default_factory
        if base_of(value):
            refill(new, [self.of(item) for item in contents(value)])
