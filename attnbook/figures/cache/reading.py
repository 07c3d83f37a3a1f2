"""What the cache figure stores: each step from the cache, next to recomputing it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from attnbook.figures.cache.bugs import Settings
from attnbook.figures.cache.writing import Step, write
from attnbook.figures.tokens.figure import round_all
from attnbook.figures.tokens.packing import decoder_of
from attnbook.heads import split_heads
from attnbook.masking.rules import position_mask
from attnbook.models.vocabulary import SPECIAL
from attnbook.pooling import pool
from attnbook.scoring import scaled_dot_score
from attnbook.weighting import weigh

if TYPE_CHECKING:
    from torch import Tensor

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
        scores, outputs: of each layer, `(batch, num_heads, num_tokens, …)`.
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
        x, self.scores, self.outputs = model.embed(tokens), [], []
        for block, heads in zip(model.blocks, model.attentions, strict=True):
            vectors = block.attention_norm(x)
            queries, keys, values = (
                split_heads(of(vectors), heads.num_heads) for of in (heads.W_q, heads.W_k, heads.W_v)
            )
            if heads.rotary:
                queries, keys = (heads.rotary(each, positions) for each in (queries, keys))
            scores = scaled_dot_score(queries, keys)
            self.scores.append(scores)
            self.outputs.append(pool(weigh(scores, mask), values))
            x = block(x, mask=mask)
        self.logits = model.output(model.norm(x))[..., SPECIAL:]


def encode(model: Decoder, text: str) -> Tensor:
    """The tokens of a text, as a batch of one."""
    return torch.tensor([model.vocabulary.encode(text)])


def cut(symbols: list[str]) -> list[str]:
    """What was written, up to a full stop."""
    return symbols[: symbols.index(END) + 1] if END in symbols else symbols


def compute_stored(  # noqa: PLR0913 - a model, texts, and how they are read
    name: str, text: str, count: int, settings: Settings, bug: str = "", first: str = ""
) -> dict[str, Any]:
    """What a page shows until its model is there, with few digits."""
    model = decoder_of(name)
    symbols = model.vocabulary.symbols

    def written(steps: list[Step]) -> list[str]:
        return cut([symbols[int(step.logits.argmax())] for step in steps])

    prompt, before = encode(model, text), encode(model, first) if first else None
    first_answer = written(write(model, before, count)[1]) if before is not None else []
    tokens, steps = write(model, prompt, count, settings, bug, before)
    answer = written(steps)
    whole = Recomputed(model, torch.cat([prompt, tokens], dim=1), settings)
    return {
        "text": text,
        "first": first,
        "first_answer": " ".join(first_answer),
        "bug": bug,
        **settings._asdict(),
        "symbols": symbols,
        "steps": [
            _store_step(step, whole, prompt.shape[1] - 1 + k, symbols)
            for k, (step, _) in enumerate(zip(steps, answer, strict=False))
        ],
    }


def _store_step(step: Step, whole: Recomputed, at: int, symbols: list[str]) -> dict[str, Any]:
    logits = whole.logits[0, at]
    return {
        "position": step.position,
        "slots": [
            {
                "kind": slot.kind,
                "position": slot.position,
                "order": slot.order,
                "step": slot.step,
                "token": slot.token,
                "isStale": slot.is_stale,
            }
            for slot in step.slots
        ],
        "layers": [
            {"visible": visible.tolist(), "heads": _store_heads(scores[0], outputs[0])}
            for visible, scores, outputs in zip(
                step.visible, step.scores, step.outputs, strict=True
            )
        ],
        "token": symbols[int(step.logits.argmax())],
        "recomputed": {
            "token": symbols[int(logits.argmax())],
            "layers": [
                _store_heads(scores[0, :, at, : at + 1], outputs[0, :, at])
                for scores, outputs in zip(whole.scores, whole.outputs, strict=True)
            ],
        },
        "difference": round_all([float((step.logits[0] - logits).abs().max())])[0],
    }


def _store_heads(scores: Tensor, outputs: Tensor) -> list[dict[str, list[float]]]:
    return [
        {"scores": round_all(row), "output": round_all(output)}
        for row, output in zip(scores.tolist(), outputs.tolist(), strict=True)
    ]
