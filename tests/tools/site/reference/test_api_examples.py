"""The examples on the pages of the API run and print what they say; each public name has one."""

from __future__ import annotations

import doctest
import inspect
from pkgutil import resolve_name

import torch

import attnbook
from tools.site.reference.api import rooms

# Layers choose these paths themselves: readers look them up and do not call them.
INTERNAL = "chapters/api-fast-paths"
NAMES = {name: resolve_name(name) for room in rooms() for name in room.names}
CALLED = {
    name
    for room in rooms()
    for name in room.names
    if room.page != INTERNAL and callable(NAMES[name])
}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PARSER = doctest.DocTestParser()


def examples_of(thing):
    """The examples of a docstring that are run."""
    found = PARSER.get_examples(inspect.getdoc(thing) or "")
    return [example for example in found if not example.options.get(doctest.SKIP)]


def documented(thing):
    """A name's own docstring, and those of a class's methods and properties."""
    yield thing
    if inspect.isclass(thing):
        methods = [getattr(each, "__func__", each) for each in vars(thing).values()]
        yield from (it for it in methods if inspect.isfunction(it) or isinstance(it, property))


def test_each_example_prints_what_its_entry_shows():
    runner, report = doctest.DocTestRunner(optionflags=FLAGS), []
    for name, public in NAMES.items():
        for thing in documented(public) if callable(public) else ():
            torch.manual_seed(0)
            names = {"torch": torch, **vars(attnbook)}
            text = inspect.getdoc(thing) or ""
            runner.run(PARSER.get_doctest(text, names, name, None, 0), out=report.append)
    assert not runner.failures, "".join(report)


def test_every_public_name_has_an_example():
    without = sorted(name for name in CALLED if not examples_of(NAMES[name]))
    assert without == [], f"{len(without)} of {len(CALLED)} names"
