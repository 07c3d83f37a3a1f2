"""Random schedules of a cache against an oracle that keeps all tokens."""

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.cache.machine import CacheMachine


def test_a_cache_in_any_schedule_computes_what_the_whole_text_gives(request):
    options = settings(
        max_examples=2000 if request.config.getoption("--full") else 100,
        stateful_step_count=12,
        derandomize=True,
        database=None,
        deadline=None,  # a machine may be busy
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(CacheMachine, settings=options)
