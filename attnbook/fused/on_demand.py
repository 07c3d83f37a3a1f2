"""Weights that are computed when they are first read, after a call that torch's kernel made."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.checks import autocast_is_on
from attnbook.fused.dot_product import Inputs, formula_weights


class WeightsOnDemand(NamedTuple):
    """What the weights of a call are made of: copies, which nobody else can change."""

    inputs: Inputs
    autocast: torch.dtype | None  # in which autocast computed products, if it was on

    @classmethod
    def of_call(cls, inputs: Inputs) -> WeightsOnDemand:
        """Copy what a call got; weights do not depend on values."""
        queries, keys = inputs.queries.detach().clone(), inputs.keys.detach().clone()
        visible, bias = (
            None if it is None else it.detach().clone() for it in (inputs.visible, inputs.bias)
        )
        device = queries.device.type
        dtype = torch.get_autocast_dtype(device) if autocast_is_on(device) else None
        return cls(Inputs(queries, keys, keys, visible, bias, inputs.causal, inputs.scale), dtype)

    def compute(self) -> Tensor:
        """Score and weigh by the formula, as if within the call, and without gradient."""
        device, on = self.inputs.queries.device.type, self.autocast is not None
        autocast: AbstractContextManager[object] = nullcontext()
        if on or autocast_is_on(device):
            autocast = torch.autocast(device, dtype=self.autocast, enabled=on)
        with torch.inference_mode(False), torch.no_grad(), autocast:
            return formula_weights(self.inputs)
