"""Derivatives checked against differences, by random projections.

from untraced import testing
testing.check_grads(loss, (w, x, y))    # forward and reverse, to order 2; AssertionError says where they part
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator.errors import DerivativeError, DTypeError
from ...translator.float0 import is_float0
from ...translator.tree import flatten, tree_map, unflatten
from .transforms import jvp, vjp

if TYPE_CHECKING:
    from . import strategies as strategies

__all__ = ["DerivativeError", "check_grads", "strategies"]

Function = Callable[..., Any]
Derive = Callable[[Function, int], Function]

# Relative tolerances. float64: the four-point difference at STEP is good to about 1e-11 of the function's scale; the
# rest is room for functions that bend sharply. float32 and the halves: a thousand roundings of the derivative itself,
# since the difference is taken in float64. A derivative wrong by 0.1 % is noticed in float64 and float32.
RELATIVE = {"float64": 1e-6, "float32": 2e-4, "float16": 3e-2, "bfloat16": 2e-1}
ABSOLUTE = {"float64": 1e-8, "float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-1}
STEP = 1e-3  # truncation STEP**4, rounding 1e-16 / STEP: they balance in float64
# Where the function can be evaluated at complex arguments its derivative is f(x + ih).imag / h, without subtraction and
# good to the rounding of the function; it counts where it agrees with the difference, which an abs or a max breaks.
COMPLEX_STEP, AGREES, EXACT = 1e-30, 1e-6, 2e-8
# A difference may reach across a jump or a kink beside the point. A derivative that it does not confirm is compared
# with those of smaller steps, which rounding still leaves good to 1e-10; a wrong derivative agrees with none of them.
NEARER = (1 / 16, 1 / 256)


def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int = 2,
    modes: str | Iterable[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    *,
    seed: int = 0,
    reference: Function | None = None,
    pushforward: Derive | None = None,
    pullback: Derive | None = None,
) -> None:
    """Assert that the derivatives of `f` at `args`, trees of numbers and arrays, are right to the given order.

    `f(*args)` may return any tree. Each derivative is projected on random directions and compared with a complex step
    of `reference` (default: `f` itself) where that is analytic, else with a four-point difference, in double precision
    whatever the dtype of the arguments. At each order, every mode is checked on the derivatives of every mode. Integer
    and bool leaves are held fixed; they have no tangent.

    `eps` is the step of the difference. Tolerances are by default those of the narrowest dtype among the arguments;
    they are relative to the largest element of what is compared. `pushforward(f, n)` gives (x1..xn, t1..tn) ->
    tangents, and `pullback(f, n)` gives (ct, x1..xn) -> cotangents; by default they are made of `jvp` and `vjp`.

    Raises DerivativeError, an AssertionError, that says which derivative is off and by how much.
    """
    chosen = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(chosen) - {"fwd", "rev"}
    if unknown:
        raise ValueError(f"modes are 'fwd' and 'rev', not {sorted(unknown)}")
    derive = {"fwd": pushforward or _pushforward, "rev": pullback or _pullback}
    if not isinstance(args, tuple | list):
        raise TypeError(f"check_grads takes the arguments of the function as a tuple, not as {type(args).__name__}")
    narrow = _narrowest(args)
    g, moving = _holding_integers(f, tuple(args)) if pushforward is None and pullback is None else (f, tuple(args))
    if not moving:
        raise DTypeError("there is nothing to check: no argument of the function holds floats")
    wide = g if reference is None else _holding_integers(reference, tuple(args))[0]
    checker = _Checker(
        {mode: derive[mode] for mode in chosen},
        ABSOLUTE[narrow] if atol is None else atol,
        RELATIVE[narrow] if rtol is None else rtol,
        STEP if eps is None else eps,
        np.random.default_rng(seed),
        narrow != "float64",
    )
    checker.check(g, wide, moving, order, "f")


def check_settled(f: Function, args: tuple[Any, ...], order: int, mode: str, name: str) -> None:
    """Check the derivatives of `f` up to `order` in one mode, where a difference with half the step says the same.

    For calls in a running program, whose arguments nobody has chosen for it. Raises DerivativeError, which starts with
    `name`.
    """
    narrow = _narrowest(args)
    derive = {"fwd": _pushforward, "rev": _pullback}[mode]
    checker = _Checker(
        {mode: derive}, ABSOLUTE[narrow], RELATIVE[narrow], STEP, np.random.default_rng(0), narrow != "float64"
    )
    for level in range(order):
        tangents = checker.direction(args)
        numeric = checker.difference(f, args, tangents)
        checker.eps = STEP / 2
        again = checker.difference(f, args, tangents)
        checker.eps = STEP
        if not numeric or not all(map(_settled, numeric, again)):
            return
        g = derive(f, len(args))
        what = f"{name}, of order {level + 1}," if level else name
        if mode == "fwd":
            checker.forward(g(*args, *tangents), numeric, f"{what} in forward mode")
            f, args = g, (*args, *checker.direction(args))
        else:
            ct = checker.direction(f(*tree_map(copied, args)))
            checker.reverse(g(ct, *args), tangents, ct, numeric, f"{what} in reverse mode")
            f, args = g, (ct, *args)


def _settled(x: Any, y: Any) -> bool:
    """Whether two differences are finite and agree about as well as those of a smooth function do."""
    scale = float(np.max(np.abs(x), initial=0.0))
    return bool(np.all(np.isfinite(x)) and np.max(np.abs(x - y), initial=0.0) <= 1e-7 * (1.0 + scale))


def _pushforward(f: Function, n: int) -> Function:
    def pushed(*xs: Any) -> Any:
        return jvp(f, xs[:n], xs[n:])[1]

    return pushed


def _holding_integers(f: Function, args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """`f` as a function of the arguments that can move, and these: `jvp` refuses the others."""
    moving = [k for k, a in enumerate(args) if any(map(inexact, flatten(a)[0]))]
    if len(moving) == len(args):
        return f, args

    def held(*xs: Any) -> Any:
        full = list(args)
        for k, x in zip(moving, xs):
            full[k] = x
        return f(*full)

    return held, tuple(args[k] for k in moving)


def _pullback(f: Function, n: int) -> Function:
    def pulled(ct: Any, *xs: Any) -> Any:
        return vjp(f, *xs)[1](ct)

    return pulled


class _Checker:
    """`derive` maps "fwd" and "rev" to what takes those derivatives."""

    def __init__(
        self,
        derive: dict[str, Derive],
        atol: float,
        rtol: float,
        eps: float,
        rng: np.random.Generator,
        narrow: bool = False,
    ) -> None:
        self.derive, self.atol, self.rtol, self.eps, self.rng = derive, atol, rtol, eps, rng
        self.narrow = narrow  # whether arguments are in less than double precision
        self.exact = False  # whether what is compared with is exact but for rounding

    def check(self, f: Function, reference: Function, args: tuple[Any, ...], order: int, name: str) -> None:
        """Check the first derivatives of `f`, then, one order lower, those of its derivatives."""
        if order < 1:
            return
        tangents = self.direction(args)
        self.exact = False
        numeric = self.difference(reference, args, tangents)
        if name == "f":
            numeric = self.complex_step(reference, args, tangents, numeric)
        exact = self.exact
        for mode, derive in self.derive.items():
            self.exact = exact
            g = derive(f, len(args))
            wide = g if reference is f else derive(reference, len(args))
            if mode == "fwd":
                pushed = g(*args, *tangents)
                compare = functools.partial(self.forward, pushed, what=f"jvp of {name}")
                self.confirm(compare, reference, args, tangents, numeric)
                self.check(g, wide, (*args, *self.direction(args)), order - 1, f"jvp of {name}")
            else:
                ct = self.direction(f(*tree_map(copied, args)))
                compare = functools.partial(self.reverse, g(ct, *args), tangents, ct, what=f"vjp of {name}")
                self.confirm(compare, reference, args, tangents, numeric)
                self.check(g, wide, (ct, *args), order - 1, f"vjp of {name}")

    def confirm(
        self, compare: Callable[[Sequence[Any]], None], f: Function, args: tuple[Any, ...], tangents: Any, numeric: Any
    ) -> None:
        """`compare` with the numeric derivative, and where they part with the differences of smaller steps."""
        try:
            compare(numeric)
        except DerivativeError:
            if self.exact:
                raise
            step = self.eps
            try:
                if not any(self.agrees(compare, f, args, tangents, step * nearer) for nearer in NEARER):
                    raise
            finally:
                self.eps = step

    def agrees(
        self, compare: Callable[[Sequence[Any]], None], f: Function, args: Any, tangents: Any, eps: float
    ) -> bool:
        self.eps = eps
        try:
            compare(self.difference(f, args, tangents))
        except DerivativeError:
            return False
        return True

    def forward(self, pushed: Any, numeric: Sequence[Any], what: str) -> None:
        leaves = [x for x in flatten(pushed)[0] if inexact(x)]
        self.expect(len(leaves) == len(numeric), f"{what}: {len(leaves)} tangents for {len(numeric)} results")
        for k, (got, want) in enumerate(zip(leaves, numeric, strict=True)):
            scale = float(np.max(np.abs(want), initial=0.0))
            self.close(np.asarray(got), want, scale, f"{what}, result {k}")

    def reverse(self, pulled: Any, tangents: Any, ct: Any, numeric: Sequence[Any], what: str) -> None:
        """Re sum(ct * J t) = Re sum(vjp(ct) * t), without conjugates, as in JAX's convention."""
        back = [x for x in flatten(pulled)[0] if inexact(x)]
        ts = flatten(tangents)[0]
        self.expect(len(back) == len(ts), f"{what}: {len(back)} cotangents for {len(ts)} arguments")
        terms = [np.asarray(_wide(c) * d) for c, d in zip(flatten(ct)[0], numeric, strict=True)]
        want = sum(float(np.sum(t).real) for t in terms)
        got = sum(float(np.sum(_wide(x) * _wide(t)).real) for x, t in zip(back, ts, strict=True))
        scale = sum(float(np.sum(np.abs(t))) for t in terms)
        self.close(np.asarray(got), np.asarray(want), scale, what)

    def close(self, got: Any, want: Any, scale: float, what: str) -> None:
        self.expect(np.shape(got) == np.shape(want), f"{what}: shape {np.shape(got)}, not {np.shape(want)}")
        same_nan = np.array_equal(np.isnan(got), np.isnan(want))
        self.expect(same_nan, f"{what}: NaN where the difference has none, or the reverse")
        error = float(np.max(np.abs(np.where(np.isnan(want), 0, got - want)), initial=0.0))
        limit = EXACT * (1.0 + scale) if self.exact else self.atol + self.rtol * scale
        relative = f" (relative error {error / scale:.3g})" if scale else ""
        self.expect(
            error <= limit, f"{what}: off by {error:.3g}{relative}, allowed {limit:.3g}\n  got  {got}\n  want {want}"
        )

    @staticmethod
    def expect(condition: bool, message: str) -> None:
        if not condition:
            raise DerivativeError(message)

    def direction(self, tree: Any) -> Any:
        """Normal random numbers like the real and complex leaves of the tree; None for the others."""
        leaves, treedef = flatten(tree)
        return unflatten(treedef, [self.random_like(x) if inexact(x) else None for x in leaves])

    def random_like(self, x: Any) -> Any:
        shape, dtype = np.shape(x), np.asarray(x).dtype
        value = self.rng.standard_normal(shape)
        if dtype.kind == "c":
            value = value + 1j * self.rng.standard_normal(shape)
        if type(x) in (float, complex):
            return type(x)(value)
        return np.asarray(value).astype(dtype)[()]

    def difference(self, f: Function, args: tuple[Any, ...], tangents: Any) -> list[Any]:
        """The directional derivative of each real or complex result: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h."""
        leaves, treedef = flatten(args)
        steps = flatten(tangents)[0]

        def at(h: float) -> list[Any]:
            feed = iter(steps)
            moved = [_wide(x) + h * _wide(next(feed)) if inexact(x) else copied(x) for x in leaves]
            return [_wide(y) for y in flatten(f(*unflatten(treedef, moved)))[0] if inexact(y)]

        h = self.eps
        near = zip(at(h), at(-h), at(2 * h), at(-2 * h), strict=True)
        return [(8 * (a - b) - (c - d)) / (12 * h) for a, b, c, d in near]

    def complex_step(self, f: Function, args: tuple[Any, ...], tangents: Any, numeric: list[Any]) -> list[Any]:
        """A sharper derivative than `numeric`, which it must agree with; `numeric` where there is none."""
        leaves, treedef = flatten(args)
        if self.narrow or self.eps != STEP or not all(_double(x) for x in leaves if inexact(x)):
            return numeric
        steps = iter(flatten(tangents)[0])
        moved = [np.add(x, 1j * COMPLEX_STEP * next(steps)) if inexact(x) else copied(x) for x in leaves]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                out = flatten(f(*unflatten(treedef, moved)))[0]
        except Exception:  # whatever a function of real numbers makes of complex ones
            return numeric
        found = [np.imag(y) / COMPLEX_STEP for y in out if inexact(y)]
        if [np.shape(y) for y in found] != [np.shape(y) for y in numeric]:
            return numeric
        scales = [float(np.max(np.abs(n), initial=1e-300)) for n in numeric]
        close = [
            np.max(np.abs(c - n), initial=0.0) <= AGREES * s for c, n, s in zip(found, numeric, scales, strict=True)
        ]
        self.exact = all(close)
        return found if self.exact else numeric


