"""Regular expressions that are compiled when they are first used.

The house has forty of them, which take 10 ms to compile; a first call needs six.
"""

from __future__ import annotations

import re
from typing import Any, cast


def pattern(text: str) -> re.Pattern[str]:
    """What `re.compile` would return."""
    return cast("re.Pattern[str]", _Pattern(text))


class _Pattern:
    """Has the methods of the compiled one from its first use on."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        compiled = re.compile(self._text)
        for method in ("match", "fullmatch", "search", "finditer", "findall", "sub", "split"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
