"""The families that are not elementwise: each alone, to order 2 in both modes."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import Drawn
from gradient_helpers import built, check, count_ops, pullback

from untraced.testing import check_grads
from untraced.translator import make, named, ops
from untraced.translator.ir import Aval, const
from untraced.translator.ops.core import At, Dyn, Gather, Run
from untraced.translator.pipeline import simplified
from untraced.translator.printing.printer import print_function

F = np.dtype(np.float64)
C = np.dtype(np.complex128)
RNG = Drawn(3)


def arrays(*shapes, dtype=F):
    xs = [RNG.uniform(-2, 2, s) for s in shapes]
    return [x + 1j * RNG.uniform(-2, 2, x.shape) if dtype.kind == "c" else x for x in xs]


def run(build, *args, order=2):
    avals = [Aval(np.shape(a), np.asarray(a).dtype) for a in args]
    program = built(lambda b, *xs: [build(b, *xs)], *avals)
    check(program, list(args), order)
    return program


AXES = [(), (0,), (1,), (2,), (0, 2), (0, 1, 2)]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_reductions(name, axes, keepdims):
    x = (RNG.permutation(24).reshape(2, 3, 4) - 11.5) / 8  # far enough apart that no difference crosses a tie
    w = RNG.standard_normal(np.sum(x, axis=axes, keepdims=keepdims).shape)
    reduce = getattr(make, name)
    run(lambda b, v: make.multiply(b, reduce(b, v, axes, keepdims), const(w)), x, order=2)


def test_prod_with_zeros():
    x = np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]])
    run(lambda b, v: make.prod(b, v, (1,)), x, order=3)


def test_ties_share_equally():
    x = np.array([1.0, 3.0, 3.0])
    p = built(lambda b, v: [make.max(b, v)], Aval((3,), F))
    np.testing.assert_array_equal(pullback(p, 1)((np.float64(1.0),), x)[0], [0.0, 0.5, 0.5])


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", [ops.CUMSUM, ops.CUMPROD, ops.CUMMAX, ops.CUMMIN], ids=lambda op: op.name)
def test_cumulative(op, axis):
    x = RNG.uniform(0.5, 2, (3, 4))
    x[1, 2] = 0.0
    w = RNG.standard_normal((3, 4))
    run(lambda b, v: make.multiply(b, make.cumulative(b, op, v, axis), const(w)), x, order=3 if axis else 2)


@pytest.mark.parametrize("dtype", [F, C], ids=str)
def test_products(dtype):
    x, y = arrays((2, 3, 4), (5, 4, 2), dtype=dtype)
    run(lambda b, u, v: make.contract(b, u, v, (0, 1, 2), (3, 2, 0), (3, 1)), x, y)
    run(lambda b, u, v: make.contract(b, u, v, (0, 1, 2), (3, 2, 0), (1, 0, 3)), x, y)
    run(lambda b, u: make.contract(b, u, u, (0, 1, 2), (0, 3, 2), (3, 1, 0)), x)


MATMULS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((4, 2, 3), (3, 5)), ((4, 1, 2, 3), (6, 3, 2))]


@pytest.mark.parametrize("shapes", MATMULS)
def test_matmul(shapes):
    run(lambda b, u, v: make.matmul(b, u, v), *arrays(*shapes))


def test_mixed_dtypes():
    x, y = np.float32(RNG.standard_normal((3, 4))), RNG.standard_normal((4,))
    p = built(lambda b, u, v: [make.multiply(b, u, v)], Aval((3, 4), x.dtype), Aval((4,), F))
    ct = RNG.standard_normal((3, 4))
    d_x, d_y = pullback(p, 2)((ct,), x, y)
    assert d_x.dtype == np.float32 and d_y.dtype == np.float64
    np.testing.assert_allclose(d_x, ct * y, rtol=1e-6)  # one rounding to float32
    np.testing.assert_allclose(d_y, np.sum(ct * x, axis=0), rtol=1e-14)


def test_casts_between_real_and_complex():
    (x,) = arrays((3,))
    (z,) = arrays((3,), dtype=C)
    run(lambda b, u, v: make.multiply(b, make.astype(b, u, C), v), x, z)
    run(lambda b, u, v: make.multiply(b, u, v), x, z)


def test_shapes():
    (x,) = arrays((2, 3, 4))
    w = RNG.standard_normal(24)
    weigh = lambda b, v: make.multiply(b, make.multiply(b, v, v), const(w.reshape(v.aval.shape)))  # noqa: E731
    run(lambda b, v: weigh(b, make.reshape(b, v, (4, 6))), x)
    run(lambda b, v: weigh(b, make.transpose(b, v, (2, 0, 1))), x)
    run(lambda b, v: weigh(b, make.expand_dims(b, v, (0, 3))), x)
    run(lambda b, v: weigh(b, make.squeeze(b, make.reshape(b, v, (1, 24, 1)), (0, 2))), x)


@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (1, 4), (2, 1, 4)])
def test_broadcasts(shape):
    (x,) = arrays(shape) if shape else (np.float64(0.7),)
    w = RNG.standard_normal((2, 3, 4))
    run(lambda b, v: make.multiply(b, make.broadcast_to(b, v, (2, 3, 4)), const(w)), x)
    run(lambda b, v: make.sum(b, make.broadcast_to(b, make.multiply(b, v, v), (2, 3, 4))), x)
    run(lambda b, v: make.sum(b, make.multiply(b, const(w), v), (0, 2)), x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shift", [1, -1, 2])
def test_rolls(axis, shift):
    """The derivative of a roll is one the other way round."""
    x, y = arrays((5, 6), (5, 6))
    program = run(lambda b, u, v: make.multiply(b, named.roll(b, make.multiply(b, u, u), shift, axis), v), x, y)
    text = print_function(simplified(pullback(program, 1).function))
    assert text.count("np.roll") == 2
    assert f", {shift}, axis={axis})" in text
    assert f", {-shift}, axis={axis})" in text


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
@pytest.mark.parametrize("dtype", [F, C])
def test_cross_products(shape, dtype):
    x, y = arrays(shape, shape, dtype=dtype)
    program = run(lambda b, u, v: make.multiply(b, named.cross(b, u, v), u), x, y)
    text = print_function(simplified(pullback(program, 2).function))
    assert text.count("np.cross") == 3
    assert "np.stack" not in text


def test_what_only_looks_like_a_cross_product():
    x, y = arrays((3,), (3,))

    def build(b, u, v):
        (a0, a1, a2), (c0, c1, c2) = ([make.index(b, w, (At(i),), ()) for i in range(3)] for w in (u, v))
        terms = [(a1, c2, a2, c1), (a2, c0, a0, c1), (a0, c1, a1, c0)]  # the second is not
        parts = [make.subtract(b, make.multiply(b, p, q), make.multiply(b, r, s)) for p, q, r, s in terms]
        return make.concatenate(b, [make.expand_dims(b, p, 0) for p in parts], 0)

    assert "np.cross" not in print_function(run(build, x, y).function)


def test_full_and_concatenate():
    x, y = arrays((2, 3), (2, 1))
    run(lambda b, u, v: make.concatenate(b, [u, v, make.multiply(b, u, u)], 1), x, y)
    run(lambda b, u, v: make.sum(b, make.concatenate(b, [u, make.multiply(b, v, v)], 1)), x, y)
    w = const(RNG.standard_normal((2, 3)))
    run(lambda b, v: make.multiply(b, make.full(b, (2, 3), make.multiply(b, v, v)), w), np.float64(0.3))


INDICES = {
    "element": ((At(1), At(2)), ()),
    "row": ((At(1), Run(0, 4)), ()),
    "strided": ((Run(2, 2, -2), Run(1, 2, 2)), ()),
    "gather": ((Gather(0), Run(0, 4)), (np.array([0, 2, 2, -1]),)),
    "two gathers": ((Gather(0), Gather(1)), (np.array([0, 2, 2]), np.array([[1], [3]]))),
    "gather and element": ((At(Dyn(1)), Gather(0)), (np.array([3, 0]), np.int64(1))),
    "no repeats": ((Run(0, 3), Gather(0)), (np.array([3, 0, 1]),)),
}


@pytest.mark.parametrize("case", INDICES, ids=str)
def test_index_and_stores(case):
    dims, dyn = INDICES[case]
    atoms = tuple(const(d) for d in dyn)
    x = RNG.standard_normal((3, 4))
    key = tuple(
        dyn[d.arg] if isinstance(d, Gather)
        else (dyn[d.index.arg] if isinstance(d.index, Dyn) else d.index) if isinstance(d, At)
        else slice(d.start, d.start + d.size * d.step if d.start + d.size * d.step >= 0 else None, d.step)
        for d in dims
    )
    v = RNG.standard_normal(x[key].shape)
    run(lambda b, u: make.multiply(b, make.index(b, make.multiply(b, u, u), dims, atoms), const(v)), x)
    for store in (make.put, make.put_add):
        run(lambda b, u, w, store=store: make.multiply(b, store(b, u, make.multiply(b, w, w), dims, atoms), u), x, v)
    run(lambda b, u, w: make.multiply(b, make.put(b, u, w, dims, atoms), u), x, np.float64(0.4))


def test_stores_at_indices_known_only_at_run_time():
    x, v, i = RNG.standard_normal(4), RNG.standard_normal(5), np.array([0, 2, 2, 0, 3])
    run(lambda b, u, w, k: make.multiply(b, make.put(b, u, w, (Gather(0),), (k,)), u), x, v, i)


def test_an_index_accumulates_into_the_cotangent_in_place():
    p = built(
        lambda b, u: [make.multiply(b, make.index(b, u, (At(0),), ()), make.index(b, u, (At(1),), ()))], Aval((5,), F)
    )
    g = pullback(p, 1).function
    assert count_ops(g, "full") == 1 and count_ops(g, "put") == 2 and count_ops(g, "add") == 0


def test_the_source_of_a_diagonal_matrix_may_be_of_complex_numbers() -> None:
    z = RNG.normal(size=3) + 1j * RNG.normal(size=3)
    check_grads(lambda z: np.diag(z * z), (z,), order=1)