def inexact(x: Any) -> bool:
    """Whether the leaf has a derivative. Kind V holds bfloat16, and float0, which has none."""
    return not isinstance(x, str) and np.asarray(x).dtype.kind in "fcV" and not is_float0(x)


def copied(x: Any) -> Any:
    """An array that the function may write into."""
    return x.copy() if isinstance(x, np.ndarray) else x


def _double(x: Any) -> bool:
    """Whether the leaf is a real number in double precision."""
    return type(x) is float or np.asarray(x).dtype == np.float64


def _wide(x: Any) -> Any:
    """The value in float64 or complex128; a Python number stays one."""
    if type(x) in (float, complex):
        return x
    array = np.asarray(x)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)[()]


def _narrowest(args: Any) -> str:
    """The name of the real dtype with the fewest digits among the leaves; float64 where there is none."""
    found = ["float64"]
    for x in flatten(args)[0]:
        if inexact(x):
            dtype = np.asarray(x).dtype
            found.append(np.empty(0, dtype).real.dtype.name if dtype.kind == "c" else dtype.name)
    return max(found, key=list(RELATIVE).index)


def __getattr__(name: str) -> Any:
    """`strategies` is imported when it is first asked for: it needs Hypothesis."""
    if name != "strategies":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(".strategies", __package__)
