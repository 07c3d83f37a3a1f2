"""Races: pairing, quartiles and order, on fake clocks. No test asserts a real time."""

import re

import pytest
import torch

from attnbook import timing
from attnbook.timing import Race, processor_seconds, race, readable

SLOW = [8.0, 9.0, 12.0, 10.0, 14.0, 12.0, 7.0]
FAST = [4.0, 3.0, 3.0, 10.0, 2.0, 2.0, 1.0]  # the ratios: 2, 3, 4, 1, 7, 6, 7


@pytest.fixture
def seven():
    return Race({"slow": SLOW, "fast": FAST}, "processor time")


def make_fakes(costs):
    """Make programs, a stopwatch by which a call takes its cost, and a record of all calls."""
    ran = []
    programs = {name: (lambda name=name: ran.append(name)) for name in costs}

    def stopwatch(program, calls):
        for _ in range(calls):
            program()
        return costs[ran[-1]] * calls

    return programs, stopwatch, ran


def test_programs_are_compared_within_each_round(seven):
    # Sorted, the ratios are 1, 2, 3, 4, 6, 7, 7; of seven, the second, fourth and sixth count.
    assert seven.times_as_fast("fast") == (2.0, 4.0, 7.0)
    assert seven.times_as_fast("slow") == (1.0, 1.0, 1.0)
    assert seven.times_as_fast("slow", than="fast") == pytest.approx((1 / 7, 1 / 4, 1 / 2))
    # The differences: -4, -6, -9, 0, -12, -10, -6.
    assert seven.seconds_more("fast") == (-10.0, -6.0, -4.0)
    assert seven.one_call("slow") == (8.0, 10.0, 12.0)


def test_an_unknown_program_is_refused_with_a_list_of_known_ones(seven):
    with pytest.raises(ValueError, match=r"one of the programs \(slow, fast\), got 'quick'"):
        seven.times_as_fast("quick")
    with pytest.raises(ValueError, match="got 'quick'"):
        seven.times_as_fast("slow", than="quick")


def test_the_repr_is_a_table(seven):
    assert repr(seven) == (
        "program  times as fast        quartiles      a call\n"
        "slow              1.00     1.00 to 1.00        10 s\n"
        "fast              4.00     2.00 to 7.00         3 s\n"
        "(processor time, medians of 7 rounds)"
    )


def test_a_time_is_written_in_a_suitable_unit():
    times = 4.02, 0.5504, 4.213e-6, 0.0, 0.00099951, -0.99951, 0.00099949, 1234.5
    texts = "4.02 s", "550 ms", "4.21 µs", "0 µs", "1 ms", "-1 s", "999 µs", "1230 s"
    assert tuple(map(readable, times)) == texts


def test_a_program_is_called_until_a_round_is_long_enough():
    programs, stopwatch, ran = make_fakes({"long": 4.0, "short": 1.0})
    result = race(programs, rounds=2, least=3.0, stopwatch=stopwatch)
    assert result.seconds == {"long": [4.0, 4.0], "short": [1.0, 1.0]}  # of one call
    assert result.first == "long"
    assert result.times_as_fast("short") == (4.0, 4.0, 4.0)
    # One call of the long is long enough; 1, 2 and 4 of the short take 1, 2 and 4 seconds.
    assert ran[:8] == ["long"] + ["short"] * (1 + 2 + 4)


def test_a_race_ends_on_a_clock_that_does_not_move(monkeypatch):
    monkeypatch.setattr(timing, "MOST_CALLS", 8)
    programs, _, ran = make_fakes({"only": 0.0})
    result = race(programs, rounds=2, stopwatch=lambda program, calls: program() or calls * 0.0)
    assert result.seconds == {"only": [0.0, 0.0]}
    assert len(ran) == 4 + 2  # 1, 2, 4 and 8 calls were tried; then two rounds


def order_of(seed):
    programs, stopwatch, ran = make_fakes(dict.fromkeys("abc", 1.0))
    race(programs, rounds=20, stopwatch=stopwatch, seed=seed)
    return [tuple(ran[i : i + 3]) for i in range(3, len(ran), 3)]


def test_each_round_runs_every_program_once_in_an_order_that_the_seed_alone_decides():
    rounds = order_of(seed=0)
    assert len(rounds) == 20
    assert all(sorted(names) == ["a", "b", "c"] for names in rounds)
    assert len(set(rounds)) > 3
    assert order_of(seed=0) == rounds
    assert order_of(seed=1) != rounds


def test_a_race_runs_on_one_thread_and_restores_the_number_of_threads_after_an_error():
    seen = []

    def program():
        seen.append(torch.get_num_threads())
        raise ArithmeticError

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with pytest.raises(ArithmeticError):
            race({"program": program}, rounds=2, least=1e-6)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [1]


def test_a_real_race_gives_positive_times():
    numbers = torch.randn(64)
    programs = {"exp": numbers.exp, "tanh": numbers.tanh}
    for options in ({}, {"stopwatch": processor_seconds}):
        result = race(programs, rounds=2, least=1e-4, **options)
        assert result.clock == "processor time"
        assert all(seconds > 0 for seconds in result.seconds["exp"] + result.seconds["tanh"])
        assert re.search(r"^tanh +\d", repr(result), re.MULTILINE)


def test_a_device_without_a_stopwatch_of_ours_is_refused():
    programs = {"there": lambda: torch.zeros(1, device="meta")}
    with pytest.raises(ValueError, match="on the CPU or a CUDA GPU, got meta; give a stopwatch"):
        race(programs)
    own = race(programs, rounds=2, stopwatch=lambda _program, calls: 2.0 * calls)
    assert own.seconds == {"there": [2.0, 2.0]}
    assert own.clock == "time of the given stopwatch"


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        (({},), ValueError, "programs must hold at least one program, got none"),
        (({"sum": torch.ones(1)},), TypeError, r"programs\['sum'\] must be a function, got Tensor"),
        (({"sum": sum}, 1), ValueError, "rounds must be at least 2, for quartiles, got 1"),
        (({"sum": sum}, 7, 0.0), ValueError, "least must be a positive number of seconds, got 0.0"),
        (({"sum": sum}, 7, float("nan")), ValueError, "least must be .* got nan"),
    ],
)
def test_invalid_arguments_of_a_race_are_refused(arguments, error, sentence):
    with pytest.raises(error, match=sentence):
        race(*arguments)
