"""`compare(fun, *args)`: the results of a function on several targets, and their times, beside NumPy's."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.errors import UntracedError
from ...translator.records import dataclass
from ..arrays.array import Array
from ..arrays.transfer import block_until_ready
from ..calls.accelerate import accelerate
from ..calls.accelerated import Accelerated
from ..targets.devices import automatic_target
from ..trees.tree_util import keystr, tree_flatten_with_path, tree_map
from .seconds import told

_LEAST = 0.02  # seconds for which a fast call is repeated, so that its time means something
_UNITS = 1000  # of the last place, of the largest element: what sums in another order may differ by


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """One target beside NumPy. `difference`: the largest, absolute; `seconds`: of a call, the least of several;
    `first`: of the first call, with translation and compilation. `why`: what differs, or why the target refuses the
    function; empty where all is equal."""

    target: str
    difference: float
    seconds: float
    first: float
    why: str

    @property
    def equal(self) -> bool:
        return not self.why


@dataclass(frozen=True, slots=True)
class Comparison:
    """NumPy's time for a call, and one `TargetComparison` a target. True where all are equal; `str` is a table."""

    name: str
    seconds: float
    targets: tuple[TargetComparison, ...]

    @property
    def equal(self) -> bool:
        return all(t.equal for t in self.targets)

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        rows = [f"{self.name}: NumPy takes {told(self.seconds)} a call"]
        for t in self.targets:
            if t.seconds:
                ratio = f"{t.seconds / self.seconds:.2f} of NumPy's" if self.seconds else ""
                times = f"{told(t.seconds)}, {ratio} (first call {told(t.first)})"
                rows.append(f"  {t.target:7} {times}, differs by at most {t.difference:.2g}")
            rows += [f"  {t.target:7} {line}" for line in t.why.splitlines()]
        return "\n".join(rows)


def compare(
    fun: Callable[..., Any],
    *args: Any,
    targets: Sequence[str] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    **kwargs: Any,
) -> Comparison:
    """Run a function under NumPy and on targets; compare results, arguments written in place, errors and times.

    fun         a plain or accelerated function, or a transformation of one (NumPy then runs its generated source). It
                is called several times, on copies of the arguments; other side effects happen several times
    targets     names as for `accelerate`; by default "numpy" (the printed source) and what "auto" stands for
    rtol, atol  numbers differ where |x - y| > atol + rtol * |x|, x being NumPy's; by default rtol is 1,000 units in
                the last place of the dtype, and atol is rtol times the largest element of the array

    Shapes, dtypes, structures and the positions of NaN must be the same, and each target must raise an exception of the
    same type where NumPy raises one. A target that refuses the function, or is missing, has a row that says so.
    """
    plain, options = _taken_apart(fun)
    made = targets if targets is not None else tuple(dict.fromkeys(("numpy", automatic_target())))
    reference = _run(plain, args, kwargs)
    rows = []
    for target in made:
        try:
            compiled = accelerate(fun.fun if isinstance(fun, Accelerated) else fun, target=target, **options)
            first = _run(compiled, args, kwargs, once=True)
            found = _run(compiled, args, kwargs) if first.error is None else first
        except UntracedError as error:
            rows.append(TargetComparison(target, 0.0, 0.0, 0.0, f"refused: {error}"))
            continue
        difference, why = _differences(reference, found, rtol, atol)
        rows.append(TargetComparison(target, difference, found.seconds, first.seconds, why))
    return Comparison(getattr(fun, "__name__", repr(fun)), reference.seconds, tuple(rows))


def _taken_apart(fun: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The plain function that NumPy runs, and the options of `accelerate`."""
    if not isinstance(fun, Accelerated):
        return fun, {}
    names, numbers = fun.options.static_argnames, fun.options.static_argnums
    options = {"checks": fun.options.checks, "static_argnames": names, "static_argnums": numbers}
    return fun.fun, options


@dataclass(frozen=True, slots=True)
class _Run:
    """The result, the arguments after the call, or the error; and the time of a call."""

    value: Any
    seconds: float
    error: BaseException | None = None


def _run(fun: Callable[..., Any], args: Any, kwargs: Any, once: bool = False) -> _Run:
    least, spent, count = float("inf"), 0.0, 0
    while not count or (not once and count < 100 and (spent < _LEAST or (count < 2 and spent < 1))):
        given, named = _copied((args, kwargs))
        start = time.perf_counter()
        try:
            value = block_until_ready(fun(*given, **named))
        except UntracedError as error:
            if error.refuses:
                raise
            return _Run(None, time.perf_counter() - start, error)
        except Exception as error:
            return _Run(None, time.perf_counter() - start, error)
        elapsed = time.perf_counter() - start
        least, spent, count = min(least, elapsed), spent + elapsed, count + 1
    return _Run({"result": value, "arguments": (given, named)}, least)


def _copied(tree: Any) -> Any:
    def one(x: Any) -> Any:
        if type(x) is Array or isinstance(x, np.generic):
            return x
        return x.copy(order="K") if isinstance(x, np.ndarray) else copy.copy(x)

    return tree_map(one, tree)


def _differences(expected: _Run, found: _Run, rtol: float | None, atol: float | None) -> tuple[float, str]:
    """The largest difference, and what differs."""
    if expected.error is not None or found.error is not None:
        same = isinstance(found.error, type(expected.error)) if expected.error is not None else False
        return 0.0, "" if same else f"NumPy: {_said(expected)}\nhere: {_said(found)}"
    left, structure = tree_flatten_with_path(expected.value)
    right, other = tree_flatten_with_path(found.value)
    if structure != other:
        return 0.0, f"NumPy: {structure}\nhere: {other}"
    largest, rows = 0.0, []
    for (path, x), (_, y) in zip(left, right, strict=True):
        difference, why = _leaves(np.asarray(x), np.asarray(y), rtol, atol)
        largest = max(largest, difference)
        if why:
            rows.append(f"{keystr(path)}: {why}")
    return largest, "\n".join(rows)


def _said(run: _Run) -> str:
    return "a result" if run.error is None else f"{type(run.error).__name__}: {run.error}"


def _leaves(x: Any, y: Any, rtol: float | None, atol: float | None) -> tuple[float, str]:
    if x.dtype != y.dtype:
        return 0.0, f"dtype {y.dtype} instead of {x.dtype}"
    if x.shape != y.shape:
        return 0.0, f"shape {y.shape} instead of {x.shape}"
    if x.dtype.kind not in "fcV":
        wrong = np.asarray(x != y)
        return float(wrong.any()), f"{wrong.sum()} of {x.size} elements differ" if wrong.any() else ""
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y, unit = x.astype(wide), y.astype(wide), _unit(x.dtype)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        return float("nan"), f"NaN at {np.isnan(y).sum()} places instead of {np.isnan(x).sum()}, or at others"
    with np.errstate(invalid="ignore"):
        apart = np.where((x == y) | np.isnan(x), 0.0, np.abs(x - y))
    sizes = np.abs(x[np.isfinite(x)])
    relative = _UNITS * unit if rtol is None else rtol
    absolute = relative * float(sizes.max(initial=0.0)) if atol is None else atol
    wrong = (apart > 0) & ~(np.isfinite(apart) & (apart <= absolute + relative * np.abs(x)))
    largest = float(apart.max(initial=0.0))
    return largest, f"{wrong.sum()} of {x.size} elements differ, by up to {largest:.3g}" if wrong.any() else ""


def _unit(dtype: Any) -> float:
    """A unit in the last place of 1."""
    if dtype.name == "bfloat16":
        return 2.0**-8
    return float(np.finfo(dtype).eps)
