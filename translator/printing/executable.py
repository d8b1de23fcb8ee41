"""Printed source made callable: compiled under a file name that pdb, tracebacks and `inspect.getsource` can follow."""

from __future__ import annotations

import bisect
import functools
import itertools
import linecache
import traceback
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..bounds import divides_python_numbers, is_dynamic, refuses_negative
from ..errors import tell_place
from ..ir import Apply, Capture, Function, Raise, Root, Statement
from ..ops.core import IndexAttrs, Linalg
from .writer import Printed, printed

_numbers = itertools.count(1)


def executable(function: Function, comments: bool = False) -> Callable[..., Any]:
    """The program as a Python function of its parameters, in their structure, run by CPython with NumPy.

    Parameters that the program writes are written in the caller's arrays. Hidden parameters (arrays of globals and
    closures) are keywords; where they are not given, the function that the program was read from is asked for their
    value now.
    """
    p = printed(function, comments)
    compiled = compile_source(p, function.name)
    hidden = [x for x in function.params if x.capture is not None]
    ends = list(itertools.accumulate(x.tree.leaf_count for x in function.params))
    written = {function.params[bisect.bisect(ends, i)].name for i in function.mutated}
    if not hidden:
        compiled.__dict__["__untraced_program__"] = function
        return compiled

    @functools.wraps(compiled)
    def with_captures(*args: Any, **kwargs: Any) -> Any:
        for x in hidden:
            if x.name not in kwargs:
                assert x.capture is not None
                value = captured_value(x.capture)
                value = np.asarray(value) if hasattr(value, "__dlpack__") else value  # arrays of devices too
                if isinstance(value, np.ndarray) and not value.dtype.isnative and x.name not in written:
                    value = value.astype(value.dtype.newbyteorder("="))  # programs know numbers, not their bytes
                kwargs[x.name] = value
        return compiled(*args, **kwargs)

    with_captures.__dict__["__untraced_program__"] = function
    return with_captures


def compile_source(p: Printed, title: str) -> FunctionType:
    """Compile printed text. The source stays in `linecache` for as long as the function lives."""
    filename = f"<untraced {title.strip('<>')}-{next(_numbers)}>"
    namespace: dict[str, Any] = {"__name__": "untraced.generated", "np": np, **p.scope, **_modules(p.text)}
    exec(compile(p.text, filename, "exec"), namespace)
    function = namespace[p.name]
    assert isinstance(function, FunctionType)
    linecache.cache[filename] = (len(p.text), None, p.text.splitlines(keepends=True), filename)
    weakref.finalize(function, linecache.cache.pop, filename, None)
    function.__dict__["__untraced_origins__"] = (filename, p.origins)
    return function


def tell_origin(error: Exception, function: Callable[..., Any]) -> None:
    """Let an exception that came out of an `executable` say which line of the user's source it comes from."""
    filename, origins = function.__dict__["__untraced_origins__"]
    places = [n for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    made_of = origins[places[-1] - 1] if places else ()
    spans = [s.span for s in sorted(made_of, key=lambda s: not _raises(s, error)) if s.span.line]
    if spans:
        said = linecache.getline(filename, places[-1]).lstrip()
        tell_place(error, spans[0], own_words=said.startswith(("raise ", "assert ")))


def _raises(s: Statement, error: Exception) -> bool:
    """Whether a statement is of the kind that raises such errors."""
    if isinstance(s, Raise):
        return True
    match error:
        case IndexError():
            return isinstance(s, Apply) and isinstance(s.attrs, IndexAttrs) and any(map(is_dynamic, s.attrs.dims))
        case np.linalg.LinAlgError():
            return isinstance(s, Apply) and isinstance(s.op, Linalg)
        case ZeroDivisionError():
            return isinstance(s, Apply) and divides_python_numbers(s)
        case ValueError():
            return isinstance(s, Apply) and bool(refuses_negative(s))
    return False


def _modules(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("math", "ml_dtypes", "untraced"):
        if f"{name}." in text:
            found[name] = __import__(name)
    return found


def captured_value(capture: Capture) -> Any:
    """The current value of a hidden parameter. Raises NameError where the name is gone, as Python would."""
    value = _lookup(capture.function, capture.name)
    for step, key in capture.path:
        value = getattr(value, key) if step == "attr" else value[key]
    return value


def _lookup(function: Any, name: str) -> Any:
    if isinstance(function, Root):
        return getattr(function.owner, name) if name else function.owner
    function = getattr(function, "__func__", function)
    code = function.__code__
    if name in code.co_freevars and function.__closure__:
        return function.__closure__[code.co_freevars.index(name)].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    raise NameError(f"name {name!r} is not defined")
