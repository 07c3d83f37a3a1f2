"""The memory that a program needs while it runs, in addition to the memory before.

`measure_memory` uses torch's allocator: the profiler reports each block that is allocated or
freed, and the highest sum counts. That is exact, does not depend on earlier programs or on the
system's pages, and includes every tensor, also those inside compiled kernels. It misses scratch
memory of libraries, and does not subtract blocks that existed before and are freed meanwhile, such
as the weights that a layer has stored in its last call.

`resident` misses nothing: it is the growth of the process's peak, as the system counts it. It
needs a new process (see `RETURNING`) and is exact to a mebibyte or two, so it checks
`measure_memory` at large sizes.
"""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import torch

from attnbook.timing import Program

# Each block above 64 KiB is returned to the system when it is freed, so that none is reused.
RETURNING = "glibc.malloc.mmap_threshold=65536:glibc.malloc.trim_threshold=65536"
STATUS = Path("/proc/self/status")
REFERENCES = Path("/proc/self/clear_refs")


def measure_memory(program: Program, device: str = "cpu") -> int:
    """The most bytes that torch had allocated for a program at one time."""
    if device == "cuda":
        return _allocated_on_gpu(program)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        program()
    return highest(_blocks(profile))


def _blocks(profile: torch.profiler.profile) -> list[int]:
    """The sizes of allocated (positive) and freed (negative) blocks, in order."""
    # `profile.events()` adds blocks to operators; only the raw list has single blocks.
    results = profile.profiler and profile.profiler.kineto_results
    events: list[Any] = [*results.events()] if results else []  # torch types them in part
    blocks = [event for event in events if event.name() == "[memory]"]
    return [event.nbytes() for event in sorted(blocks, key=lambda event: event.start_ns())]


def highest(changes: list[int]) -> int:
    """The highest sum that the changes reach from zero."""
    total = peak = 0
    for change in changes:
        total += change
        peak = max(peak, total)
    return peak


def _allocated_on_gpu(program: Program) -> int:
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    program()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def resident(program: Program) -> int:
    """The growth of the process's peak memory while a program ran, in bytes; Linux only.

    A first call loads what is loaded once; its blocks are returned to the system.
    """
    program()
    gc.collect()
    REFERENCES.write_text("5")  # resets the peak to the current memory
    before = _status("VmRSS")
    program()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    """A number of bytes from the kernel's status of this process."""
    match = re.search(rf"^{name}:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    if not match:
        raise OSError(f"the kernel's status has no {name}")
    return int(match[1]) * 1024
