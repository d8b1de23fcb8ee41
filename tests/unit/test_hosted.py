"""Arrays of the host with an Array's methods: what random, numpy, lax, nn and scipy give outside of programs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import Array, DTypeError, accelerate, device_put, grad, jit, lax, nn, random, value_and_grad, vmap
from untraced import numpy as unp
from untraced.runtime.arrays.hosted import HostArray, lifted

KEY = random.PRNGKey(0)


def draw(*shape: int) -> Any:
    return random.normal(KEY, shape, np.float64)


def test_a_draw_is_numpys_and_jaxs() -> None:
    x = draw(5)
    assert isinstance(x, np.ndarray) and isinstance(x, Array) and x.block_until_ready() is x
    made = x.at[0].set(1.0).at[1:3].add(2.0)
    assert made[0] == 1.0 and made[1] == x[1] + 2.0 and x[0] != 1.0 and made.devices() == {x.device}
    x[0] = 7.0
    assert x[0] == 7.0 and not x.is_deleted() and not x.weak_type and x.copy_to_host_async() is None
    part = x.at[:2].get()
    part[0] = 0.0
    assert x[0] == 7.0  # no view
    assert jit(lambda v: np.sin(v) * 2)(draw(1000)).block_until_ready().shape == (1000,)


def test_what_is_no_array_of_the_kind_is_no_instance() -> None:
    assert not isinstance(np.ones(2), Array) and not isinstance(1.0, Array) and not isinstance(np.float64(1.0), Array)
    assert isinstance(device_put(1.0), Array) and not isinstance(np.ma.masked_array([1.0]), Array)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: unp.sin(x),
        lambda x: lax.add(x, 1.0),
        lambda x: nn.relu(x),
        lambda x: unp.concatenate([x, x]),
        lambda x: unp.linalg.inv(np.diag(x)),
        lambda x: unp.fft.rfft(x),
        lambda x: untraced.scipy.special.erf(x),
        lambda x: untraced.scipy.stats.norm.logpdf(x),
        lambda x: lax.scan(lambda c, v: (c.at[0].add(v), c), np.zeros(2), x)[1],
        lambda x: lax.fori_loop(0, 2, lambda i, c: c.at[i].set(1.0), x),
        lambda x: untraced.flatten_util.ravel_pytree({"a": x})[0],
    ],
)
def test_functions_of_namespaces_give_them(function: Callable[[Any], Any]) -> None:
    x = np.arange(1.0, 4.0)
    result = function(x)
    assert type(result) is HostArray and type(function(unp.array(x))) is Array
    np.testing.assert_allclose(accelerate(function)(x), result)
    assert type(accelerate(function)(x)) is np.ndarray


def test_numpys_operations_keep_the_class_and_give_scalars() -> None:
    x = draw(4)
    for made in (x + 1, 1 - x, x > 0, x[:2], x.T, x.reshape(2, 2), np.exp(x), x.astype("f4"), np.cumsum(x), x.copy()):
        assert type(made) is HostArray
    for scalar in (x[0], x.sum(), np.mean(x), x @ x, np.max(x), x.std(), np.dot(x, x), unp.mean(x)):
        assert isinstance(scalar, np.float64) and isinstance(scalar, float)
    assert x.sum().block_until_ready() == np.sum(np.asarray(x))
    for made in (x.sum(), x.mean(), np.var(x), x.dot(x), x @ x, x.argmax(), x.max(), x.reshape(2, 2).trace()):
        assert isinstance(made, Array) and isinstance(made, np.generic)
    assert isinstance(x.mean(out=np.zeros(())), np.ndarray)
    assert repr(x.sum()).startswith("np.float64(") and hash(x.sum()) == hash(float(x.sum()))
    y = x
    x += 1.0
    assert y is x and type(x) is HostArray
    assert type(x + device_put(np.ones(4))) is type(device_put(np.ones(4)) * x) is Array


def test_copies_and_pickles() -> None:
    x = draw(3)
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(made) is HostArray and made is not x
        np.testing.assert_array_equal(made, x)
    assert repr(x) == repr(np.asarray(x)) and pickle.loads(pickle.dumps(x.sum())) == x.sum()
    for function in (unp.sin, lax.add, nn.relu, random.normal, unp.linalg.inv, unp.add.reduce):
        assert pickle.loads(pickle.dumps(function)) is function


def test_a_call_gives_what_it_is_given() -> None:
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        return x * 2.0, np.sum(x), {"n": x.shape[0]}

    fast = accelerate(f)
    plain = np.arange(3.0)
    for _ in range(3):
        for x, kind in ((lifted(plain), HostArray), (plain, np.ndarray), (device_put(plain), Array)):
            doubled, total, rest = fast(x)
            assert type(doubled) is kind and rest == {"n": 3} and float(total) == 3.0
        assert type(fast(plain)[1]) is np.float64 and isinstance(fast(lifted(plain))[1], Array)
    assert "1 translation" in fast.explain_recompiles() or fast.explain_recompiles().count("\n") < 4
    assert type(grad(lambda v: np.sum(v**2))(draw(3))) is HostArray
    assert type(vmap(lambda v: v * 2)(draw(3))) is HostArray and type(vmap(lambda v: v * 2)(plain)) is np.ndarray
    loss, slope = value_and_grad(lambda v: np.sum(v**2))(draw(3))
    assert loss.block_until_ready() > 0 and slope.at[0].set(0.0)[0] == 0.0


def test_one_program_serves_both_kinds() -> None:
    fast = accelerate(lambda x, y: x + y)
    plain = np.arange(3.0)
    fast(plain, plain)
    before = fast.explain_recompiles()
    for args in ((lifted(plain), plain), (plain, lifted(plain)), (lifted(plain), lifted(plain)), (lifted(plain), 1.0)):
        fast(*args)
    fast(plain, plain.sum())
    again = fast.explain_recompiles()
    fast(plain, lifted(plain).sum())
    assert before != again == fast.explain_recompiles()


def test_arguments_are_written_in_place() -> None:
    def store(key: Any, x: Any) -> Any:
        x[0] = 5.0
        return x

    for x in (np.zeros(3), lifted(np.zeros(3))):
        assert accelerate(store)(KEY, x) is x and x[0] == 5.0
    given = lifted(np.zeros(4))
    accelerate(lambda x, y: np.add(x, y, out=x))(given, np.asarray(given)[::-1])  # which are the same memory
    again = np.zeros(4)
    np.add(again, again[::-1], out=again)
    np.testing.assert_array_equal(given, again)


def test_arrays_found_outside() -> None:
    table = draw(3)
    f = jit(lambda: table + 1.0)
    assert type(f()) is HostArray
    table[0] = 9.0
    assert f()[0] == 10.0


def test_other_subclasses_are_refused() -> None:
    f = accelerate(lambda x: x + 1.0)
    for x in (np.ma.masked_array([1.0]), np.rec.fromarrays([[1.0]])):
        with pytest.raises(DTypeError):
            f(x)


def test_without_axes() -> None:
    x = lifted(np.array(2.0))
    assert type(x) is HostArray and isinstance(x + 1, np.float64) and x.at[()].set(3.0) == 3.0
    assert x.sum().at[()].add(1.0) == 3.0 and accelerate(lambda v: v * 2)(x) == 4.0


def test_scalar_types_give_arrays_for_arrays() -> None:
    a = unp.arange(3.0)
    assert type(unp.float32([1, 2])) is type(unp.float32(a)) is Array and unp.float32(a).dtype == np.float32
    assert unp.float32(2.0) == 2.0 and isinstance(unp.float32(2.0), np.float32) and unp.int32(3.7) == 3
    assert a.dtype == unp.float64 == a.dtype and unp.float32 == np.float32 == unp.float32 != unp.float64
    assert isinstance(np.float32(1), unp.float32) and not isinstance(1.0, unp.float32)
    assert unp.issubdtype(a.dtype, unp.float64) and unp.issubdtype(unp.float32, unp.floating)
    assert vmap(unp.float32)(a).dtype == np.float32
    assert {np.float32: 1}[unp.float32] == 1 and pickle.loads(pickle.dumps(unp.float32)) is unp.float32

    def f(x: Any, kind: Any) -> Any:
        y = unp.float32(x) * unp.float32(2.0) + unp.zeros(3, unp.float32)
        return (y + 1.0 if x.dtype == unp.float64 else y), x.astype(kind), kind(x)

    for x in (np.arange(3.0), a):
        for made, expected in zip(jit(f, static_argnums=1)(x, unp.int32), f(x, np.int32), strict=True):
            np.testing.assert_array_equal(made, expected)
            assert made.dtype == expected.dtype


def test_pmap_and_eigenvectors() -> None:
    assert type(untraced.pmap(lambda v: v * 2)(draw(1, 3))) is HostArray
    eigh = untraced.scipy.linalg.eigh
    a = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 1.0]])
    b = np.eye(3) + 0.1
    for solve in (eigh, accelerate(eigh)):
        w, v = solve(a)
        np.testing.assert_allclose(a @ v, v * w, atol=1e-12)
        w, v = solve(a, b)
        np.testing.assert_allclose(a @ v, b @ v * w, atol=1e-12)
        np.testing.assert_allclose(v.T @ b @ v, np.eye(3), atol=1e-12)
    w, v = eigh(np.triu(a), b, lower=False)
    np.testing.assert_allclose(a @ v, b @ v * w, atol=1e-12)
    assert type(eigh(device_put(a))[1]) is Array
    with pytest.raises(NotImplementedError, match="type=1"):
        eigh(a, b, type=2)


def test_printed_programs_give_plain_arrays() -> None:
    x = np.arange(3.0)
    for run in (accelerate(untraced.scipy.special.erf, target="numpy"), vmap(untraced.scipy.special.erf)):
        assert type(run(x)) is np.ndarray and type(run(lifted(x))) is HostArray


def test_a_function_that_is_cut_gives_them_too() -> None:
    @accelerate
    def distinct(x: Any) -> Any:
        positive = x[x > 0]
        rounded = np.unique(np.round(positive))
        return {"all": np.concatenate([positive, rounded]), "sum": rounded.sum(), "shape": x.shape}

    x = draw(50)
    for _ in range(2):
        made = distinct(x)
        assert type(made["all"]) is HostArray and made["shape"] == (50,)
        assert made["sum"].block_until_ready() == made["sum"]
    assert type(distinct(np.asarray(x).view(np.ndarray))["all"]) is np.ndarray


@pytest.mark.parametrize("name", ["all", "any", "max", "mean", "min", "prod", "std", "sum", "var"])
def test_reductions_take_what_jax_lets_be_told(name: str) -> None:
    """No mask is None, and axes may be a list, of a result of a namespace as of an Array."""
    x = np.arange(1.0, 13.0).reshape(2, 3, 2)
    for a in (unp.square(x), unp.asarray(x) ** 2):
        wanted = getattr(x * x, name)()
        assert np.allclose(getattr(a, name)(where=None), wanted)
        assert np.allclose(getattr(unp, name)(a, axis=[0, 2]), getattr(x * x, name)(axis=(0, 2)))
        assert np.allclose(getattr(unp, name)(a, [0, 2]), getattr(x * x, name)(axis=(0, 2)))
    assert np.allclose(getattr(unp.square(x), name)([0, 2]), getattr(x * x, name)(axis=(0, 2)))
    assert np.allclose(getattr(unp.square(x), name)(axis=[1]), getattr(x * x, name)(axis=1))
    first = {"initial": 50.0} if name in ("max", "min") else {}
    kept = getattr(unp.square(x), name)(axis=0, keepdims=True, where=x > 0, **first)
    assert kept.shape == (1, 3, 2) and isinstance(kept, Array)


def test_astype_of_numbers() -> None:
    for x in (2.7, [2.7], np.float32(2.7), unp.ones(2)):
        assert unp.astype(x, np.int32).dtype == np.int32
    assert accelerate(lambda x: unp.astype(x, np.int32) + unp.astype(1.5, np.int32))(np.array([2.9])) == 3
