"""`stop_gradient`: values that are constants as far as derivatives go."""

from __future__ import annotations

from typing import Any

from ...translator.ops import STOP_GRADIENT
from ...translator.tree import tree_map


def stop_gradient(x: Any) -> Any:
    """Return the tree `x`, treated as a constant by derivatives.

    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    return tree_map(_constant, x)


def _constant(x: Any) -> Any:
    return x


_constant.__untraced_numpy__ = STOP_GRADIENT.evaluate  # type: ignore[attr-defined]
