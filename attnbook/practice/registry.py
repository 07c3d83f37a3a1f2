"""All tasks with their bugs, in the order of the book."""

from __future__ import annotations

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
