"""All tasks with their bugs, in the order of the book."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attnbook.practice.bugs import (
    additive_layer,
    additive_score,
    causal_attention,
    causal_mask,
    checked_lengths,
    decoding_step,
    document_mask,
    dot_product_layer,
    grouped_heads,
    kernel_pool,
    left_padding,
    length_mask,
    masked_loss,
    masked_softmax,
    merge_heads,
    multi_head_attention,
    online_softmax,
    pool,
    rotary_encoding,
    scaled_dot_attention,
    sinusoidal_encoding,
    softmax,
    split_heads,
    window_mask,
)
from attnbook.practice.task import Task

TASKS: dict[str, Task] = {
    module.task.name: module.task
    for module in (
        softmax,
        pool,
        kernel_pool,
        additive_score,
        length_mask,
        checked_lengths,
        masked_softmax,
        left_padding,
        scaled_dot_attention,
        dot_product_layer,
        additive_layer,
        decoding_step,
        masked_loss,
        split_heads,
        merge_heads,
        multi_head_attention,
        grouped_heads,
        causal_mask,
        causal_attention,
        window_mask,
        document_mask,
        sinusoidal_encoding,
        rotary_encoding,
        online_softmax,
    )
}


def find_task(name: str) -> Task:
    """Give a task by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {name!r}")
    return TASKS[name]


def slips(task: str, arguments: Sequence[Any], *names: str) -> dict[str, Any]:
    """What known bugs give for these arguments, by a sentence about each: for a `Prediction`.

    Raises:
        ValueError: there is no such task, or it has no such bug.
    """
    known = find_task(task).bugs
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"bugs of {task} are {', '.join(known)}, got {unknown[0]!r}")
    return {
        f"This is what you get when {known[name].sentence}": known[name].function(*arguments)
        for name in names
    }
