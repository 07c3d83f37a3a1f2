"""A cached step calls few functions of ours, as its checks are made once."""

import pytest

from tools.bench.calls import count_calls


@pytest.mark.parametrize(("keep_weights", "most"), [(False, 45), (True, 42)])
def test_a_cached_step_checks_once(keep_weights, most):
    calls = count_calls(keep_weights=keep_weights)
    assert calls.total() <= most, calls.most_common()
