"""The namespace `untraced.stages`: what `accelerate(f)` goes through, by the names that JAX has."""

from ..calls.accelerated import Accelerated as Wrapped
from ..calls.shapes import ShapeDtypeStruct as ArgInfo
from .lowering import Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced", "Wrapped"]
