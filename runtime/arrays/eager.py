"""NumPy calls on `Array`s, one at a time: each becomes a function of one line that is accelerated and cached.

    np.add(a, 1.0)            def add(x0, x1): return np.add(x0, x1)
    a.sum(axis=0)             def sum(x, axis): return x.sum(axis=axis)
    a[1:, i]                  def index(x, index): return x[index]

What the translator refuses runs on the host with NumPy, with one warning for each function; the result is put back on
the device.
"""

from __future__ import annotations

import linecache
import operator
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from ...translator.errors import Span, UnsupportedError, UntracedError, tell_place
from ...translator.tracebacks import trim_traceback
from .. import above
from ..calls.callables import spelled
from ..trees.tree import map as tree_map
from .array import Array
from .transfer import device_put as device_put


def call(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """function(*args, **options), a NumPy callable on Arrays among other things."""
    given = {k: v for k, v in options.items() if v is not np._NoValue}
    return _run(_of_function(function, len(args), tuple(given)), args, given)


def method(name: str, x: Any, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
    """x.name(*args, **options)."""
    if options.get("out") is not None:
        raise TypeError(f"{name} cannot write into out= together with an Array: bind the result to a name instead")
    return _run(_of_method(name, len(args), tuple(options)), (x, *args), options)


def expression(text: str, names: tuple[str, ...], args: Sequence[Any]) -> Any:
    """The expression `text` over `names`."""
    return _run(_of_expression(text, names), args, {})


def index(x: Any, key: Any) -> Any:
    """x[key]. What a bool array selects has a size that only the host can know."""
    if any(getattr(k, "dtype", None) == np.bool_ for k in (key if isinstance(key, tuple) else (key,))):
        return on_host(operator.getitem, (x, key), {})
    return _run(_of_index(checks=not _is_within(x.shape, key)), (x, _of_known_bounds(key)), {})


def _is_within(shape: tuple[int, ...], key: Any) -> bool:
    """Whether the index is of numbers and slices, all inside an array of this shape, so that no program need check."""
    parts = key if type(key) is tuple else (key,)
    if len(parts) > len(shape):
        return False
    return all(type(k) is slice or (type(k) is int and -n <= k < n) for k, n in zip(parts, shape, strict=False))


def _of_known_bounds(key: Any) -> Any:
    """The index, with numbers for Arrays that bound slices."""
    if isinstance(key, tuple):
        return tuple(map(_of_known_bounds, key))
    if not isinstance(key, slice):
        return key
    bounds = (key.start, key.stop, key.step)
    return slice(*(operator.index(b) if hasattr(type(b), "__index__") else b for b in bounds))


def store(update: str, x: Any, index: Any, value: Any, options: Mapping[str, Any]) -> Any:
    """x.at[index].update(value), a new Array; for "get" the elements."""
    fixed = {k: v for k, v in options.items() if k != "fill_value"}
    fill = {k: v for k, v in options.items() if k == "fill_value" and v is not None}
    index = _of_known_bounds(index)
    given = (x, index) if update == "get" else (x, index, value)
    by_numpy = isinstance(x, np.ndarray | np.generic)
    counts_back = options.get("wrap_negative_indices") is not False
    checks = not (counts_back and _is_within(np.shape(x), index))
    made = _of_update(update, tuple(fixed.items()), tuple(fill), by_numpy, checks)
    if not counts_back or _goes_outside(options.get("mode")):
        return _run(made, given, fill)
    return _run(made, given, fill, by_cpython=partial(_stored, update))


def _goes_outside(mode: Any) -> bool:
    """Whether this mode of `.at` says what becomes of places outside the array."""
    from ...translator.library.gathering import GatherScatterMode

    return mode not in (None, "promise_in_bounds", GatherScatterMode.PROMISE_IN_BOUNDS)


_IN_PLACE = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "mul": np.multiply, "divide": np.divide,
    "power": np.power, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _stored(update: str, x: Any, index: Any, value: Any = None, **_: Any) -> Any:
    """x.at[index].update(value) by NumPy: what a mask selects has a size that the program does not know."""
    if update == "get":
        return np.asarray(x)[index]
    made = np.array(x)
    value = np.asarray(value).astype(made.dtype)
    if update == "set":
        made[index] = value
    else:
        _IN_PLACE[update].at(made, index, value)
    return made


def on_host(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], lift: bool = True) -> Any:
    """function on NumPy copies of the Arrays among the arguments; with `lift` NumPy results are put on the device."""
    def down(x: Any) -> Any:
        return np.array(x) if type(x) is Array else x

    def up(x: Any) -> Any:
        return device_put(x) if lift and isinstance(x, np.ndarray | np.generic) else x

    return tree_map(up, function(*tree_map(down, tuple(args)), **tree_map(down, dict(options))))


_warned: set[str] = set()


def _run(
    accelerated: Any, args: Sequence[Any], options: Mapping[str, Any], by_cpython: Callable[..., Any] | None = None
) -> Any:
    """The call; what cannot be compiled CPython runs, as `by_cpython` if that is given."""
    try:
        return accelerated(*args, *options.values())  # by position: calls with names take no short path
    except UnsupportedError as error:
        name = accelerated.__name__
        if name not in _warned:
            _warned.add(name)
            warnings.warn(f"{name} of an Array runs on the host: {error.diagnostic.what}", stacklevel=4)
        return on_host(by_cpython or accelerated.__wrapped__, args, options)
    except UntracedError as error:
        span, lines = _users_place()
        error.say(replace(error.diagnostic, span=span, source_lines=lines, calls=()))
        raise
    except (IndexError, ValueError) as error:  # found while the program ran
        span, lines = _users_place()
        tell_place(error, span, source_lines=lines)
        trim_traceback(error)
        raise


_PACKAGES = (str(Path(__file__).parents[1]), str(Path(np.__file__).parent))


def _users_place() -> tuple[Span, str]:
    """The expression outside this package and NumPy from which the call comes, and its lines."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((*_PACKAGES, "<untraced")):
        frame = frame.f_back
    file, (line, end, column, end_column) = frame.f_code.co_filename, _running(frame)
    line = line or frame.f_lineno
    rows = [linecache.getline(file, n, frame.f_globals).rstrip("\n") for n in range(line, (end or line) + 1)]
    if column is None or end_column is None:  # the interpreter keeps no columns: the line
        column, end_column = len(rows[0]) - len(rows[0].lstrip()), len(rows[0].encode())
    start, stop = _characters(rows[0], column), _characters(rows[-1], end_column)
    return Span(file, line, start, line + len(rows) - 1, stop), "\n".join(rows)


def _running(frame: FrameType) -> tuple[int | None, int | None, int | None, int | None]:
    """The position of the running instruction: first and last line, first and last column in bytes."""
    return next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))


def _characters(row: str, count: int) -> int:
    return len(row.encode()[:count].decode())


@cache
def _of_function(function: Callable[..., Any], count: int, options: tuple[str, ...]) -> Any:
    name = function.__name__ if function.__name__.isidentifier() else "called"
    positional = [f"x{i}" for i in range(count)]
    return _make(
        name, positional, options, f"{spelled(function)}({_arguments(positional, options)})", {"function": function}
    )


@cache
def _of_method(name: str, count: int, options: tuple[str, ...]) -> Any:
    positional = [f"x{i}" for i in range(count)]
    return _make(name, ["x", *positional], options, f"x.{name}({_arguments(positional, options)})", {})


@cache
def _of_expression(text: str, names: tuple[str, ...]) -> Any:
    return _make("expression", list(names), (), text, {})


@cache
def _of_index(*, checks: bool) -> Any:
    return _make("index", ["x", "index"], (), "x[index]", {}, partial(above.accelerate, checks=checks))


@cache
def _of_update(
    update: str, options: tuple[tuple[str, Any], ...], given: tuple[str, ...], by_numpy: bool, checks: bool
) -> Any:
    """x.at[index].update(value, option=option), each option by its name; those `given` at each call are parameters.
    `by_numpy`: x is NumPy's, for which nothing is compiled.
    """
    own = ["x", "index"] if update == "get" else ["x", "index", "value"]
    arguments = _arguments(own[2:], [*(k for k, _ in options), *given])
    body = f"x.at[index].{update}({arguments})"
    way = above.plain if by_numpy else partial(above.accelerate, checks=checks)
    return _make("get" if update == "get" else "store", own, given, body, dict(options), way)


def _arguments(positional: Sequence[str], options: Sequence[str]) -> str:
    return ", ".join([*positional, *(f"{k}={k}" for k in options)])


def _make(
    name: str,
    positional: list[str],
    options: Sequence[str],
    body: str,
    names: dict[str, Any],
    way: Callable[[Callable[..., Any]], Any] | None = None,
) -> Any:
    """The accelerated function of this body, or another `way` to run it; tracebacks and the reader see its source
    through linecache.
    """
    text = f"def {name}({', '.join([*positional, *options])}):\n    return {body}\n"
    file = f"<untraced eager {name} {next(_counter)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"__name__": __name__, "np": np, **names}
    exec(compile(text, file, "exec"), space)
    return (way or above.accelerate)(space[name])


_counter = iter(range(1 << 62))
