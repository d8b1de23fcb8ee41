"""What the surface asks of the reader, which stands above it: `reading/splicing` puts it here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..builder import Builder
    from ..ir import Atom

splice: Callable[[Builder, Callable[..., Any], Sequence[Atom]], Any]
"""Reads NumPy source into a block."""
