"""How much memory a program takes while it runs, beyond what was there before.

`allocated` follows torch's own allocator: each block it gives and takes back is reported to the
profiler, and the highest sum counts. That is exact, independent of what ran before and of what
the system does with pages, and it holds every tensor, those inside compiled kernels included.
It misses scratch memory that libraries take for themselves, and does not subtract what was there
before and is freed meanwhile, such as the weights that a layer has kept of its last call.

`resident` misses nothing: it is how far the process's peak grew, as the system counts it. It
needs a fresh process (see `RETURNING`) and is right within a mebibyte or two, so it checks the
first at large sizes.
"""

from __future__ import annotations

import gc
import re
from pathlib import Path
from typing import Any

import torch

from attnbook.timing import Program

# Each block above 64 KiB is given back when it is freed, so that nothing is reused unseen.
RETURNING = "glibc.malloc.mmap_threshold=65536:glibc.malloc.trim_threshold=65536"
STATUS = Path("/proc/self/status")
REFERENCES = Path("/proc/self/clear_refs")


def allocated(program: Program, device: str = "cpu") -> int:
    """The most bytes that torch had given a program at one time."""
    if device == "cuda":
        return _allocated_on_gpu(program)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        program()
    return highest(_blocks(profile))


def _blocks(profile: torch.profiler.profile) -> list[int]:
    """The sizes of the blocks given (positive) and taken back (negative), in turn."""
    # `profile.events()` hands each block to an operator; only the raw list has them one by one.
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
    """How many bytes the process's memory grew at most while a program ran; Linux only.

    One call before loads what is loaded once; its blocks are given back under `RETURNING`.
    """
    program()
    gc.collect()
    REFERENCES.write_text("5")  # the peak starts anew from what is there now
    before = _status("VmRSS")
    program()
    return _status("VmHWM") - before


def _status(name: str) -> int:
    """A number of bytes from what the kernel says of this process."""
    found = re.search(rf"^{name}:\s+(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    if not found:
        raise OSError(f"the kernel says nothing of {name}")
    return int(found[1]) * 1024
