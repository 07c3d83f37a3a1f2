"""Exercises: a task, its cases, right implementations and known bugs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from attnbook.practice.statements.cases import describe_cases

Function = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """One kind of input that a task tries.

    Args:
        name: the kind, as it continues after "Case:".
        make: creates the arguments, the same each time.
        refused: whether the right answer is a ValueError or a TypeError.
        gradients: whether gradients are compared, too, where possible.
        leftovers: whether NaN is sent back to each exact 0 of the output, and must stop there.

    Example:
        >>> from attnbook.practice.task import Case
        >>> Case("one query", lambda: (torch.ones(1, 1, 4),)).make()
        (tensor([[[1., 1., 1., 1.]]]),)
    """

    name: str
    make: Callable[[], tuple[Any, ...]]
    refused: bool = False
    gradients: bool = True
    leftovers: bool = False


@dataclass(frozen=True)
class Solution:
    """A right implementation, and why it is right.

    Example:
        >>> from attnbook.practice import find_task
        >>> solution = find_task("masked-softmax").solutions["filled with infinity"]
        >>> solution.function(torch.zeros(1, 1, 4), torch.tensor([2]))
        tensor([[[0.5000, 0.5000, 0.0000, 0.0000]]])
    """

    name: str
    function: Function
    why: str


@dataclass(frozen=True)
class Bug:
    """An implementation that differs from a right one in a single fault.

    Args:
        name: of its function, as words.
        function: the implementation.
        cause: the fault, as it continues after "This is what you get when".
        fix: what to do instead.
        symptom: what an affected user would report without knowing the fault.
        origin: where it was found in real code; empty for a common mistake.

    Example:
        >>> from attnbook.practice import find_task
        >>> bug = find_task("masked-softmax").bugs["hidden scores set to zero"]
        >>> bug.function(torch.zeros(1, 1, 4), torch.tensor([2]))
        tensor([[[0.2500, 0.2500, 0.2500, 0.2500]]])
    """

    name: str
    function: Function
    cause: str
    fix: str
    symptom: str = ""
    origin: str = ""


@dataclass(frozen=True)
class Law:
    """What must hold for every right output, reported instead of numbers that differ.

    Args:
        words: a whole sentence on what is wrong if it does not hold.
        holds: takes the output and the arguments of a call.

    Example:
        >>> from attnbook.practice.task import Law
        >>> law = Law("Some weight is negative.", lambda weights, *_: bool((weights >= 0).all()))
        >>> law.holds(torch.tensor([-1.0, 2.0]), None)
        False
    """

    words: str
    holds: Callable[..., bool]


@dataclass
class Task:
    """Something to write, with its cases, right implementations and known bugs.

    The first right implementation is the reference.

    Args:
        name: as `check` takes it.
        statement: what to write, in Markdown: signature, shapes, rules.
        starter: the code to begin with.
        laws: in the order in which they are reported.
        outputs: names of the returned tensors.
        as_function: makes a function of the cases' arguments out of an answer that is not
            one: a layer's class.

    Example:
        >>> from attnbook.practice.task import Task
        >>> task = Task("double", "Write `double(x)`.", "def double(x): ...")
        >>> @task.solution("It is the definition.")
        ... def by_product(x):
        ...     return 2 * x
        >>> task.called, task.reference(3)
        ('double', 6)
    """

    name: str
    statement: str
    starter: str
    laws: tuple[Law, ...] = ()
    outputs: tuple[str, ...] = ("the output",)
    as_function: Callable[[Function], Function] = lambda written: written
    cases: dict[str, Case] = field(default_factory=dict)
    solutions: dict[str, Solution] = field(default_factory=dict)
    bugs: dict[str, Bug] = field(default_factory=dict)
    tests: list[Function] = field(default_factory=list)
    inherited: list[tuple[Task, Function]] = field(default_factory=list)

    def case(self, name: str, **options: bool) -> Callable[[Function], Function]:
        """Register a function that creates the arguments of a case."""

        def register(make: Function) -> Function:
            self._add(self.cases, Case(name, make, **options))
            return make

        return register

    def solution(self, why: str, *, name: str = "") -> Callable[[Function], Function]:
        """Register a right implementation. Its name may be the function's own."""

        def register(function: Function) -> Function:
            self._add(self.solutions, Solution(name or _words(function), function, why))
            return function

        return register

    def bug(
        self,
        name: str = "",
        cause: str = "",
        *,
        symptom: str = "",
        origin: str = "",
        fix: str = "",
    ) -> Callable[[Function], Function]:
        """Register a bug. Name and cause may be the function's own name and docstring."""

        def register(function: Function) -> Function:
            known_as, why = name or _words(function), cause or inspect.getdoc(function) or ""
            bug = Bug(known_as, function, why, fix, symptom, origin)
            self._add(self.bugs, self.completed(bug))
            return function

        return register

    def inherit(self, in_steps: Function, *steps: Task, without: tuple[str, ...] = ()) -> None:
        """Register the bugs of steps, which are tasks, too.

        Args:
            in_steps: makes the whole of a step, passed by the step's name.
            without: the names of bugs that change nothing here, or repeat one of the task's own.
        """
        for step in steps:
            self.inherited.append((step, in_steps))
            for bug in step.bugs.values():
                if bug.name not in without:
                    whole = in_steps(**{step.name: bug.function})
                    self._add(self.bugs, replace(bug, function=whole))

    def completed(self, bug: Bug) -> Bug:
        """Add missing texts to a bug; here there are none."""
        return bug

    def _add(self, known: dict[str, Any], new: Case | Solution | Bug) -> None:
        """Refuse a second name: it would replace the first."""
        if new.name in known:
            raise ValueError(f"names of {self.name} must differ, got {new.name!r} twice")
        known[new.name] = new

    def test(self, function: Function) -> Function:
        """Register one of the book's own tests, which takes an implementation."""
        self.tests.append(function)
        return function

    @property
    def reference(self) -> Function:
        """The right implementation that answers are compared with."""
        return next(iter(self.solutions.values())).function

    @property
    def called(self) -> str:
        """The name of the function or class in the starter."""
        return self.starter.split("(")[0].split(":")[0].split()[-1]

    @cached_property
    def arguments(self) -> list[str]:
        """The names of the cases' arguments."""
        return list(inspect.signature(self.as_function(self.reference)).parameters)

    @property
    def full_statement(self) -> str:
        """The statement, and what the cases try."""
        tried = describe_cases(self.arguments, [*self.cases.values()])
        return " ".join([self.statement, *tried])

    def __repr__(self) -> str:
        return f"{self.name}: {self.full_statement}"

    def _repr_markdown_(self) -> str:
        return self.full_statement


def _words(function: Function) -> str:
    # A function on plain lists has this suffix if one on tensors has the name without it.
    return function.__name__.removesuffix("_by_hand").replace("_", " ").strip()


def rows_sum_to_one(weights: Tensor, *_: Any) -> bool:  # noqa: ANN401 - a case's arguments
    """Whether each row of weights sums to 1, or to 0 if it is fully masked."""
    sums = weights.double().sum(dim=-1)
    return bool((((sums - 1).abs() < 1e-2) | (sums == 0)).all())
