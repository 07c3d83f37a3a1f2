"""Timing: which of several programs is faster on this machine, and how many times.

One time alone means little: machines differ, and a busy one is slow for all programs. So a
race runs its programs in turn, each round in another order, and compares them within
the round. Half of the rounds lie between the quartiles: the closer these are, the
more the median can be trusted.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles
from typing import NamedTuple

import torch

Program = Callable[[], object]
Stopwatch = Callable[[Program, int], float]
"""Takes a program and a number of calls; returns the seconds that all calls took."""

MOST_CALLS = 2**20


class Quartiles(NamedTuple):
    """The middle of some numbers, and the two borders of their middle half.

    Example:
        >>> from attnbook.timing import quartiles
        >>> quartiles([4.0, 1.0, 2.0, 3.0, 5.0])
        Quartiles(low=1.5, median=3.0, high=4.5)
    """

    low: float
    median: float
    high: float


@dataclass(frozen=True, repr=False)
class Race:
    """The result of `race`: the seconds of each program in each round; its repr is a table.

    Args:
        seconds: of one call, for each program a list with one number per round.
        clock: what was counted, such as "processor time" or "GPU time".

    Example:
        >>> from attnbook.timing import Race
        >>> found = Race({"slow": [2.0, 4.0, 6.0], "fast": [1.0, 2.0, 3.0]}, "processor time")
        >>> found.times_as_fast("fast")
        Quartiles(low=2.0, median=2.0, high=2.0)
        >>> found.seconds_more("fast", than="slow").median
        -2.0
    """

    seconds: dict[str, list[float]]
    clock: str

    @property
    def first(self) -> str:
        """The program that the others are compared with."""
        return next(iter(self.seconds))

    def times_as_fast(self, name: str, than: str | None = None) -> Quartiles:
        """How many times as fast as another program, or the first: paired round by round.

        Raises:
            ValueError: there is no such program.
        """
        return quartiles(theirs / own for own, theirs in self._pairs(name, than))

    def seconds_more(self, name: str, than: str | None = None) -> Quartiles:
        """How many seconds more a call takes than another program's, or the first's.

        Raises:
            ValueError: there is no such program.
        """
        return quartiles(own - theirs for own, theirs in self._pairs(name, than))

    def one_call(self, name: str) -> Quartiles:
        """How many seconds a call takes.

        Raises:
            ValueError: there is no such program.
        """
        return quartiles(self._of(name))

    def _pairs(self, name: str, than: str | None) -> zip[tuple[float, float]]:
        return zip(self._of(name), self._of(than or self.first), strict=True)

    def _of(self, name: str) -> list[float]:
        if name not in self.seconds:
            known = ", ".join(self.seconds)
            raise ValueError(f"name must be one of the programs ({known}), got {name!r}")
        return self.seconds[name]

    def __repr__(self) -> str:
        width = max(map(len, [*self.seconds, "program"]))
        lines = [f"{'program':{width}}  times as fast        quartiles      a call"]
        for name in self.seconds:
            low, median, high = self.times_as_fast(name)
            spread = f"{low:.2f} to {high:.2f}"
            call = readable(self.one_call(name).median)
            lines.append(f"{name:{width}}  {median:13.2f}  {spread:>15}  {call:>10}")
        return "\n".join([*lines, f"({self.clock}, medians of {len(self._of(self.first))} rounds)"])


def race(
    programs: Mapping[str, Program],
    rounds: int = 7,
    least: float = 0.05,
    *,
    seed: int = 0,
    stopwatch: Stopwatch | None = None,
) -> Race:
    """Run programs against each other, and compare each with the first.

    The processor's time is counted, whatever else the machine does meanwhile, and torch
    is limited to one thread: several would count the time that they wait for each other. Where
    the programs return tensors on a CUDA GPU (alone, in a tuple or in a list), the GPU's
    time is counted: the processor only starts what runs there. One call of each is not: it
    may compile, or fill a cache.

    Args:
        programs: functions without arguments, by name. They must end each call with
            what they began with, so that all calls take the same time.
        rounds: at least 2.
        least: how many seconds a program runs in a round, at least: it is called as
            often as that takes. Positive.
        seed: of the order of the programs within each round.
        stopwatch: takes a program and a number of calls, returns the seconds that
            they took; chosen by where the results are when not given.

    Raises:
        TypeError: a program cannot be called.
        ValueError: no program, fewer than 2 rounds, `least` not positive, or results
            on different devices, or on one that only a stopwatch of yours can time.

    Example:
        >>> from attnbook.timing import race
        >>> scores = torch.randn(64, 64)
        >>> race({"exp": scores.exp, "tanh": scores.tanh}, rounds=3, least=0.001)
        program  times as fast        quartiles      a call
        exp               1.00     1.00 to 1.00  ...
        tanh ...
        (processor time, medians of 3 rounds)
    """
    _check(programs, rounds, least)
    with _one_thread():
        return _run(programs, rounds, least, seed, stopwatch)


def _run(
    programs: Mapping[str, Program],
    rounds: int,
    least: float,
    seed: int,
    stopwatch: Stopwatch | None,
) -> Race:
    stopwatch = stopwatch or _stopwatch_for({name: run() for name, run in programs.items()})
    calls = {name: _calls(run, least, stopwatch) for name, run in programs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    order = random.Random(seed)  # noqa: S311 - no secret
    for _ in range(rounds):
        for name in order.sample(list(programs), len(programs)):
            seconds[name].append(stopwatch(programs[name], calls[name]) / calls[name])
    return Race(seconds, _clock(stopwatch))


def _clock(stopwatch: Stopwatch) -> str:
    """Name what a stopwatch counts; for the caller's own this is not known."""
    ours = (("processor time", processor_seconds), ("GPU time", gpu_seconds))
    return next((name for name, own in ours if own is stopwatch), "time of the given stopwatch")


