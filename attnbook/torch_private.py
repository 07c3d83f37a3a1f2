"""Everything that this package asks of torch under names that torch keeps private.

torch may rename them in any version. So each is looked up here, once, and where it is missing
something public answers instead: as right, but slower or stricter. What cannot be known is assumed
to be the case: then layers run their formulas, and read no numbers. `NAMES` lists all of them.
"""

from __future__ import annotations

import pkgutil
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from collections.abc import Callable

# Each private name, and what happens where this torch does not have it.
NAMES = {
    "torch._C:_get_tracing_state": "torch.jit.is_tracing answers",
    "torch._C:_are_functorch_transforms_active": "layers run their formulas",
    "torch._C._functorch:maybe_current_level": "the stack of transforms answers",
    "torch._C._functorch:get_interpreter_stack": "no weights can be read within torch.func",
    "torch._C._functorch:TransformType": "no weights can be read within torch.func",
    "torch._C._functorch:is_batchedtensor": "a tensor without storage counts as a batch",
    "torch._C._functorch:is_legacy_batchedtensor": "a tensor without storage counts as a batch",
    "torch._C._functorch:is_functorch_wrapped_tensor": "one without storage counts as wrapped",
    "torch._C._functorch:maybe_get_bdim": "calls within torch.func store no weights",
    "torch._C._functorch:get_unwrapped": "calls within torch.func store no weights",
    "torch._C:DisableTorchFunctionSubclass": "the judge refuses subclasses of Tensor",
    "torch._subclasses.fake_tensor:FakeTensor": "numbers of subclasses of Tensor are not read",
    "torch.utils._python_dispatch:is_in_torch_dispatch_mode": "get_proxy_mode answers",
    "torch.utils._python_dispatch:TorchDispatchMode": "numbers_written refuses",
    "torch.fx.experimental.proxy_tensor:get_proxy_mode": "any dispatch mode counts as recording",
    "torch.autograd.forward_ad:_current_level": "layers run their formulas",
    "torch.nn.modules.module:_has_any_global_hook": "layers run their formulas",
    "torch.nn.modules.module:_global_forward_hooks": "the judge does not restore them",
    "torch.nn.modules.module:_global_forward_pre_hooks": "the judge does not restore them",
    "torch.nn.modules.module:_global_backward_hooks": "the judge does not restore them",
    "torch.nn.modules.module:_global_backward_pre_hooks": "the judge does not restore them",
    "torch.nn:TransformerEncoderLayer._sa_block": "a subclass of the layer is not copied",
    "torch.nn:TransformerEncoderLayer._ff_block": "a subclass of the layer is not copied",
    "torch._tensor_str:PRINT_OPTS": "the judge does not restore them",
    "torch._inductor.cpp_builder:get_cpp_compiler": "compiled layers score in blocks",
    "torch:ops.aten._softmax_backward_data": "its formula answers",
    "torch:ops.aten.add.Tensor._schema": "numbers_written refuses",
}
# Attributes of every module. Without one of them any module may have hooks: layers run their
# formulas, and nothing is copied from or to torch's layers.
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def find(name: str) -> Any:  # noqa: ANN401 - whatever torch has there
    """What torch has under one of `NAMES`; None where it has none."""
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return None


def missing_names() -> list[str]:
    """The names of this module that torch does not have."""
    hooks = [name for name in HOOKS if not hasattr(nn.Module(), name)]
    return [name for name in NAMES if find(name) is None] + hooks


# Programs that are recorded

_tracing_state: Callable[[], object] | None = find("torch._C:_get_tracing_state")
_is_in_mode: Callable[[], bool] | None = find(
    "torch.utils._python_dispatch:is_in_torch_dispatch_mode"
)
_proxy_mode: Callable[[], object] | None = find("torch.fx.experimental.proxy_tensor:get_proxy_mode")
_FakeTensor: type | None = find("torch._subclasses.fake_tensor:FakeTensor")


def is_traced() -> bool:
    """Whether `torch.jit.trace` records what is done."""
    if _tracing_state is not None:
        return _tracing_state() is not None
    return bool(torch.jit.is_tracing())  # type: ignore[attr-defined, no-untyped-call]  # torch's


def is_recording() -> bool:
    """Whether `torch.jit.trace` or `make_fx` records this: what is read becomes a constant."""
    if torch.compiler.is_compiling():
        return False
    # Whether there is any mode is asked because it is faster.
    is_in_mode = _is_in_mode is None or _is_in_mode()
    return (is_in_mode and (_proxy_mode is None or _proxy_mode() is not None)) or is_traced()


def is_fake(tensor: Tensor) -> bool:
    """Whether it is a stand-in of torch's compilers, which has no numbers."""
    if _FakeTensor is None:
        return type(tensor) not in (Tensor, nn.Parameter)
    return isinstance(tensor, _FakeTensor)


# Transforms

_level: Callable[[], int | None] | None = find("torch._C._functorch:maybe_current_level")
_levels: Callable[[], list[Any]] | None = find("torch._C._functorch:get_interpreter_stack")
_Transforms: Any = find("torch._C._functorch:TransformType")
_is_batch: Callable[[Tensor], bool] | None = find("torch._C._functorch:is_batchedtensor")
_is_old_batch: Callable[[Tensor], bool] | None = find("torch._C._functorch:is_legacy_batchedtensor")
_axis: Callable[[Tensor], int] | None = find("torch._C._functorch:maybe_get_bdim")
_unwrapped: Callable[[Tensor], Tensor] | None = find("torch._C._functorch:get_unwrapped")
_SHOWS_LEVEL = find("torch.autograd.forward_ad:_current_level") is not None


