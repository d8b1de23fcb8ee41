"""vmap of every family of operations is what a Python loop over the elements gives."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from handmade import BOOL, F32, INT, array, build, loop, ops_of

from untraced.translator import make, ops
from untraced.translator.batch.vmap import vmap
from untraced.translator.errors import ShapeError, Span
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Apply, Atom, Aval, Function, Range, walk
from untraced.translator.ops.core import At, Dim, Dyn, Gather, Run
from untraced.translator.passes.simplify import simplify
from untraced.translator.verify import verify

SIZE = 3


def example(aval: Aval, rng: np.random.Generator, low: int = 0, high: int = 3) -> Any:
    """A batch of values of this type, the batch axis in front; integers are in [low, high)."""
    shape = (SIZE, *aval.shape)
    if aval.dtype.kind == "b":
        return rng.random(shape) < 0.5
    if aval.dtype.kind in "iu":
        return rng.integers(low, high, shape).astype(aval.dtype)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if aval.dtype.kind == "c" else x).astype(aval.dtype)


def as_leaf(x: Any, aval: Aval) -> Any:
    return x.item() if aval.weak else x


def check(f: Function, in_axes: Sequence[int | None], seed: int = 0, **bounds: int) -> Function:
    """Compare the batched program with a loop over elements, for `in_axes` of 0 or None; dtypes and all values."""
    rng = np.random.default_rng(seed)
    verify(f)
    avals = [p.aval for p in f.body.params]
    batch = [example(a, rng, **bounds) for a in avals]
    leaves = [as_leaf(x[0], a) if axis is None else x for x, a, axis in zip(batch, avals, in_axes, strict=True)]
    each = [
        [leaf if axis is None else leaf[k] for leaf, axis in zip(leaves, in_axes, strict=True)] for k in range(SIZE)
    ]
    with np.errstate(all="ignore"):
        want = [np.stack(column) for column in zip(*(evaluate(f, e) for e in each), strict=True)]
        g = vmap(f, in_axes, [0] * f.out.leaf_count, SIZE)
        verify(g)
        compare(evaluate(g, leaves), want)
        h = simplify(g)
        verify(h)
        compare(evaluate(h, leaves), want)
    return g


def compare(got: Sequence[Any], want: Sequence[Any]) -> None:
    assert len(got) == len(want)
    for x, y in zip(got, want, strict=True):
        assert np.asarray(x).dtype == y.dtype
        # products and sums of a batch may be taken in another order
        np.testing.assert_allclose(x, y, rtol=2e-6 if y.dtype == F32 else 1e-13, atol=1e-6 if y.dtype == F32 else 1e-14)


def all_axes(count: int) -> list[tuple[int | None, ...]]:
    """Every choice of batched arguments but none."""
    return [axes for axes in itertools.product((0, None), repeat=count) if any(a == 0 for a in axes)]


def check_all(avals: Sequence[Aval], body: Callable[..., Any], **bounds: int) -> None:
    f = build(avals, body)
    for axes in all_axes(len(avals)):
        if all(a is None or not v.weak for a, v in zip(axes, avals, strict=True)):
            check(f, axes, **bounds)


# ---- elementwise ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (array(), array()),
        (array(4), array()),
        (array(4), array(5, 4)),
        (array(5, 1), array(4)),
        (array(2, 5, 4), array(4)),
        (array(4, dtype=F32), array()),
        (array(4, dtype=int), array(2, 4, dtype=F32)),
        (array(4, dtype=complex), array(4)),
    ],
)
def test_broadcasting_aligns(left: Aval, right: Aval) -> None:
    check_all([left, right], make.multiply)


def test_python_numbers_stay_weak() -> None:
    avals = [array(4, dtype=F32), array(dtype=F32)]
    check_all(avals, lambda b, x, y: make.add(b, make.multiply(b, x, 2.0), make.add(b, y, 1)))
    check_all([array(4, dtype=F32), INT], lambda b, x, n: make.multiply(b, x, make.multiply(b, n, 2)))


def test_three_operands() -> None:
    check_all([array(4, dtype=bool), array(4), array(3, 4)], make.where)
    check_all([array(4), array(), array(2, 1)], lambda b, x, lo, hi: make.elementwise(b, ops.CLIP, x, lo, hi))
    check_all([array(4)], lambda b, x: make.where(b, make.less(b, x, 0), 0.0, x))


# ---- families of one operand ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        lambda b, x: make.astype(b, x, F32),
        lambda b, x: make.sum(b, x),
        lambda b, x: make.sum(b, x, (0, 2)),
        lambda b, x: make.sum(b, x, 1, True),
        lambda b, x: make.prod(b, x, 2),
        lambda b, x: make.max(b, x, (1,)),
        lambda b, x: make.any(b, make.less(b, x, 0), 0),
        lambda b, x: make.all_(b, make.less(b, x, 9)),
        lambda b, x: make.argmax(b, x, 1),
        lambda b, x: make.argmin(b, x, 2, True),
        lambda b, x: make.cumsum(b, x, 1),
        lambda b, x: make.cumprod(b, x, 0),
        lambda b, x: make.reshape(b, x, (4, 6)),
        lambda b, x: make.reshape(b, x, (24,)),
        lambda b, x: make.transpose(b, x),
        lambda b, x: make.transpose(b, x, (1, 0, 2)),
        lambda b, x: make.broadcast_to(b, x, (5, 2, 3, 4)),
        lambda b, x: make.broadcast_to(b, make.sum(b, x), (2, 2)),
        lambda b, x: make.expand_dims(b, x, (0, 2)),
        lambda b, x: make.squeeze(b, make.sum(b, x, (0, 1), True)),
        lambda b, x: make.full(b, (2, 3), make.sum(b, x)),
        lambda b, x: make.full(b, (2,), make.sum(b, x), int),
        lambda b, x: make.concatenate(b, [x, make.zeros(b, (2, 3, 1))], 2),
        lambda b, x: make.elementwise(b, ops.TANH, x),
        lambda b, x: make.multiply(b, make.iota(b, 4, float), x),
    ],
)
def test_unary(body: Callable[..., Atom]) -> None:
    check(build([array(2, 3, 4)], body), [0])


def test_concatenate_repeats_what_is_not_batched() -> None:
    check_all([array(2, 3), array(1, 3)], lambda b, x, y: make.concatenate(b, [x, y, x], 0))


# ---- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [((4,), (4,)), ((2, 4), (4,)), ((4,), (4, 3)), ((2, 4), (4, 3)), ((5, 2, 4), (4, 3)), ((5, 2, 4), (5, 4, 3))],
)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check_all([array(*left), array(*right)], make.matmul)


@pytest.mark.parametrize(
    "labels",
    [
        ((0,), (1,), (0, 1)),
        ((0,), (1,), (1, 0)),
        ((0, 1), (1, 0), ()),
        ((0, 1), (0, 1), (0,)),
        ((0, 1), (2, 1), (2, 0)),
    ],
)
def test_contract(labels: tuple[tuple[int, ...], ...]) -> None:
    lhs, rhs, out = labels
    sizes = {0: 2, 1: 3, 2: 4}
    avals = [array(*(sizes[s] for s in side)) for side in (lhs, rhs)]
    check_all(avals, lambda b, x, y: make.contract(b, x, y, lhs, rhs, out))


def test_a_matrix_times_a_batch_of_vectors_is_one_product() -> None:
    """w @ x becomes x @ w.T: the batch axis leads without a transpose of the result."""
    g = check(build([array(2, 4), array(4)], make.matmul), [None, 0])
    (s,) = g.body.statements
    assert isinstance(s, Apply) and s.op is ops.CONTRACT
    assert s.args == (g.body.params[1], g.body.params[0])
    assert s.attrs == ops.core.ContractAttrs((0, 1), (2, 1), (0, 2))


def test_a_matrix_times_a_batch_of_matrices_stays_in_order() -> None:
    g = check(build([array(2, 4), array(4, 5)], make.matmul), [None, 0])
    (s,) = g.body.statements
    assert isinstance(s, Apply) and s.args == g.body.params


# ---- indexing ------------------------------------------------------------------------------------

DIMS: list[tuple[Dim, ...]] = [
    (At(1), Run(0, 4), Run(0, 2)),
    (Run(0, 3), Run(3, 4, -1), At(0)),
    (At(Dyn(0)), Run(0, 4), Run(0, 5)),
    (Run(0, 3), At(Dyn(0)), At(Dyn(1))),
    (At(Dyn(0)), Run(1, 2), At(Dyn(1))),
    (Run(Dyn(0), 2), Run(0, 4), Run(0, 5)),
    (Run(0, 3), Run(Dyn(0), 2), Run(Dyn(1), 2, 2)),
    (At(Dyn(0)), Run(Dyn(1), 2), Run(1, 2)),
    (Run(Dyn(0), 2), Run(1, 3), At(Dyn(1))),
    (Run(0, 3), Run(1, 3), Run(Dyn(0), 2, -1)),
]
GATHERS: list[tuple[Dim, ...]] = [
    (Gather(0), Run(0, 4), Run(0, 5)),
    (Run(0, 3), Gather(0), Run(1, 2)),
    (Run(0, 3), Gather(0), Gather(1)),
    (Gather(0), Run(0, 4), Gather(1)),
    (Gather(0), Run(1, 2), At(2)),
    (At(1), Gather(0), Run(0, 5)),
    (Run(0, 3), At(1), Gather(1)),
]
MIXED: list[tuple[Dim, ...]] = [
    (Gather(0), At(Dyn(1)), Run(0, 5)),
    (Gather(0), Run(0, 4), At(Dyn(1))),
    (Run(Dyn(1), 2), Gather(0), Run(1, 2)),
    (Gather(0), Run(Dyn(1), 2), Run(0, 5)),
    (Run(Dyn(1), 2), Run(0, 4), Gather(0)),
]
X = array(3, 4, 5)


def start_for(dims: tuple[Dim, ...]) -> dict[str, int]:
    """Run-time starts that keep every slice inside."""
    return {"low": 1, "high": 3} if any(isinstance(d, Run) and d.step < 0 for d in dims) else {"low": 0, "high": 2}


@pytest.mark.parametrize("dims", DIMS)
def test_index_by_run_time_scalars(dims: tuple[Dim, ...]) -> None:
    check_all([X, array(dtype=int), array(dtype=int)], lambda b, x, *k: make.index(b, x, dims, k), **start_for(dims))


@pytest.mark.parametrize("dims", GATHERS)
@pytest.mark.parametrize("shapes", [((2,), (2,)), ((2, 3), (3,)), ((1,), (2, 2))])
def test_index_by_arrays(dims: tuple[Dim, ...], shapes: Sequence[tuple[int, ...]]) -> None:
    check_all([X, *(array(*s, dtype=int) for s in shapes)], lambda b, x, *k: make.index(b, x, dims, k), low=-3)


@pytest.mark.parametrize("dims", MIXED)
@pytest.mark.parametrize("shape", [(2,), (2, 3)])
def test_index_by_arrays_and_scalars(dims: tuple[Dim, ...], shape: tuple[int, ...]) -> None:
    avals = [X, array(*shape, dtype=int), array(dtype=int)]
    check_all(avals, lambda b, x, *k: make.index(b, x, dims, k), high=2)


@pytest.mark.parametrize("store", [make.put, make.put_add])
@pytest.mark.parametrize("dims", [*DIMS, *MIXED])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_stores(store: Callable[..., Atom], dims: tuple[Dim, ...], rank: int) -> None:
    """The value has the last `rank` axes of the place, the first of them of size 1."""
    gathered = any(isinstance(d, Gather) for d in dims)
    indices = [array(2, dtype=int) if gathered else array(dtype=int), array(dtype=int)]
    place = build([X, *indices], lambda b, x, *k: make.index(b, x, dims, k)).body.results[0].aval.shape
    shape = place[max(0, len(place) - rank) :]
    if rank > len(place):
        if store is make.put_add:
            pytest.skip("np.add.at takes no value of a higher rank than the place")
        shape = (1, *place)
    elif len(shape) > 1:
        shape = (1, *shape[1:])
    if store is make.put and gathered:
        shape = ()  # which of two stores to one element is the last is NumPy's business
    bounds = start_for(dims)
    check_all([X, array(*shape), *indices], lambda b, x, v, *k: store(b, x, v, dims, k), **bounds)


@pytest.mark.parametrize("dims", GATHERS)
def test_stores_at_distinct_places(dims: tuple[Dim, ...]) -> None:
    """With no repeated index, the values of a store differ from place to place."""
    where = np.array([0, 2])

    def body(b: Any, x: Atom, v: Atom) -> Atom:
        return make.put(b, x, v, dims, (where, where))

    place = build([X], lambda b, x: make.index(b, x, dims, (where, where))).body.results[0].aval.shape
    check_all([X, array(*place)], body)
    check_all([X, array(*place[1:])], body)


def test_an_index_batched_with_its_array_is_an_arange() -> None:
    f = build([array(4), array(dtype=int)], lambda b, x, i: make.index(b, x, [At(Dyn(0))], [i]))
    assert ops_of(check(f, [0, 0])) == ["iota", "index"]


def test_a_batched_index_into_one_array_is_a_gather() -> None:
    f = build([array(4, 2), array(dtype=int)], lambda b, x, i: make.index(b, x, [At(Dyn(0)), Run(0, 2)], [i]))
    assert ops_of(check(f, [None, 0])) == ["index"]


def test_a_store_into_fresh_zeros_makes_more_zeros() -> None:
    f = build([array()], lambda b, v: make.put(b, make.zeros(b, (4,)), v, [At(1)]))
    g = check(f, [0])
    assert ops_of(g) == ["full", "put"]


# ---- functions -----------------------------------------------------------------------------------


def softmax(b: Any, x: Atom) -> Atom:
    e = make.elementwise(b, ops.EXP, make.subtract(b, x, make.max(b, x, -1, True)))
    return make.divide(b, e, make.sum(b, e, -1, True))


def layer_norm(b: Any, x: Atom, g: Atom) -> Atom:
    centred = make.subtract(b, x, make.divide(b, make.sum(b, x, -1, True), 4))
    variance = make.divide(b, make.sum(b, make.multiply(b, centred, centred), -1, True), 4)
    return make.multiply(b, make.divide(b, centred, make.elementwise(b, ops.SQRT, make.add(b, variance, 1e-5))), g)


def test_predict() -> None:
    def predict(b: Any, w: Atom, bias: Atom, x: Atom) -> Atom:
        return make.elementwise(b, ops.TANH, make.add(b, make.matmul(b, w, x), bias))

    check_all([array(2, 4), array(2), array(4)], predict)


def test_softmax_and_layer_norm() -> None:
    check_all([array(4)], softmax)
    check_all([array(3, 4), array(4)], layer_norm)


@pytest.mark.parametrize("in_axis", [0, 1, 2, -1])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes(in_axis: int, out_axis: int) -> None:
    f = build([array(2, 3), array(3)], lambda b, x, y: make.multiply(b, x, y))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 2, 3)), rng.normal(size=3)
    g = vmap(f, [in_axis, None], [out_axis], 5)
    verify(g)
    (got,) = evaluate(g, [np.moveaxis(x, 0, in_axis), y])
    np.testing.assert_array_equal(got, np.moveaxis(x * y, 0, out_axis))


def test_results_that_do_not_depend_on_the_batch() -> None:
    f = build([array(2), array(2)], lambda b, x, y: (make.add(b, x, y), make.multiply(b, y, 2.0), make.lift(3.0)))
    g = vmap(f, [0, None], [0, None, 0], 3)
    verify(g)
    x, y = np.arange(6.0).reshape(3, 2), np.ones(2)
    total, double, three = evaluate(g, [x, y])
    np.testing.assert_array_equal(total, x + 1)
    np.testing.assert_array_equal(double, [2.0, 2.0])
    np.testing.assert_array_equal(three, [3.0] * 3)
    with pytest.raises(ShapeError, match="mapped output"):
        vmap(f, [0, None], [None, None, 0], 3)


def test_nested() -> None:
    """All pairs: the inner map runs over y, the outer over x."""
    f = build([array(4), array(4)], lambda b, x, y: make.sum(b, make.multiply(b, make.subtract(b, x, y), 2.0)))
    g = vmap(vmap(f, [None, 0], [0], 5), [0, None], [0], 3)
    verify(g)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(5, 4))
    np.testing.assert_allclose(evaluate(g, [x, y])[0], (2 * (x[:, None] - y)).sum(-1), rtol=1e-12)
    assert g.name == "f_batched_batched"


def test_a_written_parameter_keeps_its_axis() -> None:
    f = build([array(3), array()], lambda b, x, v: (v, make.put(b, x, v, [At(0)])), mutated=(0,))
    g = vmap(f, [1, 0], [0], 2)
    verify(g)
    x, v = np.zeros((3, 2)), np.array([1.0, 2.0])
    np.testing.assert_array_equal(evaluate(g, [x, v])[1], [[1, 2], [0, 0], [0, 0]])
    with pytest.raises(ShapeError, match="x0 is not batched"):
        vmap(f, [None, 0], [0], 2)


def test_an_empty_batch() -> None:
    f = build([array(3), array(dtype=int)], lambda b, x, n: loop_of(b, x, n))
    g = vmap(f, [0, 0], [0], 0)
    verify(g)
    assert evaluate(g, [np.zeros((0, 3)), np.zeros(0, int)])[0].shape == (0, 3)


def loop_of(b: Any, x: Atom, n: Atom) -> Atom:
    turns = Range(make.lift(0), n, make.lift(1))
    return loop(b, turns, [x], lambda b, i, c: [make.add(b, c, i)])[0]


def test_spans_and_names_stay() -> None:
    span = Span("f.py", 3, 0, 3, 9, "x @ w")
    f = build([array(3), array(3, 2)], lambda b, x, w: b.apply(ops.EXP, make.matmul(b, x, w), hint="h"))
    body = tuple(ops_with(s, span) for s in f.body.statements)
    f = Function(f.name, f.params, type(f.body)(f.body.params, body, f.body.results), f.out)
    g = vmap(f, [0, None], [0], 4)
    assert {s.span for s in walk(g.body)} == {span}
    assert g.body.statements[-1].targets[0].hint == "h"
    assert [p.hint for p in g.body.params] == ["x0", "x1"]


def ops_with(s: Any, span: Span) -> Any:
    return Apply(s.targets, s.op, s.args, s.attrs, span)


def test_scalars_that_are_bool() -> None:
    check_all([BOOL, BOOL], make.logical_and)