def processor_seconds(program: Program, calls: int) -> float:
    """How long the processor works on so many calls, on all its cores together."""
    start = time.process_time()
    for _ in range(calls):
        program()
    return time.process_time() - start


def gpu_seconds(program: Program, calls: int) -> float:
    """How long the GPU takes from the start of the first call to the end of the last."""
    event: Callable[..., torch.Event] = torch.cuda.Event
    start, end = event(enable_timing=True), event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(calls):
        program()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1e3  # it counts milliseconds


def quartiles(numbers: Iterable[float]) -> Quartiles:
    """The median and the quartiles of two numbers or more: none lies beyond the numbers."""
    known = sorted(numbers)
    # Of two numbers, statistics would guess quartiles outside.
    return Quartiles(*(min(max(cut, known[0]), known[-1]) for cut in quantiles(known, n=4)))


def readable(seconds: float) -> str:
    """A time with three digits and the unit that suits it."""
    rounded = float(f"{seconds:.3g}")  # first, as it may be the next unit's
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(rounded) >= size:
            digits = ".0f" if abs(rounded) >= 1000 else ".3g"
            return f"{rounded / size:{digits}} {unit}"
    return f"{rounded / 1e-6:.3g} µs"


def devices(result: object) -> set[str]:
    """The kinds of device that the tensors of a result are on."""
    if isinstance(result, torch.Tensor):
        return {result.device.type}
    if isinstance(result, tuple | list):
        return set().union(*map(devices, result))
    return set()


def _stopwatch_for(results: Mapping[str, object]) -> Stopwatch:
    """Choose a stopwatch by where the programs' results are."""
    found = {name: devices(result) for name, result in results.items()}
    kinds = set().union(*found.values())
    if len(kinds) > 1:
        where = ", ".join(
            f"{name} on {'/'.join(sorted(on)) or 'no device'}" for name, on in found.items()
        )
        raise ValueError(f"programs must compute on one device, got {where}")
    (kind,) = kinds or {"cpu"}
    if kind not in ("cpu", "cuda"):
        raise ValueError(
            f"programs must compute on the CPU or a CUDA GPU, got {kind}; "
            "give a stopwatch that waits for it"
        )
    return gpu_seconds if kind == "cuda" else processor_seconds


def _calls(program: Program, least: float, stopwatch: Stopwatch) -> int:
    """Double the number of calls until they take long enough."""
    calls = 1
    while stopwatch(program, calls) < least and calls < MOST_CALLS:
        calls *= 2
    return calls


@contextmanager
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _check(programs: Mapping[str, Program], rounds: int, least: float) -> None:
    """Refuse what cannot be raced."""
    if not programs:
        raise ValueError("programs must hold at least one program, got none")
    for name, program in programs.items():
        if not callable(program):
            raise TypeError(f"programs[{name!r}] must be a function, got {type(program).__name__}")
    if rounds < 2:
        raise ValueError(f"rounds must be at least 2, for quartiles, got {rounds}")
    if not least > 0:
        raise ValueError(f"least must be a positive number of seconds, got {least}")
