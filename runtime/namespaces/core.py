"""The namespace `untraced.core`: questions of JAX scripts about tracing, all answered with no."""

from __future__ import annotations

from ..calls.shapes import ShapeDtypeStruct as ShapedArray
from .scopes import ensure_compile_time_eval


class Tracer:
    """No value is one: `isinstance(x, Tracer)` is False everywhere."""

    def __init__(self) -> None:
        raise TypeError("nothing is traced: there are no Tracers")


__all__ = ["ShapedArray", "Tracer", "ensure_compile_time_eval"]
