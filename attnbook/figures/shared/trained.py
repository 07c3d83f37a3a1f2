"""Figures whose page computes with a trained model, and how its weights are packed."""

from __future__ import annotations

import base64
from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
import traitlets

from attnbook.figures.shared.base import Figure

if TYPE_CHECKING:
    from torch import Tensor


class TrainedFigure(Figure):
    """In the book a script loads the weights; in a notebook, the page requests them here."""

    name = traitlets.Unicode().tag(sync=True)
    shown: Any = traitlets.Dict().tag(sync=True)  # what is shown before the model has loaded
    wanted = traitlets.Bool(default_value=False).tag(sync=True)
    weights: Any = traitlets.Dict().tag(sync=True)  # only if wanted: no page stores them
    # Scripts that the page loads when they are needed.
    late: traitlets.List[str] = traitlets.List().tag(sync=True)

    @abstractmethod
    def _packed(self) -> dict[str, Any]: ...

    @abstractmethod
    def _refuse(self, trait: str, value: Any) -> None:  # noqa: ANN401 - any trait's
        """Refuse a value, as the constructor does, with a TypeError or a ValueError."""

    def _accept(self, proposal: Any) -> Any:  # noqa: ANN401 - traitlets' own type
        """Return a value that a trait may have."""
        value = proposal["value"]
        if self.kind:  # else the constructor has checked it
            try:
                self._refuse(proposal["trait"].name, value)
            except (TypeError, ValueError) as problem:
                raise traitlets.TraitError(str(problem)) from None
        return value

    @traitlets.observe("wanted")
    def _send_weights(self, _change: object) -> None:
        if self.wanted:
            self.weights = self._packed()


def in_base64(arrays: Iterable[Tensor], dtype: str) -> str:
    """The numbers of arrays, one after the other: float32 or float16, little endian, as base64."""
    flat = torch.cat([array.detach().cpu().double().flatten() for array in arrays]).numpy()
    little = flat.astype("<f4" if dtype == "float32" else "<f2")
    return base64.b64encode(little.tobytes()).decode("ascii")
