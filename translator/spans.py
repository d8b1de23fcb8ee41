"""This package's own work as spans in profiles; free of cost where no profiler runs."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any

OURS = "untraced: "


def span(what: str, **told: Any) -> AbstractContextManager[Any]:
    """`with span("translate f"): ...`, and what is told of it besides. XLA's profiler is looked for, never loaded: who
    profiles has loaded it.
    """
    profiler = sys.modules.get("jaxlib._profiler")
    return nullcontext() if profiler is None else profiler.TraceMe(OURS + what, **told)
