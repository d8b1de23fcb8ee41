"""What `test_several_devices.py` runs in a process with four devices of untraced's, and four of jax's."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import untraced
from untraced import (
    Array,
    UnsupportedError,
    accelerate,
    device_put,
    device_put_replicated,
    device_put_sharded,
    devices,
    grad,
    lax,
    pmap,
    tree,
    value_and_grad,
    vmap,
)

N = 4
RNG = np.random.default_rng(0)
W, X = RNG.standard_normal((N, 3)), RNG.standard_normal((N, 5, 3))
RING = [(k, (k + 1) % N) for k in range(N)]


def same(got: Any, wanted: Any) -> None:
    tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), got, wanted)


def energy(a: Any) -> Any:
    told = np.sum(lax.psum(a * a, "i") * lax.ppermute(a, "i", RING)) + np.sum(lax.pmax(a, "i") ** 2)
    return told + np.sum(lax.all_gather(a, "i") ** 3) + np.sum(lax.pmin(a, "i")) * lax.axis_index("i")


def exchanged(a: Any) -> Any:
    whole = lax.all_gather(a, "i")
    return (
        lax.all_to_all(whole, "i", 0, 0), lax.psum_scatter(whole, "i"), lax.ppermute(a, "i", [(0, 2)]),
        lax.all_gather(a, "i", tiled=True), lax.pmean(a, "i"), lax.axis_size("i"),
    )  # fmt: skip


def in_groups(a: Any) -> Any:
    by: dict[str, Any] = {"axis_index_groups": [[0, 3], [2, 1]]}
    whole = lax.all_gather(a, "i", **by)
    return lax.pmean(a, "i", **by), lax.pmax(a, "i", **by), whole, lax.psum_scatter(whole * a, "i", **by)


def looped(a: Any) -> Any:
    for _ in range(6):
        a = a * 0.5 + lax.pmean(np.sin(a), "i")
    return a


def until_small(a: Any) -> Any:
    while lax.psum(np.sum(a * a), "i") > 1.0:
        a = a * 0.7 + 0.01 * lax.pmean(a, "i")
    return a


def own_turns(a: Any) -> Any:
    n = 0
    while np.sum(a) < 10.0:
        a = a + abs(a) + 1.0
        n += 1
    return n, np.sort(a)


def nested(a: Any) -> Any:
    def inner(r: Any) -> Any:
        return lax.psum(r, ("i", "j")) + lax.axis_index("i") * 10 + lax.axis_index("j")

    return vmap(inner, axis_name="j")(a)


CASES = {
    "derivative": (grad(energy), W),
    "value and derivative": (value_and_grad(energy), W),
    "exchanges": (exchanged, W),
    "groups": (in_groups, W),
    "loop": (looped, W),
    "derivative of a loop": (grad(lambda a: np.sum(looped(a))), W),
    "condition on all": (until_small, W),
    "own turns": (own_turns, W),
    "batch inside": (vmap(energy), np.stack([W, W + 1], 1)),
    "names inside names": (nested, X),
    "linear algebra": (lambda a: np.linalg.solve(a @ a.T + np.eye(5), a), X),
}


@pytest.mark.parametrize("case", CASES)
def test_devices_compute_what_a_batch_does(case: str) -> None:
    f, x = CASES[case]
    wanted = vmap(f, axis_name="i")(x)
    same(pmap(f, "i")(x), wanted)
    on_devices = pmap(f, "i")(device_put(x))
    assert all(isinstance(leaf, Array) for leaf in tree.leaves(on_devices))
    same(on_devices, wanted)


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "i8", "u1", "c8", "c16", "?", ml_dtypes.bfloat16])
def test_every_dtype_goes_between_devices(dtype: Any) -> None:
    x = (W * 3).astype(dtype)

    def f(a: Any) -> Any:
        return lax.psum(a, "i"), lax.all_gather(a, "i"), lax.ppermute(a, "i", RING)

    for got, wanted in zip(pmap(f, "i")(x), vmap(f, axis_name="i")(x), strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got.astype("c16"), wanted.astype("c16"), rtol=2e-2)


def loss(p: Any, x: Any, y: Any) -> Any:
    return np.mean((np.tanh(x @ p["w"]) + p["b"] - y) ** 2)


def step(p: Any, x: Any, y: Any) -> Any:
    value, g = value_and_grad(loss)(p, x, y)
    return lax.pmean(value, "i"), tree.map(lambda a, b: a - 0.1 * lax.pmean(b, "i"), p, g)


PARAMS, Y = {"w": RNG.standard_normal(3), "b": np.zeros(())}, RNG.standard_normal((N, 5))


def test_results_stay_where_they_are_computed() -> None:
    train = pmap(step, axis_name="i")
    params, x, y = device_put_replicated(PARAMS, devices()), device_put_sharded(list(X), devices()), device_put(Y)
    assert params["w"].shape == (N, 3)
    same(x, X)
    for _ in range(50):  # more than XLA has threads for at a time
        value, params = train(params, x, y)
    assert params["w"].device is x.device
    whole = PARAMS
    for _ in range(50):
        v, g = value_and_grad(loss)(whole, X.reshape(-1, 3), Y.reshape(-1))
        whole = tree.map(lambda a, b: a - 0.1 * b, whole, g)
    np.testing.assert_allclose(np.asarray(params["w"]), np.tile(whole["w"], (N, 1)), rtol=1e-9)
    np.testing.assert_allclose(np.asarray(value), [v] * N, rtol=1e-9)
    assert type(value + 1.0) is Array  # other computations gather


def test_axes_statics_and_chosen_devices() -> None:
    value, params = pmap(step, "i", in_axes=(None, 0, 0), out_axes=None)(PARAMS, X, Y)
    same((value, params), tree.map(lambda v: v[0], vmap(step, in_axes=(None, 0, 0), axis_name="i")(PARAMS, X, Y)))
    same(pmap(lambda a: a * 2, in_axes=2, out_axes=-1)(np.moveaxis(X, 0, 2)), np.moveaxis(X, 0, 2) * 2)
    same(pmap(lambda a, how: getattr(np, how)(a), static_broadcasted_argnums=1)(W, "tanh"), np.tanh(W))
    back = pmap(lambda a: a + lax.axis_index("i"), "i", devices=devices()[::-1])
    same(back(device_put(W)), W + np.arange(N)[:, None])
    same(pmap(accelerate(lambda a: a + 1))(W), W + 1)
    same(pmap(lambda a, b: a + b)(W[:2], b=W[2:]), W[:2] + W[2:])


def test_transformed_it_is_a_batch() -> None:
    same(grad(lambda w: np.sum(pmap(energy, "i")(w)))(W), grad(lambda w: np.sum(vmap(energy, axis_name="i")(w)))(W))
    two = np.stack([W, W + 1])
    same(vmap(pmap(energy, "i"))(two), vmap(vmap(energy, axis_name="i"))(two))


def test_single_devices() -> None:
    assert [d.id for d in devices()] == list(range(N)) == list(range(untraced.device_count()))
    there = device_put(W, devices()[2])
    assert there.device is devices()[2]
    same(there, W)
    f = accelerate(lambda tree: tree["a"] * 2)
    for _ in range(3):  # the short ways of later calls, too
        same(f({"a": there}), W * 2)
        same(f({"a": device_put_sharded(list(W), devices())}), W * 2)
    assert [row.shape for row in device_put_sharded(list(W), devices())] == [(3,)] * N


def test_what_is_looked_at() -> None:
    looked = pmap(lambda x: x / lax.psum(x, "i"), "i").inspect(W)
    assert 'lax.psum(x, "i")' in looked.source
    assert "stablehlo.all_reduce" in looked.stablehlo
    assert "all-reduce" in looked.hlo


def indexed(a: Any, i: Any) -> Any:
    s = 0.0
    for k in range(3):
        s = s + lax.psum(a[i + k], "i")
    return s


def strict(a: Any) -> Any:
    for _ in range(3):
        if a[0] > 100:
            raise ValueError(f"{a[0]:.0f} is too much")
        a = a + lax.psum(a, "i")
    return a


def one_sided(a: Any) -> Any:
    return lax.psum(a, "i") if a[0] > 0 else a


def into(a: Any) -> Any:
    a[0] = 1.0
    return a


BAD = {
    "sizes": (lambda: pmap(lambda a, b: a)({"k": W}, W[:2]), ValueError, r"a\['k'\]: size 4.*\n  argument b: size 2"),
    "too many": (lambda: pmap(lambda a: a)(np.ones((5, 2))), ValueError, r"requires 5 logical devices, but only 4 XLA"),
    "axis": (lambda: pmap(lambda a: a, in_axes=3)(W), ValueError, r"to map axis 3 of the argument a"),
    "no axis": (lambda: pmap(lambda a: a, in_axes=None)(W), ValueError, "at least one non-None"),
    "name": (lambda: pmap(lambda a: lax.psum(a, "z"), "i")(W), NameError, "unbound axis name: z"),
    "tree": (lambda: pmap(lambda d: d, in_axes=({"q": 0},))({"k": W}), ValueError, "pmap in_axes"),
    "output": (lambda: pmap(lambda a: a, out_axes=None)(W), ValueError, "mapped output"),
    "devices": (lambda: pmap(lambda a: a, devices=devices()[:2])(W), ValueError, "2 devices for a mapped axis"),
    "static": (lambda: pmap(into, static_broadcasted_argnums=3), ValueError, "^static_broadcasted_argnums=3 of into"),
    "late": (lambda: setattr(untraced.config, "cpu_devices", 9), RuntimeError, "XLA has been started"),
    "setting": (lambda: setattr(untraced.config, "cpu_device", 9), AttributeError, "cpu_devices"),
    "shards": (lambda: device_put_sharded([W], devices()), ValueError, "must equal"),
    "index": (lambda: pmap(indexed, "i")(W, np.array([0, 0, 20, 0])), IndexError, "index 20 is out of bounds"),
    "raise": (lambda: pmap(strict, "i")(W + 1000 * (np.arange(N) == 2)[:, None]), ValueError, "is too much"),
    "apart": (lambda: pmap(one_sided, "i")(W), UnsupportedError, "go different ways"),
    "write": (lambda: pmap(into)(W), UnsupportedError, "writes into an argument"),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what: str) -> None:
    call, error, message = BAD[what]
    devices()
    with pytest.raises(error, match=message):
        call()


def test_after_failures_devices_still_work() -> None:
    x, i = X[:, 0], np.zeros(N, np.int64)
    same(pmap(indexed, "i")(x, i), vmap(indexed, axis_name="i")(x, i))


def test_pieces_beside_an_array_that_is_whole() -> None:
    summed = pmap(lambda a: lax.psum(a, "i"), "i")
    whole = untraced.device_put(np.arange(float(N)))
    wanted = np.arange(N) + np.arange(N).sum()
    for _ in range(3):  # the first call compiles; what is called from then on
        same(summed(whole) + whole, wanted)


def test_jax_says_the_same() -> None:
    assert "jax" not in sys.modules
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp

    def theirs(a: Any) -> Any:
        told = jnp.sum(jax.lax.psum(a * a, "i") * jax.lax.ppermute(a, "i", RING))
        return told + jnp.sum(jax.lax.all_gather(a, "i") ** 3), jax.lax.axis_index("i")

    def ours(a: Any) -> Any:
        told = np.sum(lax.psum(a * a, "i") * lax.ppermute(a, "i", RING))
        return told + np.sum(lax.all_gather(a, "i") ** 3), lax.axis_index("i")

    same(pmap(ours, "i")(W), tree.map(np.asarray, jax.pmap(theirs, "i")(W)))
    same(
        pmap(grad(lambda a: ours(a)[0]), "i")(W),
        np.asarray(jax.pmap(jax.grad(lambda a: theirs(a)[0]), "i")(W)),
    )
    with pytest.raises(ValueError):
        jax.pmap(theirs, "i")(np.ones((5, 2)))
