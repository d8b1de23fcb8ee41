"""Whether a module, a class or a function belongs to the user or to a library, whose code does not change."""

from __future__ import annotations

import functools
import os
import sys
import types
from typing import Any


def is_library(thing: Any) -> bool:
    """Whether a class or function is one of theirs."""
    module = getattr(thing, "__module__", None) or "builtins"
    if module == "builtins":  # what is made by exec in a namespace without a name says so, too
        return not isinstance(thing, types.FunctionType) and not getattr(thing, "__flags__", 0) & _MADE_BY_CLASS
    return of_library(module)


_ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
_ROOMS = tuple(os.path.join(_ROOT, room, "") for room in ("translator", "kernels", "runtime", "tpu"))


def is_own_file(file: str) -> bool:
    """Whether it is one of this package, of which users read no line."""
    return file.startswith(_ROOMS)


_MADE_BY_CLASS = 1 << 9  # in the __flags__ of a class: CPython's Py_TPFLAGS_HEAPTYPE


def of_library(module: str) -> bool:
    """Whether a module belongs to NumPy, SciPy, the standard library or untraced, by its name."""
    root = module.partition(".")[0]
    return root in ("numpy", "untraced", "scipy") or (root in sys.stdlib_module_names and _is_standard(root))


@functools.lru_cache(maxsize=256)
def _is_standard(root: str) -> bool:
    """Whether a module with the name of a standard one, say `test` or `code`, is that one and not the user's."""
    file = getattr(sys.modules.get(root), "__file__", None)
    return root != "__main__" and (file is None or file.startswith(os.path.dirname(os.__file__) + os.sep))


def accelerated_function(f: Any) -> types.FunctionType | None:
    """The Python function behind an accelerated one, which is read like any other; None for all else."""
    function = getattr(f, "__untraced_function__", None)
    return function if type(function) is types.FunctionType and not hasattr(function, "__untraced_read__") else None
