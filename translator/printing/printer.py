"""A program as NumPy source that reads as if a person had written it and means exactly what the program means.

    before (a program)                         after (text)
    t = contract(x, w); h = tanh(t)            h = np.tanh(x @ w)
    y1 = put(y, h, [i])                        y[i] = h           copied first where y is still needed
    for i, (s) in range(n): s1 = s + h[i]      for i in range(n):
                                                   s += h[i]

Four decisions, each in its own file: which temporaries are written inside expressions (temporaries), how long each
variable lives (lifetimes), which stores write in place (ownership), and which variables share a name (names).
"""

from __future__ import annotations

import re
import sys

import numpy as np

from ..ir import Function
from .executable import executable
from .writer import Printed, printed

__all__ = ["Printed", "executable", "imports", "print_function", "print_module", "printed", "standalone"]


def print_function(function: Function, comments: bool = False) -> str:
    """The `def` of the function. With `comments`, statements of a derivative say which line they come from."""
    return printed(function, comments).text


def print_module(function: Function, comments: bool = False) -> str:
    """A file of its own: imports, then the `def`."""
    p = printed(function, comments)
    return "\n".join(imports(p)) + "\n\n\n" + p.text


def standalone(p: Printed) -> str:
    """The `def`, behind the imports that it needs beside NumPy's: it runs where `np` is bound."""
    lines = [line for line in imports(p) if line != _NUMPY]
    return "\n".join(lines) + "\n\n\n" + p.text if lines else p.text


_NUMPY = "import numpy as np"


def imports(p: Printed) -> list[str]:
    """The import lines that the source needs."""
    lines = ["import math"] if re.search(r"\bmath\.", p.text) else []
    lines.append(_NUMPY)
    for module in ("ml_dtypes", "untraced"):
        if re.search(rf"\b{module}\.", p.text):
            lines.append(f"import {module}")
    for chosen, value in p.scope.items():
        if isinstance(value, np.ndarray):
            content = f'np.frombuffer(bytes.fromhex("{value.tobytes().hex()}"), "{value.dtype.str}")'
            lines.append(f"{chosen} = {content}.reshape({value.shape})")
            continue
        origin, own = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
        if origin and own.isidentifier() and getattr(sys.modules.get(origin), own, None) is value:
            lines.append(f"from {origin} import {own}" + (f" as {chosen}" if chosen != own else ""))
    return lines
