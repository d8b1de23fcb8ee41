"""NumPy's functions as the reader sees them: read, evaluated by the reference interpreter, compared with NumPy."""

from __future__ import annotations

import itertools
import linecache
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
from test_library import CASES, SPECIAL, assert_same

from untraced import accelerate
from untraced.translator import surface, tree
from untraced.translator.errors import UntracedError
from untraced.translator.evaluate import evaluate
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract

RNG = np.random.default_rng(1)
X = RNG.normal(size=(3, 4))
Y = RNG.normal(size=(4, 5))
V = RNG.normal(size=4)
T = RNG.normal(size=(2, 3, 4))
U = RNG.normal(size=(2, 4, 3))
I = RNG.integers(-5, 6, size=(3, 4))
F = X.astype(np.float32)
Z = X + 1j * RNG.normal(size=(3, 4))
B = X > 0

_numbers = itertools.count()


def function_of(text: str) -> Callable[..., Any]:
    """The function `f` of a text that the reader can find again."""
    name = f"<surface {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np, "scipy": scipy, "math": math}
    exec(compile(text, name, "exec"), space)
    return space["f"]  # type: ignore[no-any-return]


def through_reader(f: Callable[..., Any], *args: Any) -> Any:
    """f(*args) by reading f and interpreting the program."""
    signature, leaves = abstract(f, args, {}), tree.flatten(args)[0]
    reading = read(f, signature)
    values = [x for i, x in enumerate(leaves) if i not in reading.statics]
    with np.errstate(all="ignore"):
        results = evaluate(reading.function, values)
    return tree.unflatten(reading.function.out, results[: reading.function.out.leaf_count])


def expression_test(expression: str, *args: Any) -> None:
    names = "xyzw"[: len(args)]
    f = function_of(f"def f({', '.join(names)}):\n    return {expression}\n")
    with np.errstate(all="ignore"):
        wanted = f(*args)
    found = through_reader(f, *args)
    if isinstance(wanted, np.ndarray | np.generic | tuple | list):
        assert_same(found, wanted)
    else:
        assert found == wanted


def rendered(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, list[Any]]:
    """A call with its arrays as parameters and everything else written out."""
    arrays: list[Any] = []

    def show(v: Any) -> str:
        if isinstance(v, np.ndarray):
            arrays.append(v)
            return "xyzw"[len(arrays) - 1]
        if isinstance(v, list | tuple) and any(isinstance(item, np.ndarray) for item in v):
            return "[" + ", ".join(map(show, v)) + "]"
        return "np.inf" if v is np.inf else "np.float32" if v is np.float32 else repr(v).replace("inf", "np.inf")

    shown = [show(a) for a in args] + [f"{k}={show(v)}" for k, v in kwargs.items()]
    return f"{name}({', '.join(shown)})", arrays


LIBRARY = [rendered(f"np.{name}", args, kwargs) for _, name, args, kwargs in CASES]
LIBRARY += [rendered(f"scipy.special.{name}", args, kwargs) for name, args, kwargs in SPECIAL]


@pytest.mark.parametrize(("expression", "args"), LIBRARY, ids=[f"{e}-{i}" for i, (e, _) in enumerate(LIBRARY)])
def test_library_through_the_reader(expression: str, args: list[Any]) -> None:
    if expression.startswith("scipy"):
        f = function_of(f"def f({', '.join('xyzw'[: len(args)])}):\n    return {expression}\n")
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(through_reader(f, *args), f(*args), rtol=1e-13, atol=1e-15)
        return
    expression_test(expression, *args)


