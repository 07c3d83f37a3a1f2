"""A process of its own in which nothing of ours makes Python or torch warn."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_nothing_here_makes_torch_warn():
    # pytest turns warnings into errors; a fresh interpreter shows those at import, too.
    program = (
        "import torch, attnbook; layer = attnbook.DotProductAttention().eval(); "
        "x = torch.ones(2, 3, 5); n = torch.tensor([2, 0]); layer(x, x, x, n); "
        "torch.export.export(layer, (x, x, x, n))"
    )
    command = [sys.executable, "-W", "error:::attnbook", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "attnbook" not in done.stderr
