"""Names that have changed: the old ones work for one version, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from typing import Any


def warn_renamed(old: str, new: str) -> None:
    """Warn, at the line that called our caller, what a name is called now."""
    warnings.warn(f"{old} is called {new} now", DeprecationWarning, stacklevel=3)


def renamed(old: str, new: str) -> property:
    """Make a read-only attribute that gives another one, and warns."""

    def give(self: Any) -> Any:  # noqa: ANN401 - whatever the other one is
        warn_renamed(old, new)
        return getattr(self, new)

    return property(give, doc=f"The old name of `{new}`.")
