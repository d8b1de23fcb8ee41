"""Functions of other rooms that the reader may read. A module of its own, so that offering one loads nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

# By the module's name: its functions that are read only to be differentiated or batched, as NumPy source by their
# names. They need this package's own transformations, of which the translator's library knows nothing.
TRANSFORMED: dict[str, Callable[[], Mapping[str, Callable[..., Any]]]] = {}
