"""What attention with a cache must compute: loops in float64 that keep all tokens of each row.

Nothing of attnbook is used here. Each new token is compared with the whole history of its row.
What a cache may forget is counted next to it, so that refusals can be predicted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Rules:
    """The arguments of a cache that decide what is seen, stored and refused."""

    window: int | None = None
    sinks: int = 0
    max_rewind: int = 0
    max_length: int | None = None


class Place(NamedTuple):
    """Where a real token is: its index in the step, its position and its document."""

    index: int
    position: int
    document: int


@dataclass
class Token:
    position: int
    document: int
    # For each layer and each head of keys, as they are compared with queries.
    keys: list[list[list[float]]] = field(default_factory=list)
    values: list[list[list[float]]] = field(default_factory=list)
    is_evicted: bool = False


class Weights(NamedTuple):
    """One layer of attention: the weights and biases of its four projections, as lists."""

    parameters: dict[str, Any]
    num_heads: int
    num_kv_heads: int
    has_positions: bool

    def project(self, name, vector):
        rows, bias = self.parameters[f"{name}.weight"], self.parameters[f"{name}.bias"]
        return [
            sum(a * b for a, b in zip(row, vector, strict=True)) + shift
            for row, shift in zip(rows, bias, strict=True)
        ]

    def heads(self, name, vector, position):
        """Project, cut into heads, and rotate pairs of neighbours by their position."""
        number = self.num_heads if name == "W_q" else self.num_kv_heads
        joined = self.project(name, vector)
        size = len(joined) // number
        heads = [joined[i * size : (i + 1) * size] for i in range(number)]
        if self.has_positions and name != "W_v":
            heads = [rotate(head, position) for head in heads]
        return heads


def rotate(head, position):
    turned = []
    for i in range(0, len(head), 2):
        angle = position / 10_000 ** (i / len(head))
        first, second = head[i : i + 2]
        turned.append(first * math.cos(angle) - second * math.sin(angle))
        turned.append(first * math.sin(angle) + second * math.cos(angle))
    return turned


def attend(query, keys, values):
    scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys]
    exponentials = [math.exp((score - max(scores)) / math.sqrt(len(query))) for score in scores]
    total = sum(exponentials)
    return [
        sum(exponential * value[i] for exponential, value in zip(exponentials, values, strict=True))
        / total
        for i in range(len(values[0]))
    ]


class Oracle:
    def __init__(self, layers: list[Weights], batch: int, rules: Rules) -> None:
        self.layers, self.rules = layers, rules
        self.rows: list[list[Token]] = [[] for _ in range(batch)]

    # What the cache says of itself

    def stored(self, row):
        return [token for token in self.rows[row] if not token.is_evicted]

    def next_positions(self):
        """One more than the highest position in the document of each row's last token."""
        return [
            max((it.position for it in tokens if it.document == tokens[-1].document), default=-1)
            + 1
            for tokens in self.rows
        ]

    # A step

    def place(self, real, positions=None, documents=None):
        """Return the real tokens of each row, each with its position and its document."""
        places = []
        for row, start in enumerate(self.next_positions()):
            last_document = self.rows[row][-1].document if self.rows[row] else 0
            indices = [i for i, is_real in enumerate(real[row]) if is_real]
            at = range(start, start + len(indices))
            if positions is not None:
                at = [positions[row][i] for i in indices]
            of = [last_document if documents is None else documents[row][i] for i in indices]
            places.append([Place(*it) for it in zip(indices, at, of, strict=True)])
        return places

    def refuses(self, places):
        """Whether a step must be refused."""
        for row, new in enumerate(places):
            stored = len(self.stored(row))
            if self.rules.max_length is not None and stored + len(new) > self.rules.max_length:
                return True
            for place in new:
                seen_by = [it for it in self.rows[row] if it.document == place.document]
                if place.position < 0 or any(it.position >= place.position for it in seen_by):
                    return True
        return False

    def has_lost(self, row, position, document):
        """Whether evicted keys are too near to this position of the document."""
        evicted = [token for token in self.rows[row] if token.is_evicted]
        return any(
            token.document == document and position < token.position + self.rules.window
            for token in evicted
        )

    def step(self, places, inputs):
        """Append the tokens, and return the output of each, by its row and index."""
        outputs = {}
        for row, new in enumerate(places):
            history = self.rows[row]
            tokens = [Token(place.position, place.document) for place in new]
            # So what was computed before is what the whole text gives.
            assert not any(self.sees(early, late) for early in history for late in tokens)
            history.extend(tokens)
            vectors = [inputs[row][place.index] for place in new]
            for number, layer in enumerate(self.layers):
                for token, vector in zip(tokens, vectors, strict=True):
                    token.keys.append(layer.heads("W_k", vector, token.position))
                    token.values.append(layer.heads("W_v", vector, token.position))
                vectors = [
                    self.attend(layer, number, history, token, vector)
                    for token, vector in zip(tokens, vectors, strict=True)
                ]
            outputs |= {
                (row, place.index): vector for place, vector in zip(new, vectors, strict=True)
            }
            self.evict(history)
        return outputs

    def attend(self, layer, number, history, token, vector):
        seen = [other for other in history if self.sees(token, other)]
        assert not any(other.is_evicted for other in seen)
        queries = layer.heads("W_q", vector, token.position)
        shared = layer.num_heads // layer.num_kv_heads
        pooled = []
        for head, query in enumerate(queries):
            keys = [other.keys[number][head // shared] for other in seen]
            values = [other.values[number][head // shared] for other in seen]
            pooled += attend(query, keys, values)
        return layer.project("W_o", pooled)

    def sees(self, query, key):
        if key.document != query.document or key.position > query.position:
            return False
        window = self.rules.window
        is_near = window is None or key.position > query.position - window
        return is_near or key.position < self.rules.sinks

    def evict(self, history):
        """Mark what no later token can see, even after `max_rewind` tokens are taken back."""
        window = self.rules.window
        stored = [token for token in history if not token.is_evicted]
        if window is None or len({token.document for token in stored}) != 1:
            return
        recent = self.rules.max_rewind + 1
        next_position = min(token.position for token in history[-recent:]) + 1
        for token in history[:-recent]:
            is_seen = token.position > next_position - window or token.position < self.rules.sinks
            token.is_evicted = token.is_evicted or not is_seen

    # Other changes

    def refuses_rewind(self, counts):
        for row, (tokens, count) in enumerate(zip(self.rows, counts, strict=True)):
            if not 0 <= count <= len(tokens):
                return True
            left = tokens[: len(tokens) - count]
            if count == 0 or not any(token.is_evicted for token in tokens):
                continue
            if not left or left[-1].is_evicted:
                return True
            if any(token.is_evicted for token in tokens[len(left) :]):
                return True
            document = left[-1].document
            highest = max(token.position for token in left if token.document == document)
            if self.has_lost(row, highest + 1, document):
                return True
        return False

    def rewind(self, counts):
        for tokens, count in zip(self.rows, counts, strict=True):
            del tokens[len(tokens) - count :]

    def reorder(self, rows):
        self.rows = [[replace(token) for token in self.rows[row]] for row in rows]