def _yes() -> bool:
    return True


is_transformed: Callable[[], bool] = find("torch._C:_are_functorch_transforms_active") or _yes
"""Whether a transform of `torch.func` acts."""


def is_differentiated_forward() -> bool:
    """Whether a level of forward-mode differentiation is open."""
    return not _SHOWS_LEVEL or forward_ad._current_level >= 0


def is_mapping() -> bool:
    """Whether this runs within `torch.func.vmap`, for one of many samples."""
    if torch.compiler.is_compiling() or (_level is not None and _level() is None):
        return False
    if _levels is None or _Transforms is None:
        return _level is not None
    return any(level.key() == _Transforms.Vmap for level in _levels() or ())


def is_mapped(grad: Tensor) -> bool:
    """Whether a gradient is a batch of gradients, as for a vectorised Jacobian."""
    if _is_batch is None or _is_old_batch is None:
        return _has_no_storage(grad)
    return _is_batch(grad) or _is_old_batch(grad)


def _has_no_storage(tensor: Tensor) -> bool:
    try:
        tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return True
    return False


is_wrapped: Callable[[Tensor], bool] = (
    find("torch._C._functorch:is_functorch_wrapped_tensor") or _has_no_storage
)
"""Whether a tensor belongs to a transform of `torch.func`."""


def unwrap(tensor: Tensor) -> Tensor | None:
    """Remove the wrappers of `torch.func` from a tensor, within its transforms or after.

    Axes that `vmap` maps over are axes again: they come first, the outermost before all.
    In a program that is being compiled, wrappers stay. None if they cannot be removed.
    """
    if torch.compiler.is_compiling():
        return tensor
    while is_wrapped(tensor):
        if _axis is None or _unwrapped is None:
            return None
        mapped = _axis(tensor)
        tensor = _unwrapped(tensor)
        if mapped > 0:
            tensor = tensor.movedim(mapped, 0)
    return tensor


# Modules

_has_global_hook: Callable[[], bool] = find("torch.nn.modules.module:_has_any_global_hook") or _yes
_SHOWS_HOOKS = all(hasattr(nn.Module(), name) for name in HOOKS)
ENCODER_STEPS = ("_sa_block", "_ff_block")
"""Methods of `nn.TransformerEncoderLayer` that its forward calls."""


def is_untouched(module: nn.Module, *, global_hooks: bool = True) -> bool:
    """Whether calling a module runs only its class's forward: no hook, no forward of its own.

    Args:
        global_hooks: whether hooks of all modules count, too.
    """
    if not _SHOWS_HOOKS or (global_hooks and _has_global_hook()):
        return False
    has_hooks = (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )
    return not has_hooks and "forward" not in vars(module)


def may_change_arguments(module: nn.Module) -> bool:
    """Whether a hook of a module may change what it is called with."""
    return not _SHOWS_HOOKS or bool(module._forward_pre_hooks)


def without_compiler(layer: Any) -> Any:  # noqa: ANN401 - a layer, or any function
    """The layer that `torch.compile` was called with; others as they are."""
    return getattr(layer, "_orig_mod", layer)


@cache
def has_cpp_compiler() -> bool:
    """Whether torch finds a C++ compiler. The first call takes time."""
    get_compiler = find("torch._inductor.cpp_builder:get_cpp_compiler")
    try:
        return get_compiler is not None and bool(get_compiler())
    except (OSError, RuntimeError):  # none was found, or CXX names no program
        return False


# Operations

_softmax_gradient: Callable[..., Tensor] | None = find("torch:ops.aten._softmax_backward_data")
DispatchMode: Any = find("torch.utils._python_dispatch:TorchDispatchMode")
"""The class whose subclasses see every operation; None where torch does not have it."""
SHOWS_OPERATIONS = (
    DispatchMode is not None and find("torch:ops.aten.add.Tensor._schema") is not None
)


def softmax_gradient(grad: Tensor, weights: Tensor) -> Tensor:
    """The gradient of scores, given that of their weights, along the last axis."""
    if _softmax_gradient is not None:
        return _softmax_gradient(grad, weights, -1, weights.dtype)
    wide = torch.promote_types(weights.dtype, torch.float)
    grad, weights = grad.to(wide), weights.to(wide)
    return weights * (grad - (weights * grad).sum(dim=-1, keepdim=True))


def schema_of(operation: Any) -> Any:  # noqa: ANN401 - torch has no types for them
    """The arguments of an operation, and which of them it fills."""
    return operation._schema


# The judge's

_disable: Callable[[], AbstractContextManager[None]] | None = find(
    "torch._C:DisableTorchFunctionSubclass"
)
IGNORES_SUBCLASSES = _disable is not None
"""Whether `without_subclasses` has any effect."""
without_subclasses: Callable[[], AbstractContextManager[None]] = _disable or nullcontext
"""A block in which no subclass of `Tensor` changes what an attribute or a function gives."""


_print_options: Any = find("torch._tensor_str:PRINT_OPTS")
PRINT_OPTIONS: dict[str, Any] = {} if _print_options is None else vars(_print_options)
"""How tensors are printed; `torch.set_printoptions` changes it."""
GLOBAL_HOOKS: list[dict[int, Any]] = [
    hooks for name in NAMES if ":_global_" in name and (hooks := find(name)) is not None
]
"""The hooks of all modules."""