EXPRESSIONS: list[tuple[str, tuple[Any, ...]]] = [
    # reductions
    *[(f"np.{r}(x)", (a,)) for r in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin") for a in (X, I, F)],
    *[(f"np.{r}(x, axis=1, keepdims=True)", (X,)) for r in ("sum", "prod", "max", "amin", "any", "all", "argmax")],
    *[(f"x.{r}(0)", (X,)) for r in ("sum", "prod", "max", "min", "any", "all", "argmax", "mean", "std", "cumsum")],
    ("np.sum(x, (0, -1))", (T,)),
    ("np.sum(x, axis=0, dtype=np.float32)", (X,)),
    ("np.sum([x, x + 1.0], axis=0)", (X,)),
    ("np.sum(x)", (B,)),
    ("x.sum(axis=1).mean()", (I,)),
    ("np.cumsum(x)", (X,)),
    ("np.cumprod(x, axis=0)", (I.astype(np.int8),)),
    ("np.argmax(x, keepdims=True)", (X,)),
    ("np.add.reduce(x)", (X,)),
    ("np.maximum.reduce(x, axis=1)", (X,)),
    ("np.add.accumulate(x, 1)", (X,)),
    ("np.subtract.outer(x, y)", (V, X)),
    # shapes
    ("x.T, x.mT, x.real, x.ndim, x.shape, x.size, x.nbytes, x.itemsize", (X,)),
    ("np.transpose(x, (2, 0, 1))", (T,)),
    ("x.transpose(1, 0, 2)", (T,)),
    ("x.reshape(2, -1), x.reshape((4, 3)), np.reshape(x, -1)", (X,)),
    ("np.swapaxes(x, 0, -1), x.swapaxes(1, 2)", (T,)),
    ("np.moveaxis(x, 0, -1), np.moveaxis(x, (0, 1), (2, 0)), np.rollaxis(x, 2)", (T,)),
    ("np.broadcast_to(x, (3, 4)), np.expand_dims(x, (0, 2)), x[:, None]", (V,)),
    ("np.squeeze(x[None, :, None]), x[None].squeeze(0)", (V,)),
    ("np.concatenate([x, y]), np.concatenate((x, x), axis=1), np.concatenate([x, x], axis=None)", (X, X + 1)),
    ("np.concatenate([x, y])", (F, X)),
    ("np.stack([x, x * 2], axis=-1), np.stack(x)", (X,)),
    ("np.ravel(x), x.flatten(), x.ravel()", (X,)),
    ("np.take(x, [0, 2], axis=1), np.take(x, y), x.take(1, 0)", (X, np.array([[1, 3], [2, -1]]))),
    ("np.take_along_axis(x, y, 1)", (X, np.argsort(X, 1)[:, :2])),
    ("np.diagonal(x), np.diagonal(x, 1), np.diagonal(x, -1)", (X,)),
    ("np.diagonal(x, axis1=0, axis2=2), x.diagonal(0, 1, 2), x.trace()", (T,)),
    ("np.broadcast_arrays(x, y)", (X, V)),
    ("np.meshgrid(x, y), np.meshgrid(x, y, indexing='ij', sparse=True), np.indices((2, 3))", (V, V[:2])),
    ("np.indices(len(v) for v in (x, y)), np.indices(map(len, (x, y)))", (V, V[:2])),
    # creation
    ("np.zeros((2, 3)) + x, np.ones(4, dtype=int) * x, np.full((2, 2), 7), np.full(3, 2.5, np.float32)", (V[0],)),
    (
        "np.zeros_like(x), np.full_like(x, 3), np.full_like(x, 2, dtype=int), np.zeros_like(x, shape=2)",
        (F,),
    ),
    ("np.arange(5), np.arange(2, 9, 3), np.arange(5, 0, -2), np.arange(0.1, 1, 0.3), np.arange(3.0)", ()),
    ("np.arange(1, 4, dtype=np.float32), np.arange(4, dtype=np.int8), np.arange(0)", ()),
    ("np.linspace(0, 1, 7), np.linspace(1, 0, 5, endpoint=False), np.linspace(2, 3, 1), np.linspace(0.1, 0.7, 11)", ()),
    ("np.linspace(x, 2.0, 5), np.linspace(x, y, 4, axis=1), np.linspace(0, 10, 5, dtype=int)", (V, V + 2)),
    ("np.linspace(0, 1, 5, retstep=True)", ()),
    ("np.eye(3), np.eye(2, 4, 1), np.identity(2), np.tri(3, 4, -1), np.eye(3, k=-1, dtype=int)", ()),
    ("np.array([1, 2, 3]), np.array([[1.0, x[0]], [x[1], 2]]), np.array([x, x]), np.array(2.5)", (V,)),
    ("np.array(x, dtype=np.float32), np.asarray(x), np.asarray([1, 2], float), np.array([1, 2], ndmin=2)", (X,)),
    ("np.array([x[0], 1.0])", (F[0],)),
    ("np.copy(x), x.copy(), np.ascontiguousarray(x)", (X,)),
    # products
    ("x @ y, np.matmul(x, y), np.dot(x, y), x.dot(y)", (X, Y)),
    ("x @ y, y @ x.T, np.inner(x, y), np.vdot(y, y), np.outer(y, x)", (X, V)),
    ("np.dot(x, y), np.matmul(x, y), np.tensordot(x, y, axes=([2], [1]))", (T, U)),
    ("np.matmul(x, y), y @ z", (T, Y, Y.T)),
    ("np.matmul(x[:1], y), x[:, None] @ y", (T, U)),
    ("np.dot(x, 2.0), np.dot(3, x), np.tensordot(x, x), np.tensordot(x, x, 0)", (X,)),
    ("np.vdot(x, x), np.inner(x, x), np.conj(x), x.conj().T @ x", (Z,)),
    ("x @ x.T", (I,)),
    ("np.vecdot(x, y), np.matvec(x, y), np.vecmat(y, x.T)", (X, V)),
    ("np.linalg.multi_dot([x, y, y.T])", (X, Y)),
    ("np.einsum('ij,jk->ik', x, y), np.einsum('ij,jk', x, y), np.einsum('ij->ji', x), np.einsum('ij->', x)", (X, Y)),
    ("np.einsum('ij,jk,kl->il', x, y, y.T), np.einsum('ij,ij->i', x, x), np.einsum('i,j->ij', x[0], y[0])", (X, Y)),
    (
        "np.einsum('...ij,...jk->...ik', x, y), np.einsum('bij,bjk->bik', x, y), np.einsum('ij,kj->', x[0], x[0])",
        (T, U),
    ),
    ("np.einsum('ba', x), np.einsum('i...->...', x), np.einsum('ij,j->i', x, y)", (X, V)),
    ("np.einsum('ij,ij->ij', x[:1], y)", (X, X)),
    # elementwise
    ("np.where(x > 0, x, 0.0), np.where(x > 0, 1, 2), np.where(True, x, 1.0)", (F,)),
    ("np.clip(x, 0, 1), np.clip(x, None, 0.5), np.clip(x, -0.5, None), x.clip(0.0), np.clip(x, min=0, max=2)", (F,)),
    ("np.round(x, 2), np.round(x), np.around(x, -1), x.round(1), np.fix(x)", (X * 30,)),
    ("np.round(x), np.round(x, -1)", (I * 7,)),
    ("np.real(x), np.imag(x), x.real, x.imag, np.conj(x), np.abs(x)", (Z,)),
    ("np.real(x), np.imag(x), np.conj(x), x.imag", (F,)),
    ("np.divmod(x, 3), np.modf(y)", (I, X)),
    ("x.astype(np.float32), x.astype(int), np.astype(x, np.int8), np.float32(x), np.int64(x)", (X,)),
    ("np.add(x, 1, dtype=np.float64), np.sqrt(x, dtype=np.float64)", (np.abs(F),)),
    ("np.add(2, 3), np.add(x, 1)", (F,)),
    # numbers and dtypes
    ("np.finfo(x.dtype).eps * x, np.iinfo(np.int8).max, np.pi * x", (F,)),
    ("np.zeros(3, dtype=np.result_type(x, np.float64)), np.zeros(2, np.promote_types(x.dtype, int))", (F,)),
    ("np.can_cast(x.dtype, np.float64), np.shape(x), np.ndim(x), np.size(x), np.size(x, 1), np.isscalar(x)", (F,)),
    ("float(x[0, 0]) * x, int(x[0, 1] * 10) + x, x[0, 0].item() + x, bool(x[0, 0] > 0)", (F,)),
    ("abs(x), len(x), sum(x), max(x[0, 0], x[0, 1]), min(x[0, 0], x[1, 1]), round(x[0, 0] * 9.0)", (F,)),
    ("abs(x) * y, max(x, 2) * y, min(x, 1.0, -3) * y, pow(x, 2) * y, divmod(x, 2)", (-2.5, F)),
    ("sum([x, y, 1]), sum((x, y)), any([x[0, 0] > 0, False]), all([x[0, 0] > 0, True])", (X, F)),
    ("math.sin(x) * y, math.floor(x) * y, math.atan2(x, 2.0), math.log(x, 2), math.sqrt(2.0) * y", (2.5, F)),
    ("np.roll(x, y), np.diff(x, y), np.tile(x, y), np.repeat(x, y), np.eye(y), np.linalg.norm(x, y, 1)", (X, 2)),
    ("np.zeros((y, 2)) + x[0, :2], np.arange(y), x.reshape(y, -1), np.mean(x, y - 2), np.linspace(0, 1, y)", (X, 2)),
    ("math.sin(y[0, 0]), math.isnan(y[0, 0]), complex(x, 1.0) * y", (2.5, F)),
    # what is read whole, with questions about dtypes and nesting answered on the way
    ("np.gcd(x, 6), np.lcm(x, 4), np.bitwise_count(x), np.ldexp(y, x), np.block([[x, x], [x, x]])", (I, X)),
    ("np.nextafter(x, 1), np.spacing(x), np.frexp(x)", (F.astype(np.float16),)),
    ("np.spacing(x), np.nextafter(x, x), x.astype(np.float16).view(np.int16)", (B,)),
    ("np.angle(x), np.vdot(x, x), np.sort_complex(x.astype(np.float16))", (B,)),
]


@pytest.mark.parametrize(("expression", "args"), EXPRESSIONS, ids=[f"{e}-{i}" for i, (e, _) in enumerate(EXPRESSIONS)])
def test_expressions(expression: str, args: tuple[Any, ...]) -> None:
    expression_test(expression, *args)


REFUSED = [
    ("np.sum(x, axis=5)", X, "axis 5"),
    ("np.max(x, where=x > 0)", X, "identity"),
    ("np.where(x > 0)", X, "one argument"),
    ("np.einsum('ii->', x)", X, "sizes"),
    ("x.nonzero()", X, "nonzero"),
    ("np.reshape(x, (4, 3), order='A')", X, "order"),
    ("np.reshape(x, (5, 3))", X, "cannot reshape"),
    ("np.concatenate([x, x[0]])", X, "concatenated"),
    ("x @ x", X, "product"),
    ("float(x)", X, "float"),
    ("np.max(x[:, :0])", X, "empty"),
    ("np.einsum('ij,jk->iz', x, x)", X, "label"),
    ("np.sum(x, x)", X, "axis"),
    ("np.linalg.eigvals(x)", X, "real matrices"),
    ("np.zeros(x)", X, "shape"),
    ("np.isposinf(x)", Z, "ambiguous"),
    ("np.round(x, 1)", B, "bool"),
]


@pytest.mark.parametrize(("expression", "x", "word"), REFUSED, ids=[e for e, _, _ in REFUSED])
def test_refusals_are_clear(expression: str, x: np.ndarray, word: str) -> None:
    f = function_of(f"def f(x):\n    return {expression}\n")
    with pytest.raises(UntracedError, match=word):
        read(f, abstract(f, (x,), {}))


def test_an_option_that_numpy_does_not_have_is_a_type_error() -> None:
    f = function_of("def f(x):\n    return np.sum(x, wrong=1)\n")
    with pytest.raises(TypeError, match="wrong"):
        read(f, abstract(f, (X,), {}))


def test_lookup_is_by_object() -> None:
    from numpy import tanh

    assert surface.handler_for(tanh) is surface.handler_for(np.tanh)
    assert surface.handler_for(np.abs) is surface.handler_for(np.absolute)
    assert surface.handler_for(print) is None
    assert surface.handler_for(object()) is None
    assert surface.method_handler("sum") is not None and surface.method_handler("no_such") is None
    assert surface.attribute_handler("T") is not None and surface.attribute_handler("flat") is None


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_series_in_lists_of_arguments(target: str) -> None:
    def f(a, b):
        return np.polynomial.polynomial.polymul(a, b), np.polynomial.polynomial.polyadd(a, b)

    found, expected = accelerate(f, target=target)([1, 2, 0], [3.0, 1.0]), f([1, 2, 0], [3.0, 1.0])
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-15)
