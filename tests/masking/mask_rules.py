"""Masks for tests: each rule on its own, and random joins; a seed always gives the same join."""

import random

from attnbook.masking.interop import MaskRules

TABLE = (
    (True, False, True, True, False, True, False),
    (False,) * 7,  # sees nothing
    (True,) * 7,
    (False, False, True, False, False, False, True),
    (True, True, False, False, True, True, False),
)

ALONE = {
    "no rule": MaskRules(5, 7),
    "valid_len": MaskRules(5, 7, valid_len=3),
    "valid_len of 0": MaskRules(5, 7, valid_len=0),
    "start": MaskRules(5, 7, start=2),
    "start past the end": MaskRules(5, 7, start=7),
    "causal": MaskRules(7, 7, causal="last"),
    "causal, fewer queries": MaskRules(5, 7, causal="last"),
    "causal, one query": MaskRules(1, 7, causal="last"),
    "causal from the first key": MaskRules(7, 7, causal="first"),
    "causal from the first key, fewer queries": MaskRules(5, 7, causal="first"),
    "causal from the first key, more queries": MaskRules(11, 7, causal="first"),
    "window": MaskRules(5, 7, window=3),
    "ahead": MaskRules(5, 7, ahead=1),
    "window to both sides": MaskRules(7, 7, window=3, ahead=1),
    "its own key": MaskRules(5, 7, window=1, ahead=0),
    "documents": MaskRules(5, 7, documents=(4, 4, 4, 1, 1, 9, 9)),
    "prefix": MaskRules(7, 7, prefix=3),
    "prefix, fewer queries": MaskRules(5, 7, prefix=6),
    "table": MaskRules(5, 7, table=TABLE),
}


def random_rules(seed):
    """Three to nine keys, no more queries than keys, and at least one rule."""
    rng = random.Random(seed)  # noqa: S311 - no secret
    num_keys = rng.randint(3, 9)
    num_queries = num_keys if rng.random() < 0.4 else rng.randint(1, num_keys)
    makers = {
        "valid_len": lambda: max(rng.randint(0, num_keys), rng.randint(0, num_keys)),
        "start": lambda: min(rng.randint(0, num_keys), rng.randint(0, num_keys)),
        "order": lambda: rng.choice(["last", "last", "first", "prefix"]),
        "window": lambda: rng.randint(1, 5),
        "ahead": lambda: rng.randint(0, 4),
        "documents": lambda: random_documents(rng, num_keys),
        "table": lambda: random_table(rng, num_queries, num_keys),
    }
    chosen = [name for name in makers if rng.random() < 0.35] or [rng.choice([*makers])]
    rules = {name: makers[name]() for name in chosen}
    order = rules.pop("order", None)
    if order == "prefix":
        rules["prefix"] = rng.randint(0, num_keys)
    elif order:
        rules["causal"] = order
    return MaskRules(num_queries, num_keys, **rules)


def random_documents(rng, num_keys):
    """Most are packed one after the other; the same number later is the same document."""
    numbers = [rng.randint(0, 3) for _ in range(num_keys)]
    return tuple(numbers if rng.random() < 0.2 else sorted(numbers))


def random_table(rng, num_queries, num_keys):
    """Four of five may be seen."""
    return tuple(tuple(rng.random() < 0.8 for _ in range(num_keys)) for _ in range(num_queries))


ONE_ROW = MaskRules(7, 7, table=TABLE[:1])  # the mask figure has none
JOINS = [random_rules(seed) for seed in range(200)]
EVERY = [*ALONE.values(), ONE_ROW, *JOINS]
