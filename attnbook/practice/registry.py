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
    decoding_mask,
    decoding_step,
    document_mask,
    dot_product_layer,
    float_mask,
    grouped_heads,
    induction_score,
    kernel_pool,
    left_padding,
    length_mask,
    masked_attention,
    masked_loss,
    masked_softmax,
    masks_for_mha,
    merge_heads,
    multi_head_attention,
    online_softmax,
    pool,
    prefix_mask,
    rotary_encoding,
    scaled_dot_attention,
    sinusoidal_encoding,
    softmax,
    split_heads,
    transformer_block,
    two_sided_window_mask,
    window_mask,
)
from attnbook.practice.list_task import ListTask
from attnbook.practice.lists import additive_score as additive_score_by_hand
from attnbook.practice.lists import (
    attention,
    causal_rule,
    layer_norm,
    look_up,
    packed_rule,
    previous_score,
    score,
    window_rule,
)
from attnbook.practice.lists import decoding_step as decoding_step_by_hand
from attnbook.practice.lists import kernel_pool as kernel_pool_by_hand
from attnbook.practice.lists import masked_softmax as masked_softmax_by_hand
from attnbook.practice.lists import online_softmax as online_softmax_by_hand
from attnbook.practice.lists import pool as pool_by_hand
from attnbook.practice.lists import sinusoidal_encoding as sinusoidal_encoding_by_hand
from attnbook.practice.lists import softmax as softmax_by_hand
from attnbook.practice.lists import split_heads as split_heads_by_hand
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
        two_sided_window_mask,
        document_mask,
        prefix_mask,
        decoding_mask,
        float_mask,
        masks_for_mha,
        masked_attention,
        sinusoidal_encoding,
        rotary_encoding,
        transformer_block,
        induction_score,
        online_softmax,
    )
}

LIST_TASKS: dict[str, ListTask] = {
    module.task.name: module.task
    for module in (
        look_up,
        kernel_pool_by_hand,
        softmax_by_hand,
        masked_softmax_by_hand,
        pool_by_hand,
        attention,
        score,
        additive_score_by_hand,
        decoding_step_by_hand,
        split_heads_by_hand,
        causal_rule,
        window_rule,
        packed_rule,
        sinusoidal_encoding_by_hand,
        layer_norm,
        previous_score,
        online_softmax_by_hand,
    )
}


def find_task(name: str) -> Task:
    """Give a task by its name.

    Raises:
        ValueError: there is none of that name.
    """
    known = {**TASKS, **LIST_TASKS}
    if name not in known:
        raise ValueError(f"task must be one of {', '.join(known)}, got {name!r}")
    return known[name]


def find_list_task(name: str) -> ListTask:
    """Give a task on plain lists by its name.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in LIST_TASKS:
        raise ValueError(f"task must be one of {', '.join(LIST_TASKS)}, got {name!r}")
    return LIST_TASKS[name]


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
