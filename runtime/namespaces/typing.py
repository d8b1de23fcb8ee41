"""The namespace `untraced.typing`: the kinds of values that signatures name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.array import Array

ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
DTypeLike = str | type[Any] | np.dtype[Any]

__all__ = ["ArrayLike", "DTypeLike"]
