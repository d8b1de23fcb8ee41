"""Every elementwise row to order 2, forward and reverse, over its own samples, with broadcasting."""

from __future__ import annotations

import cmath

import numpy as np
import pytest
from gradient_helpers import built, check

from untraced import accelerate, grad, jvp
from untraced.testing import check_grads
from untraced.translator import make, ops
from untraced.translator.derive.activity import linked_args
from untraced.translator.ir import Apply, Aval, Var
from untraced.translator.ops.core import NO_ATTRS, Elementwise
from untraced.translator.ops.samples import Domain

SHAPES = ((3, 4), (4,), (3, 1))
ROWS = [op for op in ops.ALL if isinstance(op, Elementwise)]


def domain(op: Elementwise, i: int) -> Domain:
    return op.samples[min(i, len(op.samples) - 1)]


def draw(op: Elementwise, i: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Values from the row's domain, a step of the difference away from its kinks and from equal arguments."""
    d = domain(op, i)
    low, high = max(d.low, -3.0), min(d.high, 4.0)
    x = rng.uniform(low + 0.01, high - 0.01, SHAPES[i])
    for kink in op.kinks:
        x = np.where(np.abs(x - kink) < 0.02, kink + 0.05, x)
    if kind == "c":
        return x + 1j * rng.uniform(low + 0.01, high - 0.01, SHAPES[i])
    if kind == "b":
        return x > (low + high) / 2
    return x.astype(np.int64) if kind in "iu" else x


def first_kind(op: Elementwise, i: int) -> str:
    kinds = domain(op, i).kinds
    return next((k for k in "fiub" if k in kinds), kinds[0])


def is_differentiable(op: Elementwise, kinds: str) -> bool:
    avals = [Aval((), np.dtype({"f": float, "c": complex, "b": bool}.get(k, np.int64))) for k in kinds]
    target = Var("t", op.infer(avals, NO_ATTRS)[0])
    return bool(linked_args(Apply((target,), op, tuple(Var("x", a) for a in avals), NO_ATTRS)))


REAL_ROWS = [op for op in ROWS if is_differentiable(op, "".join(first_kind(op, i) for i in range(op.arity)))]


@pytest.mark.parametrize("op", REAL_ROWS, ids=lambda op: op.name)
def test_real(op: Elementwise) -> None:
    rng = np.random.default_rng(7)
    args = [draw(op, i, first_kind(op, i), rng) for i in range(op.arity)]
    program = built(lambda b, *xs: [make.elementwise(b, op, *xs)], *(Aval(x.shape, x.dtype) for x in args))
    check(program, args, order=2)


def complex_kinds(op: Elementwise) -> str | None:
    kinds = "".join("c" if "c" in domain(op, i).kinds else first_kind(op, i) for i in range(op.arity))
    try:
        return kinds if "c" in kinds and is_differentiable(op, kinds) else None
    except TypeError:
        return None


COMPLEX_ROWS = [op for op in ROWS if complex_kinds(op)]


@pytest.mark.parametrize("op", COMPLEX_ROWS, ids=lambda op: op.name)
def test_complex(op: Elementwise) -> None:
    rng = np.random.default_rng(8)
    args = [draw(op, i, k, rng) for i, k in enumerate(complex_kinds(op) or "")]
    program = built(lambda b, *xs: [make.elementwise(b, op, *xs)], *(Aval(x.shape, x.dtype) for x in args))
    check(program, args, order=2)


@pytest.mark.parametrize("op", [op for op in REAL_ROWS if op.arity == 2], ids=lambda op: op.name)
def test_same_argument_twice(op: Elementwise) -> None:
    """f(x, x): both places contribute. Operations with a kink where the arguments are equal are left out."""
    if op.name in ("maximum", "minimum", "fmax", "fmin", "remainder", "fmod", "copysign", "heaviside", "where"):
        pytest.skip("x = y is a kink")
    rng = np.random.default_rng(9)
    x = draw(op, 0, "f", rng)
    x = np.abs(x) + 0.2 if op.name in ("power", "float_power") else x
    check(built(lambda b, v: [make.elementwise(b, op, v, v)], Aval(x.shape, x.dtype)), [x], order=2)


def test_rows_are_many() -> None:
    assert len(REAL_ROWS) >= 30


def test_neighbours_move_with_their_numbers() -> None:
    x = np.array([[0.3], [2.0], [-1e-7]])
    towards = np.array([2.0, -5.0])
    weights = np.arange(1.0, 7.0).reshape(3, 2)
    for turn in (lambda f: f, accelerate):
        to_x, to_y = turn(grad(lambda x, y: np.sum(weights * np.nextafter(x, y)), argnums=(0, 1)))(x, towards)
        np.testing.assert_array_equal(to_x, [[3.0], [7.0], [11.0]])
        np.testing.assert_array_equal(to_y, [0.0, 0.0])
        np.testing.assert_allclose(turn(grad(lambda x: np.sum(np.spacing(x) * x)))(x), np.spacing(x), rtol=1e-14)


NAMES = "exp sinh cosh sin cos tan tanh log10 sqrt asin acos atan asinh acosh atanh log phase".split()


@pytest.mark.parametrize("name", NAMES)
def test_functions_of_cmath(name: str) -> None:
    f = getattr(cmath, name)
    check_grads(lambda z: abs(f(z)) ** 2 + f(z).real, (0.3 + 0.4j,), order=2)
    value, _ = jvp(lambda z: f(z), (0.3 + 0.4j,), (1.0 + 0j,))
    assert value == pytest.approx(f(0.3 + 0.4j), rel=1e-14)


def test_polar_forms_and_bases_of_cmath() -> None:
    def f(z):
        r, phi = cmath.polar(z)
        return abs(cmath.rect(r * r, 3.0 * phi) + cmath.log(z, 2.5) * cmath.log(z, z + 1.0))

    check_grads(f, (0.3 + 0.4j,), order=2)
    with pytest.raises(OverflowError, match="math range error"):
        grad(lambda z: abs(cmath.exp(z)))(1e4 + 0j)
    with pytest.raises(ValueError, match="math domain error"):
        grad(lambda z: abs(cmath.log(z)))(0j)
