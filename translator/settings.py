"""Settings of the process from the environment that are on or off."""

from __future__ import annotations

import os

_MEANINGS = {"1": True, "0": False}


def switch(name: str, default: bool) -> bool:
    """Whether the variable is 1 or, where it is not set or empty, `default`. Raises ValueError for all but 0 and 1."""
    said = os.environ.get(name, "").strip()
    if said and said not in _MEANINGS:
        raise ValueError(f"the environment variable {name} must be 0 or 1, not {said!r}")
    return _MEANINGS.get(said, default)
