"""Random schedules of a cache against an oracle that keeps all tokens, and the bugs they find."""

import pytest
from hypothesis.stateful import run_state_machine_as_test

from tests.core.cache_bugs import BUGS, find_bug
from tests.core.cache_machine import CacheMachine, schedule_settings


def test_a_cache_in_any_schedule_computes_what_the_whole_text_gives(request):
    schedules = 2000 if request.config.getoption("--full") else 100
    run_state_machine_as_test(CacheMachine, settings=schedule_settings(schedules))


@pytest.mark.few(24)
@pytest.mark.parametrize("plant", BUGS.values(), ids=BUGS)
def test_random_schedules_find_a_planted_bug(plant):
    assert find_bug(plant) is not None


def test_without_a_bug_nothing_is_found():
    assert find_bug(lambda _: None, schedules=20) is None
