"""All that `untraced.random` has in NumPy source, for the reader to know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import random_choices, random_counts, random_draws, random_gamma, random_keys, random_support

CALLED: tuple[Callable[..., Any], ...] = (
    *random_keys.FUNCTIONS,
    *random_draws.FUNCTIONS,
    *random_choices.FUNCTIONS,
    *random_gamma.FUNCTIONS,
    *random_counts.FUNCTIONS,
)
STATIC = random_support.STATIC
