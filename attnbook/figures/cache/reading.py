"""What the cache figure stores: each step from the cache, next to recomputing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnbook.figures.cache.bugs import Settings
from attnbook.figures.cache.writing import Step, blocks_of, project, write
from attnbook.figures.tokens.figure import round_all
from attnbook.figures.tokens.packing import decoder_of
from attnbook.masking.rules import position_mask
from attnbook.models.vocabulary import SPECIAL
from attnbook.pooling import pool
from attnbook.scoring import scaled_dot_score
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from attnbook.models.transformer.decoder import Decoder

END = "."


class Recomputed:
    """What a decoder computes that reads a whole text again, `(batch, num_tokens)`.

    Args:
        model: in float64.
        tokens: of the text.
        settings: their window and sinks.

    Attributes:
        logits: `(batch, num_tokens, num_symbols)`.
        scores, weights, outputs: of each layer, `(batch, num_heads, num_tokens, …)`.
    """

    @torch.no_grad()
    def __init__(self, model: Decoder, tokens: Tensor, settings: Settings) -> None:
        count = tokens.shape[1]
        positions = torch.arange(count)
        mask = position_mask(
            positions,
            positions,
            (1, count, count),
            window=settings.window or None,
            sinks=settings.sinks,
        )
        x = model.embed(tokens)
        self.scores, self.weights, self.outputs = (list[Tensor]() for _ in range(3))
        for block in blocks_of(model):
            queries, keys, values = project(block, x, positions)
            scores = scaled_dot_score(queries, keys)
            self.scores.append(scores)
            self.weights.append(weigh(scores, mask))
            self.outputs.append(pool(self.weights[-1], values))
            x = block(x, mask=mask)
        self.logits = model.output(model.norm(x))[..., SPECIAL:]


def encode(model: Decoder, text: str) -> Tensor:
    """The tokens of a text, as a batch of one."""
    return torch.tensor([model.vocabulary.encode(text)])


def cut(symbols: list[str]) -> list[str]:
    """What was written, up to a full stop."""
    return symbols[: symbols.index(END) + 1] if END in symbols else symbols


def compute_stored(  # noqa: PLR0913, PLR0917 - a model, texts, how they are read, and a head
    name: str,
    text: str,
    count: int,
    settings: Settings,
    bug: str = "",
    first: str = "",
    focus: tuple[int, int] = (0, 0),
) -> dict[str, Any]:
    """What a page shows until its model is there, with few digits."""
    with torch.device("cpu"):
        return _compute(name, text, count, settings, bug, first, focus)


def _compute(  # noqa: PLR0913, PLR0917 - as above
    name: str,
    text: str,
    count: int,
    settings: Settings,
    bug: str,
    first: str,
    focus: tuple[int, int],
) -> dict[str, Any]:
    model = decoder_of(name)
    symbols = model.vocabulary.symbols

    def written(steps: list[Step]) -> list[str]:
        return cut([symbols[int(step.logits.argmax())] for step in steps])

    prompt, before = encode(model, text), encode(model, first) if first else None
    first_answer = [] if before is None else written(write(model, before, count)[1])
    tokens, steps = write(model, prompt, count, settings, bug, before)
    answer, right = written(steps), written(write(model, prompt, count, settings, "", before)[1])
    whole = Recomputed(model, torch.cat([prompt, tokens], dim=1), settings)
    return {
        "text": text,
        "first": first,
        "first_answer": " ".join(first_answer),
        "without_bug": "" if right == answer else model.vocabulary.join(right),
        "bug": bug,
        "focus": [*focus],
        **settings.as_dict(),
        "symbols": symbols,
        "steps": [
            {
                "query": step.query,
                "position": step.position,
                "slots": [
                    [slot.kind, slot.position, slot.order, slot.token, int(slot.is_stale)]
                    for slot in step.slots
                ],
                "visible": "".join(str(int(each)) for each in step.visible[focus[0]]),
                "token": token,
                "own": _store(step.scores[focus[0], 0], step.outputs[focus[0], 0], focus[1]),
                "expected": symbols[int(whole.logits[0, at].argmax())],
                "again": _store(
                    whole.scores[focus[0]][0, :, at, : at + 1],
                    whole.outputs[focus[0]][0, :, at],
                    focus[1],
                ),
                "differences": differences(step, whole, at),
            }
            for at, (step, token) in enumerate(
                zip(steps, answer, strict=False), prompt.shape[1] - 1
            )
        ],
    }


def _store(scores: Tensor, output: Tensor, head: int) -> dict[str, list[float]]:
    return {"scores": _short(scores[head]), "output": _short(output[head])}


def _short(numbers: Tensor) -> list[float]:
    return round_all(numbers.tolist())


def differences(step: Step, whole: Recomputed, at: int) -> dict[str, float]:
    """The largest difference of each kind of numbers from recomputing, over all heads.

    Args:
        at: the number of the step's last token in the text.
    """
    orders = torch.tensor(
        [-1 if slot.is_stale or slot.order > at else slot.order for slot in step.slots]
    )
    held = orders >= 0
    most = {"scores": 0.0, "weights": 0.0, "outputs": 0.0}
    for layer, scores in enumerate(whole.scores):
        right = {
            "scores": scores[0, :, at, orders],
            "weights": torch.where(held, whole.weights[layer][0, :, at, orders], 0.0),
            "outputs": whole.outputs[layer][0, :, at],
        }
        seen = {
            "scores": held & step.visible[layer],
            "weights": torch.ones_like(held),
            "outputs": torch.ones(right["outputs"].shape[-1], dtype=torch.bool),
        }
        for name, numbers in right.items():
            apart = (getattr(step, name)[layer, 0] - numbers).abs()[:, seen[name]]
            most[name] = max(most[name], float(apart.amax()) if apart.numel() else 0.0)
    most["logits"] = float((step.logits[0] - whole.logits[0, at]).abs().max())
    return {name: round_all([number])[0] for name, number in most.items()}
