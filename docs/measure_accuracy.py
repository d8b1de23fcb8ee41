"""Writes docs/accuracy.json: the largest errors of elementwise functions on the target "cpu", against mpmath.

    python docs/measure_accuracy.py [NAME ...]       # minutes for all; make_support_table.py puts them into the page

Errors of real functions are in units in the last place of the correct result, those of complex ones |error| over
|result| in units of the dtype's eps. Each function is asked in arrays below and above the size from which the target
has arithmetic of its own, over the ranges listed here. Left out: results that are subnormal, infinite or NaN, which the
tests compare with NumPy's, and the zeros of gammaln and digamma below 0.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

import untraced
from untraced.scipy import special
from untraced.tpu.emit.transcendentals import SMALLEST

PAGE = Path(__file__).with_name("accuracy.json")
COUNT = 400  # arguments for each range; each is computed in 400 bits
REAL = ("float64", "float32")
COMPLEX = ("complex128", "complex64")

Draw = Callable[[np.random.Generator, Any], Any]


def uniform(low: float, high: float) -> Draw:
    return lambda random, dtype: random.uniform(low, high, COUNT).astype(dtype)


def powers(low: float, high: float, signed: bool = False) -> Draw:
    """exp of numbers between the two, so that all magnitudes are equally likely."""

    def draw(random: np.random.Generator, dtype: Any) -> Any:
        sign = random.choice([-1, 1], COUNT) if signed else 1
        return (np.exp(random.uniform(low, high, COUNT)) * sign).astype(dtype)

    return draw


def everything(signed: bool) -> Draw:
    """Normal numbers of all magnitudes."""

    def draw(random: np.random.Generator, dtype: Any) -> Any:
        info = np.finfo(dtype)
        exponents = random.integers(info.minexp + 1, info.maxexp - 1, COUNT)
        x = np.ldexp(random.uniform(1, 2, COUNT), exponents).astype(dtype)
        return x * random.choice([-1, 1], COUNT).astype(dtype) if signed else x

    return draw


def near(centre: float, width: float) -> Draw:
    return lambda random, dtype: (centre * (1 + random.uniform(-width, width, COUNT))).astype(dtype)


SMALL = powers(-80, -1, signed=True)
CIRCULAR = (uniform(-7, 7), uniform(-1e5, 1e5), powers(0, 80, signed=True), SMALL)
LOGARITHM = (everything(False), near(1.0, 0.5), near(1.0, 1e-4))
ONE: dict[str, tuple[Draw, ...]] = {
    "sqrt": (everything(False),), "cbrt": (everything(True),), "square": (uniform(-9, 9),),
    "reciprocal": (uniform(-9, 9),), "exp": (uniform(-80, 80), SMALL), "exp2": (uniform(-120, 120),),
    "expm1": (uniform(-10, 10), SMALL), "log": LOGARITHM, "log2": LOGARITHM, "log10": LOGARITHM,
    "log1p": (uniform(-0.999, 5), SMALL, powers(0, 80)), "sin": CIRCULAR, "cos": CIRCULAR, "tan": CIRCULAR,
    "arcsin": (uniform(-1, 1), SMALL), "arccos": (uniform(-1, 1), SMALL),
    "arctan": (uniform(-10, 10), everything(True)),
    "sinh": (uniform(-80, 80), uniform(-3, 3), SMALL), "cosh": (uniform(-80, 80), uniform(-3, 3)),
    "tanh": (uniform(-30, 30), uniform(-5, 5), SMALL), "arcsinh": (uniform(-5, 5), everything(True)),
    "arccosh": (uniform(1, 5), powers(0, 80)), "arctanh": (uniform(-1, 1), SMALL), "deg2rad": (uniform(-900, 900),),
    "rad2deg": (uniform(-9, 9),), "erf": (uniform(-6, 6), SMALL), "erfc": (uniform(-5, 9),),
    "erfcx": (uniform(-5, 5), powers(-5, 60)), "erfinv": (uniform(-1, 1), SMALL),
    "erfcinv": (uniform(0, 2), powers(-80, 0)), "gamma": (uniform(0.1, 30), uniform(-30, 0)),
    "gammaln": (uniform(0.1, 30), powers(0, 60), near(1, 0.1), near(2, 0.1)),
    "digamma": (uniform(0.01, 30), powers(0, 60)), "i0": (uniform(-30, 30),), "i0e": (uniform(-100, 100),),
    "i1": (uniform(-30, 30),), "i1e": (uniform(-100, 100),), "expit": (uniform(-80, 80),), "logit": (uniform(0, 1),),
    "ndtr": (uniform(-12, 5),), "log_ndtr": (uniform(-30, 5),), "ndtri": (uniform(0, 1),), "entr": (uniform(0, 0.9),),
    "exprel": (uniform(-9, 9),), "log_expit": (uniform(-30, 30),), "softplus": (uniform(-30, 30),),
}  # fmt: skip
POSITIVE = uniform(0.1, 20)
TWO: dict[str, tuple[tuple[Draw, Draw], ...]] = {
    "divide": ((everything(True), uniform(1, 2)),), "power": ((uniform(0.1, 9), uniform(-9, 9)),),
    "hypot": ((uniform(-9, 9), uniform(-9, 9)),), "arctan2": ((uniform(-9, 9), uniform(-9, 9)),),
    "logaddexp": ((uniform(0, 30), uniform(0, 30)),), "logaddexp2": ((uniform(0, 30), uniform(0, 30)),),
    "fmod": ((uniform(-99, 99), POSITIVE),), "remainder": ((uniform(-99, 99), POSITIVE),),
    "xlogy": ((POSITIVE, powers(1, 9)),), "beta": ((POSITIVE, POSITIVE),), "gammainc": ((POSITIVE, POSITIVE),),
    "gammaincc": ((POSITIVE, POSITIVE),), "zeta": ((uniform(1.5, 20), POSITIVE),),
}  # fmt: skip
ANALYTIC = (
    "sqrt", "exp", "expm1", "log", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh",
    "arccosh", "arctanh", "square", "reciprocal",
)  # fmt: skip

EXACT: dict[str, Callable[..., Any]] = {
    "arcsin": mp.asin, "arccos": mp.acos, "arctan": mp.atan, "arcsinh": mp.asinh, "arccosh": mp.acosh,
    "arctanh": mp.atanh, "exp2": lambda x: mp.power(2, x), "log2": lambda x: mp.log(x) / mp.log(2),
    "log10": lambda x: mp.log(x) / mp.log(10), "square": lambda x: x * x, "reciprocal": lambda x: 1 / x,
    "deg2rad": mp.radians, "rad2deg": mp.degrees, "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x) if x < 1e4 else (1 - 1 / (2 * x * x)) / (x * mp.sqrt(mp.pi)),
    "erfcinv": lambda x: mp.erfinv(1 - x), "gammaln": mp.loggamma, "i0": lambda x: mp.besseli(0, x),
    "i1": lambda x: mp.besseli(1, x), "i0e": lambda x: mp.besseli(0, x) * mp.exp(-abs(x)),
    "i1e": lambda x: mp.besseli(1, x) * mp.exp(-abs(x)), "expit": lambda x: 1 / (1 + mp.exp(-x)),
    "logit": lambda x: mp.log(x / (1 - x)), "ndtr": mp.ncdf, "log_ndtr": lambda x: mp.log(mp.ncdf(x)),
    "ndtri": lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1), "entr": lambda x: -x * mp.log(x),
    "exprel": lambda x: mp.expm1(x) / x, "log_expit": lambda x: -mp.log1p(mp.exp(-x)),
    "softplus": lambda x: mp.log1p(mp.exp(x)), "divide": lambda x, y: x / y, "arctan2": mp.atan2,
    "logaddexp": lambda x, y: mp.log(mp.exp(x) + mp.exp(y)),
    "logaddexp2": lambda x, y: mp.log(mp.power(2, x) + mp.power(2, y)) / mp.log(2),
    "fmod": lambda x, y: mp.sign(x) * mp.fmod(abs(x), y), "remainder": lambda x, y: x - y * mp.floor(x / y),
    "xlogy": lambda x, y: x * mp.log(y), "gammainc": lambda a, x: mp.gammainc(a, 0, x, regularized=True),
    "gammaincc": lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True),
}  # fmt: skip


def function_of(name: str) -> Callable[..., Any]:
    found: Any = getattr(special, name) if name in special.__all__ else getattr(np, name)
    if name in ONE:
        return untraced.accelerate(lambda x: found(x), target="cpu")
    return untraced.accelerate(lambda x, y: found(x, y), target="cpu")


def measured(name: str, dtype: str, draws: Sequence[Sequence[Draw]]) -> float:
    """The largest error over all ranges and both sizes of arrays."""
    random, function, worst = np.random.default_rng(0), function_of(name), 0.0
    for draw in draws:
        args = [d(random, np.dtype(dtype)) for d in draw]
        if dtype in COMPLEX:
            args = [(random.normal(size=COUNT) * 3 + 3j * random.normal(size=COUNT)).astype(dtype)]
        exact = [correct(name, [a[i] for a in args]) for i in range(COUNT)]
        for size in (COUNT, SMALLEST + COUNT):
            found = function(*(np.resize(a, size) for a in args))[:COUNT]
            worst = max(worst, *(error(f, e, np.dtype(dtype)) for f, e in zip(found, exact, strict=True)))
    return worst


def correct(name: str, args: Sequence[Any]) -> Any:
    with mp.workprec(400 if name in ("sin", "cos", "tan", "erfinv", "erfcinv", "ndtri") else 150):
        function = EXACT.get(name) or getattr(mp, name)
        return function(*(mp.mpmathify(complex(a) if np.iscomplexobj(a) else float(a)) for a in args))


def error(found: Any, exact: Any, dtype: np.dtype[Any]) -> float:
    info = np.finfo(dtype)
    size = abs(exact)
    if not float(info.tiny) <= size <= float(info.max):
        return 0.0
    if dtype.kind == "c":
        return float(abs(mp.mpc(complex(found)) - exact) / size) / float(info.eps)
    unit = mp.ldexp(1, mp.frexp(size)[1] - info.nmant - 1)
    return float(abs(mp.mpf(float(found)) - mp.re(exact)) / unit) if np.isfinite(found) else float("inf")


def main() -> int:
    warnings.simplefilter("ignore")
    table: dict[str, dict[str, float]] = json.loads(PAGE.read_text()) if PAGE.exists() else {}
    for name in sys.argv[1:] or [*ONE, *TWO]:
        draws: Sequence[Sequence[Draw]] = [(d,) for d in ONE[name]] if name in ONE else TWO[name]
        row = {dtype: measured(name, dtype, draws) for dtype in REAL}
        if name in ANALYTIC:
            row |= {dtype: measured(name, dtype, draws[:1]) for dtype in COMPLEX}
        table[name] = {dtype: round(value, 1) for dtype, value in row.items()}
        print(name, table[name], flush=True)
    lines = [f"{json.dumps(name)}: {json.dumps(table[name])}" for name in sorted(table)]
    PAGE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
