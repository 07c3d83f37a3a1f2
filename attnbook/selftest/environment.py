"""The versions that are installed, and what works with them."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from attnbook._version import __version__
from attnbook.practice.judge.run_safely import COPIES
from attnbook.torch_private import NAMES, missing_names

NOT_INSTALLED = "not installed"


def describe_environment() -> dict[str, str]:
    """Versions, devices, and what works here, by name; no path and no name of a machine."""
    return {
        "attnbook": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "devices": ", ".join(describe_device(device) for device in available_devices()),
        "numpy": version_of("numpy"),
        "figures": _describe_extra("anywidget", "ipywidgets"),
        "display": _describe_extra("IPython", "matplotlib"),
        "judge": _describe_judge(),
        "transformers": version_of("transformers"),
        "names of torch": _describe_names(),
    }


def available_devices() -> list[torch.device]:
    """The CPU, and the kinds of GPUs that torch can use."""
    devices = [torch.device("cpu")]
    if torch.cuda.is_available():
        devices.append(torch.device("cuda"))
    if torch.backends.mps.is_available():
        devices.append(torch.device("mps"))
    return devices


def describe_device(device: torch.device) -> str:
    """Its kind, and which one it is."""
    return f"cuda ({torch.cuda.get_device_name()})" if device.type == "cuda" else device.type


def processor() -> str:
    """The model of the processor, by its name in the system."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text("utf-8") if cpuinfo.exists() else ""
    match = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return match[1] if match else platform.processor() or platform.machine()


def version_of(package: str) -> str:
    """The version of an installed package, which is not imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def _describe_extra(*packages: str) -> str:
    return ", ".join(f"{package} {version_of(package)}" for package in packages)


def _describe_judge() -> str:
    if COPIES:
        return "a copy of the process runs each answer first, unless CUDA is in use"
    return "answers run in this process, so endless code in C must be stopped by hand"


def _describe_names() -> str:
    missing = missing_names()
    if not missing:
        return "all found that this version looks for"
    return "; ".join(
        f"no {name}: {NAMES.get(name, 'layers run their formulas')}" for name in missing
    )
