"""Constructors: what they fold, rewrite and refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.errors import DTypeError, OutOfBoundsError, ShapeError
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Apply, Atom, Aval, Const, Function, Param, Var
from untraced.translator.ops.core import At, Dyn, Gather, IndexAttrs, Run
from untraced.translator.tree import LEAF

F64, F32, I64 = (np.dtype(t) for t in ("float64", "float32", "int64"))


def var(*shape: int, dtype: Any = F64, weak: bool = False) -> Var:
    return Var("x", Aval(tuple(shape), np.dtype(dtype), weak))


def names(b: Builder) -> list[str]:
    return [s.op.name for s in b.statements if isinstance(s, Apply)]


def value(b: Builder, params: list[Var], result: Atom, *arguments: Any) -> Any:
    function = Function("f", tuple(Param(f"x{i}") for i in range(len(params))), b.block(params, [result]), LEAF)
    return evaluate(function, arguments)[0]


# ---- folding -------------------------------------------------------------------------------------


def test_python_arithmetic_folds_to_a_python_number() -> None:
    b = Builder()
    x = make.divide(b, 2.0, 1280)
    assert isinstance(x, Const) and x.value == 0.0015625 and x.aval.weak and not b.statements
    y = make.add(b, 2, 3)
    assert isinstance(y, Const) and type(y.value) is int and y.value == 5


def test_functions_fold_to_numpys_numbers() -> None:
    x = make.elementwise(Builder(), ops.SIN, 1.0)
    assert isinstance(x, Const) and type(x.value) is np.float64 and not x.aval.weak


def test_nothing_folds_that_would_warn_or_raise_or_grow() -> None:
    b = Builder()
    assert isinstance(make.divide(b, 1.0, 0.0), Var)
    assert isinstance(make.elementwise(b, ops.LOG, 0.0), Var)
    assert isinstance(make.power(b, 2, -1), Var)  # Python's float, NumPy's error: not an int64
    assert isinstance(make.add(b, np.zeros(65), 1.0), Var)
    assert isinstance(make.add(b, np.zeros(64), 1.0), Const)


# ---- identities ----------------------------------------------------------------------------------


@pytest.mark.parametrize("build", [make.multiply, make.divide, make.power])
def test_ones_vanish_only_where_type_and_shape_stay(build: Any) -> None:
    b, x = Builder(), var(3, dtype=F32)
    assert build(b, x, 1.0) is x
    assert build(b, x, np.float64(1.0)) is not x
    assert build(b, x, np.ones(3, F32)) is not x
    assert make.divide(b, var(3, dtype=I64), 1).aval.dtype == F64
    assert make.multiply(b, var(weak=True), np.float64(1.0)).aval.weak is False


def test_minus_one_negates_and_negations_cancel() -> None:
    b, x = Builder(), var(3)
    y = make.multiply(b, -1.0, x)
    assert names(b) == ["negative"]
    assert make.negative(b, y) is x


def test_identities_return_the_operand() -> None:
    b, x = Builder(), var(3, 4)
    assert make.reshape(b, x, (3, -1)) is x
    assert make.transpose(b, x, (0, 1)) is x
    assert make.broadcast_to(b, x, (3, 4)) is x
    assert make.astype(b, x, F64) is x
    assert make.squeeze(b, x, ()) is x
    assert make.expand_dims(b, x, ()) is x
    assert make.concatenate(b, [x], 1) is x
    assert make.index(b, x, [Run(0, 3), Run(0, 4)]) is x
    assert make.sum(b, x, ()) is x
    assert not b.statements


def test_a_known_condition_chooses() -> None:
    b, x, y = Builder(), var(3, dtype=F32), var(3, dtype=F32)
    assert make.where(b, True, x, y) is x
    assert make.where(b, False, x, 0.0).aval == Aval((3,), F32)


# ---- canonical shapes and products ---------------------------------------------------------------


def test_transposes_and_reshapes_compose() -> None:
    b, x = Builder(), var(2, 3, 4)
    y = make.transpose(b, make.transpose(b, x, (1, 2, 0)), (2, 0, 1))
    assert y is x
    z = make.reshape(b, make.reshape(b, x, (6, 4)), (24,))
    made = b.definitions[z] if isinstance(z, Var) else None
    assert made is not None and made.args == (x,)


def test_new_axes_and_their_removal_cancel() -> None:
    b = Builder()
    x, y = var(3, 1, 4), var(3, 4)
    assert make.expand_dims(b, make.squeeze(b, x, 1), (1,)) is x
    assert make.squeeze(b, make.expand_dims(b, y, (0, 2)), (0, 2)) is y
    other = make.expand_dims(b, make.squeeze(b, x, 1), (0,))
    assert other.aval.shape == (1, 3, 4)


def test_a_transposed_operand_goes_into_the_labels() -> None:
    b, x, y = Builder(), var(4, 3), var(4, 5)
    product = make.matmul(b, make.transpose(b, x), y)
    assert isinstance(product, Var)
    made = b.definitions[product]
    assert made.args == (x, y)
    a, c = np.random.default_rng(0).normal(size=(4, 3)), np.ones((4, 5))
    np.testing.assert_allclose(value(b, [x, y], product, a, c), a.T @ c)


def test_a_new_axis_of_an_operand_becomes_one_of_the_result() -> None:
    b, x, y = Builder(), var(4, 3), var(4, 3)
    product = make.matmul(b, make.expand_dims(b, x, 1), make.expand_dims(b, y, 2))
    assert names(b)[-2:] == ["contract", "expand_dims"] and product.aval.shape == (4, 1, 1)
    p, q = np.random.default_rng(0).normal(size=(2, 4, 3))
    np.testing.assert_allclose(value(b, [x, y], product, p, q), p[:, None] @ q[:, :, None])


@pytest.mark.parametrize(
    ("shape_x", "shape_y"),
    [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (1, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
    ],
)
def test_matmul_is_numpys(shape_x: tuple[int, ...], shape_y: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=shape_x), rng.normal(size=shape_y)
    b, x, y = Builder(), var(*shape_x), var(*shape_y)
    product = make.matmul(b, x, y)
    assert product.aval.shape == (p @ q).shape
    np.testing.assert_allclose(value(b, [x, y], product, p, q), p @ q)


def test_a_label_of_one_operand_is_summed_first() -> None:
    b, x, y = Builder(), var(3, 4), var(3)
    product = make.contract(b, x, y, (0, 1), (0,), (0,))
    assert names(b) == ["sum", "contract"]
    p, q = np.arange(12.0).reshape(3, 4), np.arange(3.0)
    np.testing.assert_allclose(value(b, [x, y], product, p, q), np.einsum("ij,i->i", p, q))


def test_equal_products_are_equal_statements() -> None:
    b, x, y = Builder(), var(2, 3), var(3, 4)
    first, second = make.contract(b, x, y, (7, 5), (5, 9), (7, 9)), make.matmul(b, x, y)
    assert isinstance(first, Var) and isinstance(second, Var)
    assert b.definitions[first].attrs == b.definitions[second].attrs


# ---- indexing ------------------------------------------------------------------------------------


def test_known_indices_become_static_and_the_rest_is_renumbered() -> None:
    b, x, i = Builder(), var(5, 6, 7), var(dtype=I64, weak=True)
    y = make.index(b, x, [At(Dyn(0)), Run(Dyn(1), 2), At(Dyn(2))], [make.lift(-1), i, i])
    assert isinstance(y, Var)
    made = b.definitions[y]
    assert made.attrs == IndexAttrs((At(4), Run(Dyn(1), 2), At(Dyn(1)))) and made.args == (x, i)
    data = np.arange(210.0).reshape(5, 6, 7)
    np.testing.assert_array_equal(value(b, [x, i], y, data, 3), data[-1, 3:5, 3])


def test_runs_of_one_or_none_are_canonical() -> None:
    b, x = Builder(), var(5, 6)
    y = make.index(b, x, [Run(4, 1, -2), Run(3, 0, 2)])
    assert isinstance(y, Var) and b.definitions[y].attrs == IndexAttrs((Run(4, 1), Run(0, 0)))


@pytest.mark.parametrize(
    "dims", [[Gather(0), Run(0, 4), Gather(1)], [Run(0, 3), Gather(0), At(1)], [At(2), At(1), Gather(1)]]
)
def test_gathers_are_numpys(dims: list[Any]) -> None:
    data = np.arange(60.0).reshape(3, 4, 5)
    i, j = np.array([[0, 2], [1, -1]]), np.array([3, 0])
    b, x, p, q = Builder(), var(3, 4, 5), var(2, 2, dtype=I64), var(2, dtype=I64)
    y = make.index(b, x, dims, [p, q])
    key = tuple((i, j)[d.arg] if isinstance(d, Gather) else d.index if isinstance(d, At) else slice(None) for d in dims)
    assert y.aval.shape == data[key].shape
    np.testing.assert_array_equal(value(b, [x, p, q], y, data, i, j), data[key])


def test_stores() -> None:
    b, x, v = Builder(), var(4), var(2)
    y = make.put(b, x, v, [Run(1, 2)])
    np.testing.assert_array_equal(value(b, [x, v], y, np.zeros(4), np.ones(2)), [0, 1, 1, 0])
    assert make.put(b, x, make.astype(b, var(4), F64), [Run(0, 4)]).aval.shape == (4,)
    b, x, i = Builder(), var(3), var(4, dtype=I64)
    z = make.put_add(b, x, 1.0, [Gather(0)], [i])
    np.testing.assert_array_equal(value(b, [x, i], z, np.zeros(3), np.array([0, 2, 2, -1])), [1, 0, 3])
    same = make.put(b, x, 5, [Run(0, 3)])
    np.testing.assert_array_equal(value(b, [x, i], same, np.zeros(3), np.zeros(4, int)), [5, 5, 5])


def test_a_dynamic_slice_that_leaves_the_axis_is_an_error() -> None:
    b, x, i = Builder(), var(5), var(dtype=I64, weak=True)
    y = make.index(b, x, [Run(Dyn(0), 3)], [i])
    with pytest.raises(IndexError):
        value(b, [x, i], y, np.zeros(5), 3)


# ---- types and refusals --------------------------------------------------------------------------


def test_numbers_become_pythons() -> None:
    b, x = Builder(), var(dtype=F32)
    n = make.number(b, x, F64)
    assert n.aval == Aval((), F64, weak=True) and make.number(b, n, F64) is n
    assert type(value(b, [x], n, np.float32(2.5))) is float
    with pytest.raises(ShapeError):
        make.number(b, var(3), F64)


def test_created_arrays() -> None:
    b = Builder()
    for atom, wanted in [
        (make.zeros(b, (2, 3), F32), np.zeros((2, 3), F32)),
        (make.full(b, (2,), 7), np.full(2, 7)),
        (make.iota(b, 4), np.arange(4)),
        (make.full(b, (2, 2), np.array([1.0, 2.0])), np.array([[1.0, 2.0], [1.0, 2.0]])),
        (make.zeros(b, (), I64), np.int64(0)),
    ]:
        found = value(b, [], atom)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == wanted.dtype


@pytest.mark.parametrize(
    ("error", "build"),
    [
        (ShapeError, lambda b: make.add(b, var(3), var(4))),
        (ShapeError, lambda b: make.matmul(b, var(3, 4), var(3, 4))),
        (ShapeError, lambda b: make.matmul(b, var(), var(3))),
        (ShapeError, lambda b: make.sum(b, var(3), 1)),
        (ShapeError, lambda b: make.sum(b, var(3, 3), (0, -2))),
        (ShapeError, lambda b: make.max(b, var(0))),
        (ShapeError, lambda b: make.reshape(b, var(6), (4, -1))),
        (ShapeError, lambda b: make.transpose(b, var(2, 3), (0, 0))),
        (ShapeError, lambda b: make.squeeze(b, var(2, 3), 0)),
        (ShapeError, lambda b: make.concatenate(b, [var(2, 3), var(2)])),
        (ShapeError, lambda b: make.concatenate(b, [])),
        (ShapeError, lambda b: make.concatenate(b, [1.0, 2.0])),
        (OutOfBoundsError, lambda b: make.index(b, var(3), [At(3)])),
        (ShapeError, lambda b: make.zeros(b, (-1,))),
        (DTypeError, lambda b: make.astype(b, var(3), "datetime64[s]")),
        (DTypeError, lambda b: make.elementwise(b, ops.INVERT, var(3))),
        (DTypeError, lambda b: make.index(b, var(3), [At(Dyn(0))], [var()])),
        (TypeError, lambda b: make.elementwise(b, ops.ADD, var(3))),
    ],
)
def test_refusals(error: type[Exception], build: Any) -> None:
    with pytest.raises(error):
        build(Builder())


def test_every_reduction_of_every_dtype_has_numpys_type() -> None:
    for op in (ops.SUM, ops.PROD, ops.MAX, ops.MIN, ops.ANY, ops.ALL_):
        for name in "bool int8 int32 int64 uint8 uint64 float16 float32 float64 complex64 complex128".split():
            b, x = Builder(), var(2, 3, dtype=name)
            data = np.ones((2, 3), name)
            for axes in (None, 0, (0, 1), ()):
                found = value(b, [x], make.reduce(b, op, x, axes, True), data)
                wanted = op.evaluate(data, axis=axes, keepdims=True)
                assert found.dtype == wanted.dtype and found.shape == wanted.shape
                np.testing.assert_array_equal(found, wanted)
    assert math.isnan(value(Builder(), [], make.lift(float("nan"))))


def test_choices_of_bools_are_logic() -> None:
    c, x = var(3, dtype="bool"), var(3, dtype="bool")
    table = [(True, x, "logical_or"), (x, False, "logical_and"), (False, x, "logical_and"), (x, True, "logical_or")]
    flags = np.array([True, True, False]), np.array([True, False, False])
    for first, second, last in table:
        b = Builder()
        made = make.where(b, c, first, second)
        assert names(b)[-1] == last
        want = np.where(flags[0], flags[1] if first is x else first, flags[1] if second is x else second)
        np.testing.assert_array_equal(value(b, [c, x], made, *flags), want)


def test_a_choice_in_a_choice_is_one() -> None:
    c, d = (var(4, dtype="bool") for _ in range(2))
    x, y = var(4), var(4)
    given = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool), np.arange(4.0), np.arange(4.0) + 10
    for inner, want in (((x, y), [0.0, 11.0, 12.0, 13.0]), ((y, x), [10.0, 1.0, 12.0, 13.0])):
        b = Builder()
        made = make.where(b, c, make.where(b, d, *inner), y)
        np.testing.assert_array_equal(value(b, [c, d, x, y], made, *given), want)
        assert names(b).count("where") == 2 and names(b)[-2] == "logical_and"


def test_the_lesser_integer_is_minimum_and_floats_keep_their_choice() -> None:
    for dtype, last in ((I64, "minimum"), (F64, "where")):
        b = Builder()
        x, y = var(3, dtype=dtype), var(3, dtype=dtype)
        make.where(b, make.less(b, x, y), x, y)
        assert names(b)[-1] == last
    b = Builder()
    x = var(3, dtype=I64)
    made = make.where(b, make.greater(b, 1, x), np.int64(1), x)
    assert names(b)[-1] == "maximum"
    np.testing.assert_array_equal(value(b, [x], made, np.array([0, 1, 2])), [1, 1, 2])


def test_new_axes_of_what_is_filled() -> None:
    b = Builder()
    assert make.expand_dims(b, make.zeros(b, (3,)), (1,)).aval.shape == (3, 1)
    assert names(b) == ["full", "full"]
