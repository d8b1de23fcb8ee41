"""Meshes, shardings and shard_map; make_jaxpr, and what JAX scripts set around programs."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import untraced
from untraced import NamedSharding, P, accelerate, device_put, devices, grad, jit, lax, make_jaxpr, shard_map, vmap
from untraced.sharding import Mesh, SingleDeviceSharding

X = np.arange(24.0).reshape(4, 6)


def mesh_of(*shape: int) -> Mesh:
    """As many places as wanted, all on the one device: only the names and sizes count."""
    return Mesh(np.full(shape, devices("cpu")[0], dtype=object), ("a", "b")[: len(shape)])


def test_blocks_over_one_axis_and_over_two() -> None:
    @partial(shard_map, mesh=mesh_of(2), in_specs=(P("a"), P()), out_specs=P("a"))
    def scaled(x: Any, w: Any) -> Any:
        assert x.shape == (2, 6)
        return x * w / lax.psum(np.sum(x), "a") + lax.axis_index("a")

    want = X * 2.0 / np.sum(X) + np.array([0, 0, 1, 1])[:, None]
    for f in (scaled, jit(scaled)):
        np.testing.assert_allclose(f(X, 2.0), want)

    @partial(shard_map, mesh=mesh_of(2, 3), in_specs=P("a", "b"), out_specs=(P("b", "a"), P(None, ("a", "b")), P()))
    def three(x: Any) -> Any:
        return x.T, lax.psum(x, "a") * 0 + x, lax.psum(np.sum(x), ("a", "b"))

    turned, in_a_row, total = three(X)
    np.testing.assert_array_equal(turned, X.T)
    blocks = [X[2 * a : 2 * a + 2, 2 * b : 2 * b + 2] for a in (0, 1) for b in range(3)]
    np.testing.assert_array_equal(in_a_row, np.hstack(blocks))
    assert total == np.sum(X)


def test_products_by_blocks_and_their_gradient() -> None:
    """A matrix product whose inner axis is divided."""

    @partial(shard_map, mesh=mesh_of(3), in_specs=(P(None, "a"), {"w": P("a")}), out_specs=P())
    def product(x: Any, p: Any) -> Any:
        return lax.psum(x @ p["w"], "a")

    w = np.linspace(-1, 1, 12).reshape(6, 2)
    np.testing.assert_allclose(product(X, {"w": w}), X @ w)
    got = grad(lambda w: np.sum(np.sin(product(X, {"w": w}))))(w)
    np.testing.assert_allclose(got, X.T @ np.cos(X @ w))
    both = vmap(lambda x: product(x, {"w": w}))(np.stack([X, -X]))
    np.testing.assert_allclose(both, np.stack([X @ w, -X @ w]))


def test_specs_that_a_function_makes() -> None:
    mesh = mesh_of(3)

    def norm(w: Any) -> Any:
        @shard_map(mesh=mesh, in_specs=(P("a"), P()), out_specs=P())
        def total(w: Any, x: Any) -> Any:
            kind = untraced.ShapeDtypeStruct(w.shape, w.dtype)
            return lax.psum(np.sum(untraced.pure_callback(np.sin, kind, w)) + np.sum(x), "a")

        return total(w, w)

    w = np.linspace(-1, 1, 6)
    np.testing.assert_allclose(norm(w), np.sum(np.sin(w)) + 3 * np.sum(w), atol=1e-12)
    np.testing.assert_allclose(jit(grad(norm))(w), np.cos(w) + 3)


def test_what_a_shard_map_refuses() -> None:
    mesh = mesh_of(4)
    with pytest.raises(ValueError, match="must name axes of the mesh"):
        shard_map(np.sin, mesh=mesh, in_specs=P("rows"), out_specs=P("a"))
    with pytest.raises(ValueError, match="cannot be divided evenly"):
        shard_map(lambda x: x, mesh=mesh, in_specs=P(None, "a"), out_specs=P())(X)
    with pytest.raises(ValueError, match="out_axes"):
        shard_map(lambda x: x, mesh=mesh, in_specs=P("a"), out_specs=P())(X)
    with pytest.raises(TypeError, match="has no options"):
        shard_map(np.sin, mesh=mesh, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})
    with pytest.raises(TypeError, match="wants a Mesh"):
        shard_map(np.sin, mesh=4, in_specs=P("a"), out_specs=P("a"))
    with pytest.raises(ValueError, match="cpu_devices = 4096"):
        untraced.make_mesh((4096,), ("a",))
    with pytest.raises(ValueError, match="a name for each axis"):
        Mesh(np.array(devices("cpu")), ("a", "b"))


def test_the_mesh_of_a_program() -> None:
    assert mesh_of(1)(np.sin) is np.sin
    with pytest.raises(ValueError, match="call set_mesh"):
        shard_map(in_specs=P("a"), out_specs=P("a"))(np.sin)
    with untraced.set_mesh(mesh_of(2)):

        @shard_map(in_specs=P("a"), out_specs=P())
        def total(x: Any) -> Any:
            return lax.psum(x, "a")

        tiled = shard_map(lambda: np.ones((1, 2)), in_specs=(), out_specs=P("a"))()
        x = device_put(X, P("a"))
    np.testing.assert_array_equal(total(x), X[:2] + X[2:])
    assert tiled.shape == (2, 2)
    with pytest.raises(ValueError, match="needs a mesh"):
        device_put(X, P("a"))
    types = (untraced.sharding.AxisType.Auto,)
    assert dict(untraced.make_mesh((1,), ("a",), types).shape) == {"a": 1}
    assert untraced.experimental.mesh_utils.create_device_mesh((1, 1)).shape == (1, 1)


def test_shardings() -> None:
    mesh = untraced.make_mesh((1,), ("a",))
    there = NamedSharding(mesh, P("a", None))
    x = device_put(X, there)
    assert x.sharding == SingleDeviceSharding(devices()[0]) and x.sharding.device_set == there.device_set
    assert NamedSharding(mesh_of(2, 3), P("b", "a")).shard_shape((6, 4)) == (2, 2)
    assert untraced.ShapeDtypeStruct.like(X) == untraced.ShapeDtypeStruct((4, 6), float)
    with pytest.raises(ValueError, match="cannot be divided"):
        NamedSharding(mesh_of(2, 3), P("b")).shard_shape((4,))
    assert not there.is_fully_replicated and NamedSharding(mesh, P()).is_fully_replicated
    assert list(device_put(np.arange(3)).flat) == [0, 1, 2] and x.to_device(devices()[0]) is x


def test_make_jaxpr_shows_source() -> None:
    shown, shape = make_jaxpr(lambda x, n: np.sin(x) * n, static_argnums=1, return_shape=True)(X, 3)
    assert str(shown).splitlines()[-1].strip() == "return np.sin(x) * 3" and shape.shape == X.shape
    with pytest.raises(AttributeError, match="NumPy source here, not jaxprs"):
        _ = shown.eqns


def test_lowered_and_compiled_ahead_of_the_call() -> None:
    f = jit(lambda x, n, k: {"y": np.sin(x) * n + k}, static_argnums=1)
    lowered = f.lower(untraced.ShapeDtypeStruct(X.shape, float), 3, k=X)
    assert lowered.out_info["y"] == lowered.args_info[0][0] == untraced.ShapeDtypeStruct(X.shape, float)
    assert str(lowered.in_tree) == "PyTreeDef(((*,), {'k': *}))" and str(lowered.out_tree) == "PyTreeDef({'y': *})"
    assert "stablehlo.sine" in lowered.as_text("stablehlo")
    assert lowered.as_text("hlo").startswith("HloModule")
    with pytest.raises(ValueError, match="dialect"):
        lowered.as_text("mhlo")
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(X, k=X)["y"], np.sin(X) * 3 + X)
    assert compiled.as_text().startswith("HloModule")
    analyses = compiled.cost_analysis(), compiled.memory_analysis()
    assert analyses[0] is not None and analyses[0]["transcendentals"] == X.size
    assert analyses[1] is not None and analyses[1]["output"] == X.nbytes
    for args, kwargs in (((X[:2],), {"k": X}), ((X, X), {}), ((X.astype("f4"),), {"k": X})):
        with pytest.raises(TypeError, match="differ from the types for which this computation was compiled"):
            compiled(*args, **kwargs)


def test_scopes_are_read_as_they_stand() -> None:
    @untraced.named_scope("outer")
    def f(x: Any) -> Any:
        with untraced.named_scope("inner"), untraced.default_matmul_precision("highest"):
            y = np.sin(x)
        return np.sum(y * y)

    np.testing.assert_allclose(grad(f)(X), np.sin(2 * X))
    assert accelerate(f, target="numpy").inspect(X).source.count("with") == 0

    class named_scope:  # noqa: N801 - not that one
        def __init__(self, seen: list[str]) -> None:
            self.seen = seen

        def __enter__(self) -> None:
            self.seen.append("entered")

        def __exit__(self, *error: object) -> None:
            self.seen.append("left")

    seen: list[str] = []

    @accelerate
    def g(x: Any) -> Any:
        with named_scope(seen):
            y = np.cos(x)
        return y + 1

    np.testing.assert_allclose(g(X), np.cos(X) + 1)
    assert seen == ["entered", "left"]


def test_settings_for_a_block() -> None:
    key = untraced.random.key(0)
    with untraced.enable_x64(True):
        assert untraced.random.normal(key, (2,)).dtype == np.float64
    with untraced.enable_x64(False):
        assert untraced.random.normal(key, (2,)).dtype == np.float32
    with untraced.debug_nans(True), pytest.raises(FloatingPointError):
        jit(np.sqrt)(-1.0)
    f = jit(lambda x: x + 1)
    assert f(1) == 2
    untraced.clear_caches()
    assert f(1) == 2
    assert untraced.default_backend() in ("cpu", "gpu", "tpu")


def test_derivatives_that_users_give() -> None:
    @untraced.custom_gradient
    def product(x: Any, y: Any) -> Any:
        return x * y, lambda ct: (ct * y * 10.0, ct * x)

    @jax.custom_gradient
    def theirs(x: Any, y: Any) -> Any:
        return x * y, lambda ct: (ct * y * 10.0, ct * x)

    assert grad(product, (0, 1))(2.0, 3.0) == jax.grad(theirs, (0, 1))(2.0, 3.0)
    a = np.arange(6.0).reshape(2, 3)
    transpose = untraced.linear_transpose(lambda x: a @ x, untraced.ShapeDtypeStruct((3,), float))
    np.testing.assert_allclose(transpose(np.ones(2))[0], a.sum(0))
    kind = untraced.ShapeDtypeStruct((3,), np.float32)
    got = jit(lambda x: untraced.pure_callback(np.sort, kind, x) + 1)(np.array([3.0, 1.0, 2.0]))
    np.testing.assert_array_equal(got, [2, 3, 4])
    with pytest.raises(ValueError, match="gave shape"):
        untraced.pure_callback(np.sum, kind, X)
    seen: list[float] = []
    assert jit(lambda x: untraced.experimental.io_callback(seen.append, None, x) or x * 2)(3.0) == 6 and seen == [3]
    got = jit(lambda x: untraced.pure_callback(np.square, x, x))(np.arange(3.0))
    np.testing.assert_array_equal(got, [0, 1, 4])
    converted, constants = untraced.closure_convert(lambda x: x * 2, 1.0)
    assert converted(3.0, *constants) == 6


def test_a_mesh_that_is_set_later() -> None:
    @accelerate
    def blocks(x: Any) -> Any:
        return shard_map(lambda x: x * 0 + lax.psum(1.0, "a"), in_specs=P("a"), out_specs=P("a"))(x)

    with untraced.set_mesh(mesh_of(2)):
        assert blocks(np.ones(4))[0] == 2.0
        with untraced.set_mesh(mesh_of(4)):
            assert blocks(np.ones(4))[0] == 4.0
        assert blocks(np.ones(4))[0] == 2.0


def test_a_spec_alone_is_that_of_every_argument() -> None:
    for mesh in (mesh_of(2), mesh_of(2, 3)):
        add = shard_map(lambda x, y: x + y + lax.psum(np.sum(x), "a"), mesh, P("a"), P("a"))
        for f in (add, jit(add)):
            np.testing.assert_allclose(f(np.ones(4), np.arange(4.0)), np.arange(4.0) + 5)


def test_the_arguments_of_a_scope_are_evaluated() -> None:
    names: list[str] = []

    def name() -> str:
        names.append("a")
        return "a"

    @accelerate
    def scoped(x: Any) -> Any:
        with untraced.named_scope(name()):
            return x * 2

    @accelerate
    def numbered(x: Any) -> Any:
        for i in range(3):
            with untraced.named_scope(f"layer {i}"):
                x = x * 2
        return x

    @accelerate
    def no_name(x: Any) -> Any:
        with untraced.named_scope(3):  # type: ignore[arg-type]
            return x * 2

    np.testing.assert_array_equal(scoped(X), X * 2)
    assert names == ["a"]
    np.testing.assert_array_equal(numbered(X), X * 8)
    with pytest.raises(TypeError, match="wants a name"):
        no_name(X)


def test_shards_and_arrays_of_parts() -> None:
    x = device_put(X)
    for whole in (x, untraced.numpy.asarray(X)):
        (shard,) = whole.addressable_shards
        assert shard.device is devices("cpu")[0] and shard.index == (slice(None), slice(None)) and shard.replica_id == 0
        np.testing.assert_array_equal(shard.data, X)
        assert whole.is_fully_replicated and whole.addressable_data(0).shape == X.shape
    sharding = NamedSharding(Mesh(np.array([object() for _ in range(6)]).reshape(2, 3), ("a", "b")), P("b", "a"))
    with pytest.raises(ValueError, match="4 cannot be divided into 3"):
        sharding.devices_indices_map(X.shape)
    indices = sharding.devices_indices_map(X.T.shape)
    theirs = [(slice(2 * b, 2 * b + 2), slice(2 * a, 2 * a + 2)) for a in (0, 1) for b in range(3)]
    assert list(indices.values()) == theirs and sharding.num_devices == 6
    made = untraced.make_array_from_callback(X.shape, None, lambda index: X[index] * 2)
    np.testing.assert_array_equal(made, X * 2)
    rows = NamedSharding(mesh_of(1), P("a"))
    np.testing.assert_array_equal(untraced.make_array_from_process_local_data(rows, X), X)
    np.testing.assert_array_equal(untraced.make_array_from_single_device_arrays(X.shape, rows, [X]), X)
    with pytest.raises(ValueError, match=r"data of shape \(4, 6\)"):
        untraced.make_array_from_process_local_data(rows, X, (8, 6))
