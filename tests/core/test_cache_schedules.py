"""Random schedules of a cache against an oracle that keeps all tokens."""

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.core.cache_machine import CacheMachine

STEPS = 12


def test_a_cache_in_any_schedule_computes_what_the_whole_text_gives(request):
    schedules = 2000 if request.config.getoption("--full") else 100
    run_state_machine_as_test(
        CacheMachine,
        settings=settings(max_examples=schedules, stateful_step_count=STEPS, database=None),
    )
