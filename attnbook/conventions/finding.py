"""How to call an attention function: its arguments are read, its layout is found by trying."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks import describe_value
from attnbook.conventions.caller import (
    LAYOUTS,
    MASKS,
    NAMES,
    TENSORS,
    Caller,
    Function,
    RefusedError,
    name_of,
    random_inputs,
)
from attnbook.conventions.libraries import flex, own_layer, torch_layer, transformers_interface
from attnbook.messages import Messages
from attnbook.multihead import MultiHeadAttention
from attnbook.torch_private import without_compiler

TEXT = Messages(__file__)
DTYPES = (torch.float32, torch.float64, torch.bfloat16)  # float32 is what people use


def find_caller(function: Function, device: torch.device | str = "cpu") -> Caller:
    """Find out how to call an attention function.

    Raises:
        TypeError: it cannot be called, or no layout and no dtype gives one output per query.
    """
    if not callable(function):
        raise TypeError(TEXT("not_callable", value=describe_value(function)))
    plain = without_compiler(function)
    if isinstance(plain, nn.MultiheadAttention):
        return _with_mask_axes(torch_layer(plain, device))
    if type(plain) is MultiHeadAttention:
        return _with_mask_axes(own_layer(plain, device))
    if isinstance(function, nn.Module):
        function = copy.deepcopy(function).to(device).eval()
    parameters = read_parameters(function)
    if parameters and "module" in parameters:
        candidates: Iterator[Caller] = iter([transformers_interface(function, parameters)])
    elif parameters and {"score_mod", "block_mask"} <= {*parameters}:
        candidates = iter([flex(function)])
    else:
        candidates = _plain_callers(function, parameters)
    return _choose([replace(it, device=device) for it in candidates])


def read_parameters(function: Function) -> dict[str, bool] | None:
    """The arguments that a function takes by name, and whether each needs a value; None: unknown.

    A function that is written in C has them in the first line of its documentation.
    """
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        parameters = inspect.signature(called).parameters.values()
    except (TypeError, ValueError):
        found = re.search(r"\(([^()]*)\)", getattr(function, "__doc__", None) or "")
        parts = [part.strip() for part in found[1].split(",")] if found else []
        names = {part.split("=")[0]: "=" not in part for part in parts if part != "*"}
        return names if all(name.isidentifier() for name in names) and names else None
    by_name = [it for it in parameters if it.kind in (it.POSITIONAL_OR_KEYWORD, it.KEYWORD_ONLY)]
    return {it.name: it.default is it.empty for it in by_name}


def _plain_callers(function: Function, parameters: dict[str, bool] | None) -> Iterator[Caller]:
    """Each layout, with what the function requires."""
    if parameters is None:  # whatever is refused later is no argument of it
        parameters = {}
    names = {
        option: name
        for option, synonyms in NAMES.items()
        if (name := next((each for each in synonyms if each in parameters), None))
    }
    required = [
        name for option, name in names.items() if option not in TENSORS and parameters[name]
    ]
    shown = f"{name_of(function)}({', '.join(parameters) or '…'})"
    for layout in LAYOUTS:
        yield Caller(function, layout, names, shown, dict.fromkeys(required))


def _choose(candidates: list[Caller]) -> Caller:
    """The first caller that works, with the most options that work."""
    best, most, errors = None, -1, {}
    for candidate in candidates:
        try:
            caller = _with_mask_axes(_with_dtype(candidate))
        except RefusedError as refused:
            errors[candidate.layout] = refused
            continue
        works = sum(_works(caller, option) for option in ("lengths", "padding", "causal"))
        works += len(caller.mask_axes)
        if works > most:
            best, most = caller, works
    if best is None:
        raise TypeError(
            TEXT("not_found", errors="; ".join(f"{axes}: {it}" for axes, it in errors.items()))
        )
    return best


def _with_dtype(caller: Caller) -> Caller:
    """The caller with a dtype and sizes that the function takes.

    Heads must not mix, or the axis of heads is another one.
    """
    own: set[int] = set()  # the sizes that a layer has
    if isinstance(caller.function, nn.Module):
        own = {parameter.shape[-1] for parameter in caller.function.parameters() if parameter.dim()}
    problems = []
    for dtype, sizes in product(DTYPES, [(16, 64), *((size,) for size in sorted(own))]):
        ready = replace(caller.to(dtype), sizes=sizes)
        for num_keys in (5, 4):
            try:
                return _without_dropout(ready, random_inputs(ready, num_keys=num_keys))
            except RefusedError as refused:
                problems.append(refused)
    # Ours say more than what a function raises for a size that it does not take.
    raise next((it for it in problems if it.__cause__ is None), problems[0])


def _without_dropout(caller: Caller, inputs: tuple[Tensor, Tensor, Tensor]) -> Caller:
    """The caller, if it pools values: then it mixes neither heads nor features.

    Raises:
        RefusedError: it does, or its output differs from call to call.
    """
    output = caller(*inputs)
    if not _is_same(output, caller(*inputs)):
        if "dropout" not in caller.names or "dropout" in caller.defaults:
            raise RefusedError(TEXT("random"))
        off = {caller.names["dropout"]: 0.0}
        return _without_dropout(replace(caller, defaults={**caller.defaults, **off}), inputs)
    queries, keys, values = inputs
    if caller.has_heads:
        values[:, 0] = 0
        without = caller(queries, keys, values)
        if not _is_same(output[:, 1:], without[:, 1:]):
            raise RefusedError(TEXT("heads_mix"))
        output = without
    values[..., 0] = 0
    if not _is_same(output[..., 1:], caller(queries, keys, values)[..., 1:]):
        raise RefusedError(TEXT("features_mix"))
    return caller


def _is_same(one: Tensor, other: Tensor) -> bool:
    return torch.equal(one.nan_to_num(), other.nan_to_num())


def _with_mask_axes(caller: Caller) -> Caller:
    """Find the axes of masks: the first with an effect, else the first that are not refused."""
    found: dict[tuple[str, bool], str] = {}
    problem = ""
    for option, is_boolean in (("mask", True), ("mask", False), ("bias", False)):
        if option not in caller.names:
            continue
        for num_keys in (5, 4):
            inputs = random_inputs(caller, num_keys=num_keys)
            mask = ~torch.eye(4, num_keys, dtype=torch.bool, device=caller.device)
            mask = mask.expand(*inputs[0].shape[:2], -1, -1)
            if not is_boolean:
                mask = mask.to(caller.dtype)
            accepted = []
            for axes in MASKS:
                trial = replace(caller, mask_axes={(option, is_boolean): axes})
                try:
                    output, without = trial(*inputs, **{option: mask}), caller(*inputs)
                except RefusedError as refused:
                    problem = problem or str(refused)
                    continue
                accepted.append((torch.allclose(output, without, equal_nan=True), axes))
            if accepted:
                found[option, is_boolean] = min(accepted, key=lambda it: it[0])[1]
                break
        if option == "mask" and ("mask", False) in found:
            break
    return replace(caller, mask_axes=found, float_problem=problem)


def _works(caller: Caller, option: str) -> bool:
    if option not in caller.names:
        return False
    inputs = random_inputs(caller)
    batch = len(inputs[0])
    values: dict[str, Any] = {
        "lengths": torch.full((batch,), 2, device=caller.device),
        "padding": torch.ones(batch, 4, dtype=torch.bool, device=caller.device),
        "causal": True,
    }
    try:
        caller(*inputs, **{option: values[option]})
    except RefusedError:
        return False
    return True
