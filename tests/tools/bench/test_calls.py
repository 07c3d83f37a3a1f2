"""A cached step calls few functions of ours: half as many as before checks were made once."""

import pytest

from tools.bench.calls import count_calls


@pytest.mark.parametrize(("keep_weights", "most"), [(False, 70), (True, 117)])
def test_a_cached_step_checks_once(keep_weights, most):
    calls = count_calls(keep_weights=keep_weights)
    assert calls.total() <= most, calls.most_common()
