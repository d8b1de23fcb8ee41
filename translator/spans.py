"""This package's own work as spans in profiles; free of cost where no profiler runs."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

OURS = "untraced: "
_NOTHING: AbstractContextManager[Any] = nullcontext()


def span(what: str, **told: Any) -> AbstractContextManager[Any]:
    """`with span("translate f"): ...`, and what is told of it besides. XLA's profiler is looked for, never loaded: who
    profiles has loaded it.
    """
    return sys.modules["jaxlib._profiler"].TraceMe(OURS + what, **told) if is_observed() else _NOTHING


def is_observed() -> bool:
    """Whether a profiler runs."""
    profiler = sys.modules.get("jaxlib._profiler")
    return profiler is not None and profiler.TraceMe.is_enabled()
