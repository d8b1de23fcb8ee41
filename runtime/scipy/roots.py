"""scipy.optimize's roots of functions of one number, for derivatives and batches: implicit functions.

How a root was found is no part of its derivative (`custom_root`): dx = -(df/dp) dp / (df/dx). A bracket is always
halved to the end: xtol and rtol say how SciPy's own searches stop, and count for `newton` alone. A search in a bracket
that fewer turns than SciPy's 100 may end is refused: whether it fails there is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...translator.library.scipy_roots import bracketed, by_slopes, secant
from ...translator.library.support import known, only_plain
from ...translator.records import dataclass
from ..transforms.implicit import custom_root

Fun = Callable[..., Any]


def _with(f: Fun, args: Any) -> Fun:
    given = args if isinstance(args, tuple) else (args,)
    return lambda x: np.float64(f(x, *given))


def _implicit(f: Fun, solve: Fun) -> Any:
    return custom_root(f, 0.0, lambda g, guess: solve(g), lambda g, y: y / g(np.float64(1.0)))


def _between(
    f: Fun, a: Any, b: Any, args: Any = (), xtol: Any = 0, rtol: Any = 0, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    only_plain("scipy.optimize's search for a root", not full_output, "with full_output=True")
    only_plain("scipy.optimize's search for a root", known(maxiter) >= 100, "that fewer than 100 turns may end")
    return _implicit(_with(f, args), lambda g: bracketed(g, a, b))


def _toms748(
    f: Fun, a: Any, b: Any, args: Any = (), k: Any = 1, xtol: Any = 0, rtol: Any = 0, maxiter: Any = 100,
    full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    return _between(f, a, b, args, xtol, rtol, maxiter, full_output, disp)


def _newton(
    func: Fun, x0: Any, fprime: Any = None, args: Any = (), tol: Any = 1.48e-8, maxiter: Any = 50,
    fprime2: Any = None, x1: Any = None, rtol: Any = 0.0, full_output: Any = False, disp: Any = True,
) -> Any:  # fmt: skip
    plain = np.ndim(x0) == 0 and disp and not full_output
    only_plain("scipy.optimize.newton", plain, "of arrays, with full_output or without disp")
    f = _with(func, args)
    if fprime is None:
        return _implicit(f, lambda g: secant(g, x0, x1, tol, rtol, maxiter))
    bend = None if fprime2 is None else _with(fprime2, args)
    return _implicit(f, lambda g: by_slopes(g, _with(fprime, args), bend, x0, tol, rtol, maxiter))


@dataclass
class Root:
    """What SciPy's RootResults has of a root, as far as it does not tell of the search."""

    root: Any
    converged: Any = True
    flag: Any = "converged"


def _root_scalar(
    f: Fun, args: Any = (), method: Any = None, bracket: Any = None, fprime: Any = None, fprime2: Any = None,
    x0: Any = None, x1: Any = None, xtol: Any = None, rtol: Any = None, maxiter: Any = None, options: Any = None,
) -> Any:  # fmt: skip
    only_plain("scipy.optimize.root_scalar", not isinstance(fprime, bool) and options is None)
    turns = {} if maxiter is None else {"maxiter": maxiter}
    if bracket is not None and known(method) in (None, "brentq", "brenth", "bisect", "ridder", "toms748"):
        return Root(_between(f, bracket[0], bracket[1], args, **turns))
    only_plain("scipy.optimize.root_scalar", known(method) in (None, "newton", "secant", "halley") and x0 is not None)
    near = {} if xtol is None else {"tol": xtol}
    slope, bend = (None, None) if known(method) == "secant" else (fprime, fprime2)
    return Root(_newton(f, x0, slope, args, fprime2=bend, x1=x1, rtol=0.0 if rtol is None else rtol, **near, **turns))


NAMES: dict[str, Fun] = {
    "root_scalar": _root_scalar,
    "brentq": _between,
    "brenth": _between,
    "ridder": _between,
    "bisect": _between,
    "toms748": _toms748,
    "newton": _newton,
}
