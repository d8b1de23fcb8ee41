"""Array: an immutable device array that NumPy code can use, and the namespace untraced.numpy."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import untraced
from untraced import Array, TargetError, accelerate, device_get, device_put, devices
from untraced import numpy as unp
from untraced.translator.errors import Diagnostic, ShapeError, UnsupportedError

rng = np.random.default_rng(1)
HOST = rng.standard_normal((3, 4))


@pytest.fixture
def a() -> Array:
    return device_put(HOST)


class TestWhatItIs:
    def test_attributes(self, a: Array) -> None:
        assert (a.shape, a.ndim, a.size, a.itemsize, a.nbytes, len(a)) == ((3, 4), 2, 12, 8, 96, 3)
        assert a.dtype == np.float64 and a.device is devices()[0] and a.devices() == {a.device}
        assert a.block_until_ready() is a
        assert repr(device_put(np.array([1.0, 2.0]))) == "Array([1., 2.], dtype=float64)"

    def test_names_of_devices(self) -> None:
        with pytest.raises(ValueError, match="target must be one of"):
            device_put(HOST, "nowhere")
        for ask in (devices, lambda name: device_put(HOST, name)):
            try:
                ask("gpu")
            except TargetError as error:
                assert "NVIDIA" in str(error)

    def test_device_put_copies(self) -> None:
        x = HOST.copy()
        a = device_put(x)
        x[:] = 0
        np.testing.assert_array_equal(a, HOST)

    def test_device_put_aliases_unless_told_not_to(self, a: Array) -> None:
        assert device_put(a, donate=True) is a
        apart = device_put(a, may_alias=False)
        assert apart is not a
        np.testing.assert_array_equal(apart, a)

    def test_asarray_is_read_only_and_array_is_a_copy(self, a: Array) -> None:
        assert not np.asarray(a).flags.writeable
        x = np.array(a)
        x[:] = 0
        np.testing.assert_array_equal(np.asarray(a), HOST)
        assert np.asarray(a, dtype=np.float32).dtype == np.float32
        with pytest.raises(ValueError, match="without a copy"):
            np.asarray(a, dtype=np.float32, copy=False)

    def test_dlpack(self, a: Array) -> None:
        np.testing.assert_array_equal(np.from_dlpack(a), HOST)

    def test_pickle_and_copy(self, a: Array) -> None:
        b = pickle.loads(pickle.dumps(a))
        assert type(b) is Array
        np.testing.assert_array_equal(b, HOST)
        for same in (a.copy(), copy.copy(a), copy.deepcopy({"a": a})["a"], unp.array(a)):
            assert type(same) is Array and same is not a
            np.testing.assert_array_equal(same, HOST)
        assert unp.asarray(a) is a and unp.array(a, copy=False) is a

    def test_scalars(self) -> None:
        one = device_put(np.float64(2.5))
        assert (float(one), int(one), bool(one), complex(one), one.item()) == (2.5, 2, True, 2.5 + 0j, 2.5)
        assert [10, 20, 30][device_put(np.int64(1))] == 20
        assert f"{one:.2f}" == "2.50"
        with pytest.raises(TypeError, match="index"):
            [1][one]  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="unsized"):
            len(one)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(device_put(HOST))

    def test_iteration_and_containment(self, a: Array) -> None:
        rows = list(a)
        assert all(type(r) is Array for r in rows)
        np.testing.assert_array_equal(rows[1], HOST[1])
        assert a.tolist() == HOST.tolist()
        assert HOST[0, 0] in a and 7.0 not in a

    def test_hash(self, a: Array) -> None:
        with pytest.raises(TypeError, match="unhashable"):
            hash(a)

    def test_trees_of_arrays(self) -> None:
        params = device_put({"w": HOST, "b": [1.0, np.arange(3)]})
        assert type(params["w"]) is Array and params["b"][0].dtype == np.float64
        back = device_get(params)
        assert type(back["w"]) is np.ndarray and back["w"].flags.writeable
        with pytest.raises(TypeError, match="dtype"):
            device_put(np.array(["a"]))


@pytest.mark.filterwarnings("error")
class TestImmutable:
    def test_assignment_names_at(self, a: Array) -> None:
        with pytest.raises(TypeError, match=r"\.at\[index\]\.set"):
            a[0] = 1.0
        with pytest.raises(TypeError, match="immutable"):
            np.add(HOST, a, out=a)
        into = HOST.copy()
        into += a  # the left operand is NumPy's, and stays so
        np.testing.assert_array_equal(into, HOST + HOST)
        with pytest.raises(AttributeError):
            a.shape = (4, 3)  # type: ignore[misc]

    def test_augmented_assignment_rebinds(self, a: Array) -> None:
        b = a
        b += 1.0
        assert b is not a
        np.testing.assert_array_equal(a, HOST)

    def test_at(self, a: Array) -> None:
        for name, ufunc in [
            ("add", np.add), ("subtract", np.subtract), ("multiply", np.multiply), ("divide", np.divide),
            ("min", np.minimum), ("max", np.maximum), ("power", np.power),
        ]:  # fmt: skip
            expected = np.abs(HOST)
            ufunc.at(expected, (slice(1, None), 2), 3.0)
            got = getattr(device_put(np.abs(HOST)).at[1:, 2], name)(3.0)
            assert type(got) is Array
            np.testing.assert_allclose(got, expected)
        expected = HOST.copy()
        expected[1] = 7.0
        np.testing.assert_array_equal(a.at[1].set(7.0), expected)
        np.testing.assert_array_equal(a.at[1].get(), HOST[1])

    def test_repeated_indices_accumulate(self) -> None:
        got = device_put(np.zeros(3)).at[np.array([0, 0, 2])].add(1.0)
        np.testing.assert_array_equal(got, [2.0, 0.0, 1.0])
        got = device_put(np.ones(3)).at[np.array([0, 0, 2])].multiply(3.0)
        np.testing.assert_array_equal(got, [9.0, 1.0, 3.0])


class TestOperators:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: x + 1, lambda x: 1 - x, lambda x: x * x, lambda x: 2 / (x * x + 1), lambda x: -x, lambda x: +x,
            lambda x: abs(x), lambda x: x**2, lambda x: x // 0.5, lambda x: x % 0.5, lambda x: x @ x.T, lambda x: x > 0,
            lambda x: x == x, lambda x: ~(x > 0), lambda x: (x > 0) & (x < 1), lambda x: divmod(x, 0.3)[1],
            lambda x: x + np.arange(4), lambda x: np.arange(4) + x, lambda x: np.float32(2) * x, lambda x: x.real,
        ],
    )  # fmt: skip
    def test_as_numpy(self, f: Any) -> None:
        expected, got = f(HOST), f(device_put(HOST))
        assert type(got) is Array and got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-12)

    def test_integers_and_weak_promotion(self) -> None:
        i = device_put(np.arange(6, dtype=np.int32))
        assert (i + 1).dtype == np.int32 and (i + 1.0).dtype == np.float64 and (i / 2).dtype == np.float64
        np.testing.assert_array_equal(i << 1, np.arange(6) << 1)
        f = device_put(np.ones(2, np.float32))
        assert (f * 2.0).dtype == np.float32 and (f * np.float64(2.0)).dtype == np.float64

    def test_unknown_operand(self, a: Array) -> None:
        with pytest.raises(TypeError):
            a + "x"  # type: ignore[operator]


class TestFunctions:
    @pytest.mark.parametrize(
        "f",
        [
            lambda x: np.sin(x), lambda x: np.sum(x), lambda x: np.sum(x, axis=1, keepdims=True),
            lambda x: np.mean(x, axis=0),
            lambda x: x.sum(), lambda x: x.mean(axis=1), lambda x: x.reshape(4, 3), lambda x: x.reshape((2, -1)),
            lambda x: x.T,
            lambda x: x.astype(np.float32), lambda x: np.where(x > 0, x, 0.0), lambda x: np.concatenate([x, x]),
            lambda x: np.stack([x, x + 1]), lambda x: np.dot(x, x.T), lambda x: np.einsum("ij,kj->ik", x, x),
            lambda x: np.maximum(x, 0), lambda x: x.argmax(axis=1), lambda x: np.clip(x, -1, 1), lambda x: x.flatten(),
            lambda x: np.zeros_like(x), lambda x: np.var(x), lambda x: np.expand_dims(x, 0), lambda x: x.transpose(1,
            0),
        ],
    )  # fmt: skip
    def test_as_numpy(self, f: Any) -> None:
        expected, got = f(HOST), f(device_put(HOST))
        assert type(got) is Array and got.dtype == expected.dtype and got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-6 if expected.dtype == np.float32 else 1e-12)

    @pytest.mark.parametrize(
        "index",
        [0, -1, (1, 2), slice(1, None), (slice(None), 1), (slice(None, None, 2), slice(1, 3)), None, ..., (..., 0),
        np.array([2, 0])],
    )  # fmt: skip
    def test_indexing(self, a: Array, index: Any) -> None:
        got = a[index]
        assert type(got) is Array
        np.testing.assert_array_equal(got, HOST[index])

    def test_slices_between_arrays(self, a: Array) -> None:
        i = device_put(np.int64(1))
        np.testing.assert_array_equal(a[i : i + 2], HOST[1:3])
        np.testing.assert_array_equal(a[:, -i:], HOST[:, -1:])
        np.testing.assert_array_equal(a.at[i:].set(0.0), np.where(np.arange(len(HOST))[:, None] < 1, HOST, 0.0))
        np.testing.assert_array_equal(untraced.lax.dynamic_slice(a, (i, 0), (2, 1)), HOST[1:3, :1])
        with pytest.raises(TypeError, match="only integer scalar Arrays"):
            a[device_put(0.5) :]

    def test_index_out_of_range(self, a: Array) -> None:
        with pytest.raises(IndexError):
            a[3]

    def test_errors_are_of_their_types_and_show_the_expression(self, a: Array) -> None:
        for f, error, shown in (
            (lambda: "é" and np.sum(a, axis=3) + 1, np.exceptions.AxisError, "np.sum(a, axis=3)"),
            (lambda: (a + np.ones(9)) * 2, ShapeError, "a + np.ones(9)"),
            (lambda: 1 + a[7] * 2, IndexError, "a[7]"),
            (lambda: a.at[0].set(np.ones(9)) * 2, ShapeError, "a.at[0].set(np.ones(9))"),
            (lambda: np.linalg.inv(a[:, :3] * 0) + 1, np.linalg.LinAlgError, "np.linalg.inv(a[:, :3] * 0)"),
            (lambda: np.linalg.inv(a) + 1, np.linalg.LinAlgError, "np.linalg.inv(a)"),
        ):
            with pytest.raises(error) as caught:
                f()
            lines = str(caught.value).splitlines()
            place = next(i for i, line in enumerate(lines) if line.startswith("  -->"))
            under = lines[place + 2]
            assert lines[place + 1][under.index("^") : under.rindex("^") + 1] == shown
            assert f"{__file__}:{f.__code__.co_firstlineno}" in lines[place]
            assert len(caught.traceback) <= 6  # the test, the lambda, Array's method and what it calls

    def test_one_program_for_all_indices(self, a: Array) -> None:
        from untraced.runtime.arrays import eager

        _ = a[0], a[1], a[2]
        index = eager._of_expression("x[index]", ("x", "index"))
        before = len(index._history.events)
        _ = a[1], a[-1]
        assert len(index._history.events) == before

    def test_what_is_left_to_numpy_runs_on_the_host(self, a: Array) -> None:
        got = np.linalg.qr(a, mode="raw")
        assert type(got[0]) is Array
        np.testing.assert_allclose(got[0], np.linalg.qr(HOST, mode="raw")[0])

    def test_what_the_language_lacks_runs_on_the_host_with_a_warning(self, a: Array) -> None:
        from untraced.runtime.arrays import eager

        class Refused:
            __name__ = "turned"
            __wrapped__ = staticmethod(np.flipud)

            def __call__(self, x: Any) -> Any:
                raise UnsupportedError(Diagnostic("it is not in the language"))

        eager._warned.discard("turned")
        with pytest.warns(UserWarning, match="turned of an Array runs on the host: it is not in the language"):
            got = eager._run(Refused(), (a,), {})
        assert type(got) is Array
        np.testing.assert_array_equal(got, np.flipud(HOST))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            eager._run(Refused(), (a,), {})

    def test_what_only_the_run_can_size_runs_on_the_host(self, a: Array) -> None:
        got = np.unique(a)
        assert type(got) is Array
        np.testing.assert_array_equal(got, np.unique(HOST))

    def test_reduce_of_a_ufunc(self, a: Array) -> None:
        np.testing.assert_allclose(np.add.reduce(a, axis=0), HOST.sum(0))
        with pytest.raises(TypeError, match=r"\.at\["):
            np.add.at(a, 0, 1.0)


class TestNamespace:
    def test_creation_gives_arrays(self) -> None:
        for made, expected in [
            (unp.zeros((2, 3)), np.zeros((2, 3))),
            (unp.arange(5), np.arange(5)),
            (unp.linspace(0, 1, 3), np.linspace(0, 1, 3)),
            (unp.array([1, 2]), np.array([1, 2])),
            (unp.eye(2, dtype="f4"), np.eye(2, dtype="f4")),
        ]:
            assert type(made) is Array and made.dtype == expected.dtype
            np.testing.assert_array_equal(made, expected)

    def test_the_rest_is_numpys(self) -> None:
        assert unp.sin.__untraced_numpy__ is np.sin and unp.pi == np.pi and unp.float32 == np.float32
        assert unp.linalg.solve.__untraced_numpy__ is np.linalg.solve
        assert "zeros" in dir(unp) and "sin" in dir(unp)

    def test_asarray_keeps_arrays(self, a: Array) -> None:
        assert unp.asarray(a) is a and unp.array(a) is not a
        assert unp.asarray(a, dtype=np.float32).dtype == np.float32

    def test_inside_an_accelerated_function(self) -> None:
        def f(x: Any) -> Any:
            return unp.sin(x) + unp.ones(4) * unp.zeros_like(x)

        got = untraced.accelerate(f, target="cpu")(HOST)
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, np.sin(HOST))

    def test_import_by_name(self) -> None:
        import untraced.numpy as jnp

        assert jnp is unp


def test_arrays_without_axes_are_indexed() -> None:
    k = device_put(np.arange(3.0)).sum()
    assert k[None].shape == (1,) and k[..., None, None].shape == (1, 1)
    assert k[()].shape == k[...].shape == ()
    assert k.at[()].set(4.0).item() == 4.0 and k.at[()].add(1.0).item() == 4.0


def test_memory_that_is_gone_is_told_of() -> None:
    f = accelerate(lambda x: x + 1.0, donate_argnums=0)
    taken, freed = device_put(np.ones(5)), device_put(np.arange(5.0))
    assert not taken.is_deleted()
    f(taken)
    view = np.asarray(freed)
    freed.delete()
    freed.delete()
    assert view.tolist() == [0, 1, 2, 3, 4] and freed.shape == (5,)
    g = accelerate(lambda x: np.sum(x) * 2)
    g(device_put(np.ones(5)))
    captured = accelerate(lambda: freed * 2.0)
    for gone in (taken, freed):
        assert gone.is_deleted()
        uses = (
            np.asarray,
            repr,
            np.sin,
            g,
            f,
            lambda a: a + 1,
            lambda a: a[0],
            lambda a: a.block_until_ready(),
            pickle.dumps,
        )
        for use in uses:
            with pytest.raises(RuntimeError, match=r"an Array of float64\[5\] has been deleted"):
                use(gone)
    with pytest.raises(RuntimeError, match="has been deleted"):
        captured()


def test_more_of_what_jax_and_numpy_give_arrays() -> None:
    host = np.array([3.0, 1.0, 2.0])
    a = device_put(host)
    assert a.block_until_ready().is_ready() and a.platform() == "cpu" and not a.weak_type
    assert a.on_device_size_in_bytes() == 24 and a.copy_to_host_async() is None
    assert a.ptp() == 2.0 and a.view(np.int64).tolist() == host.view(np.int64).tolist()
    assert a.compress([True, False, True]).tolist() == [3.0, 2.0]
    assert sorted(a.argpartition(1)[:1].tolist()) == [1] and type(a.argpartition(1)) is type(a)


def test_a_deleted_array_is_no_bool_and_what_fails_is_told_as_what_it_is() -> None:
    f = accelerate(lambda p: np.where(p, 1.0, 2.0))
    for _ in range(3):
        assert float(f(device_put(np.array(False)))) == 2
    gone = device_put(np.array(False))
    gone.delete()
    with pytest.raises(RuntimeError, match="has been deleted"):
        f(gone)
    g = accelerate(lambda x: np.linalg.cholesky(x), donate_argnums=0)
    for _ in range(3):
        g(device_put(np.eye(3)))
    with pytest.raises(np.linalg.LinAlgError):
        g(device_put(-np.eye(3)))


def test_round_without_digits() -> None:
    assert type(round(device_put(2.6))) is int
    assert np.array_equal(round(device_put(np.array([0.5, 1.5, -1.2]))), [0.0, 2.0, -1.0])


def test_copies_outlive_what_they_were_made_of() -> None:
    """A copy of an Array that is then donated keeps its value: the parameters of a target network, say."""
    step = accelerate(lambda tree: {"w": tree["w"] * 2.0}, donate_argnums=0)
    for copied in (lambda a: a.copy(), copy.deepcopy, unp.array, unp.copy):
        w = device_put(np.arange(64.0))
        kept = copied(w)
        step({"w": w})
        np.testing.assert_array_equal(kept, np.arange(64.0))


AUGMENTED: list[Any] = []


def _augmented(f: Any) -> Any:
    AUGMENTED.append(f)
    return f


@_augmented
def _step(x: Any) -> Any:
    y = x
    x += 1.0
    return x, y


@_augmented
def _row(x: Any) -> Any:
    row = x[0]
    row *= 5.0
    return row, x


@_augmented
def _loop(x: Any) -> Any:
    y = x
    for i in range(3):
        x += i
        if i == 1:
            x *= 2.0
    return x, y


@_augmented
def _widened(x: Any) -> Any:
    x += np.arange(3.0)[:, None, None]
    return x


@_augmented
def _in_a_body(x: Any) -> Any:
    def body(i: Any, x: Any) -> Any:
        x -= i
        return x

    return untraced.lax.fori_loop(0, 3, body, x), x


@pytest.mark.parametrize("f", AUGMENTED, ids=lambda f: f.__name__)
def test_augmented_assignment_makes_a_new_array(f: Any) -> None:
    """Of an Array that is an argument, as outside an accelerated function."""
    x = device_put(np.arange(6.0).reshape(2, 3))
    for run, given in ((accelerate(f), x), (untraced.vmap(f), x[None])):
        got = run(given)
        want = f(x)
        for one, other in zip(untraced.tree.leaves(got), untraced.tree.leaves(want), strict=True):
            np.testing.assert_array_equal(np.reshape(one, other.shape), other)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))


def test_augmented_assignment_writes_into_numpy_arrays_beside_arrays() -> None:
    def f(total: Any, tree: Any, x: Any) -> Any:
        total += x
        tree["w"] -= x
        return tree["w"] * total

    total, tree, x = np.ones(3), {"w": unp.ones(3)}, unp.arange(3.0)
    np.testing.assert_array_equal(accelerate(f)(total, tree, x), [1.0, 0.0, -3.0])
    np.testing.assert_array_equal(total, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(tree["w"], [1.0, 0.0, -1.0])


def _steps_back(x: Any) -> Any:
    new = 2.0 * x
    old = new
    new -= 0.5 * x
    return old - new


def _grown(x: Any) -> Any:
    total = np.sum(x, axis=-1, keepdims=True)
    total += x
    return total


@pytest.mark.parametrize("f", [_steps_back, _grown])
def test_in_place_operators_make_new_arrays_of_what_is_computed_from_arrays(f: Any) -> None:
    x = device_put(np.array([0.5, 2.0, -1.0]))
    want = np.asarray(f(x))
    ways = [
        accelerate(f),
        lambda x: untraced.vmap(f)(x[None])[0],
        accelerate(lambda x: untraced.vmap(f)(x[None])[0]),
        accelerate(lambda x: f(untraced.grad(lambda v: 0.5 * np.sum(v * v))(x))),
        lambda x: untraced.jvp(f, (x,), (x,))[1],
    ]
    for way in ways:
        np.testing.assert_allclose(np.asarray(way(x)), want)
