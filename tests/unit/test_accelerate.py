"""accelerate: kinds, signatures, guards, writes to arguments, fallback, methods, on the targets that run everywhere."""

from __future__ import annotations

import dataclasses
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from drawn import Drawn

from untraced import Array, accelerate, device_put, grad, jit, vmap
from untraced.runtime.targets import devices as devices_module
from untraced.translator.settings import switch

rng = Drawn(2)
X = rng.standard_normal((3, 4))
TARGETS = pytest.mark.parametrize("target", ["cpu", "numpy"])
scale = 2.0
offsets = np.arange(4.0)
settings = {"rate": 0.5, "steps": 2}


def simple(x: Any, y: Any = 1.0) -> Any:
    return np.sin(x) * y + x


def doubled(x: Any) -> Any:
    return scale * x


def shifted(x: Any) -> Any:
    return x + offsets


def configured(x: Any) -> Any:
    for _ in range(settings["steps"]):
        x = x * settings["rate"]
    return x


@TARGETS
class TestKinds:
    def test_numpy_in_numpy_out(self, target: str) -> None:
        out = accelerate(simple, target=target)(X, X)
        assert type(out) is np.ndarray and out.flags.writeable
        np.testing.assert_allclose(out, simple(X, X), rtol=1e-12)

    def test_scalars(self, target: str) -> None:
        f = accelerate(lambda x: np.sum(x), target=target)
        assert type(f(X)) is np.float64
        assert type(accelerate(lambda a, b: a * b + 1, target=target)(2, 3)) is int
        assert type(accelerate(lambda a, b: a / b, target=target)(2.0, 4.0)) is float
        assert accelerate(lambda x: x > 0, target=target)(np.float64(1)).dtype == np.bool_

    def test_arrays_in_arrays_out(self, target: str) -> None:
        f = accelerate(simple, target=target)
        a = device_put(X, target)
        for out in (f(a, a), f(a, X), f(a, 2.0), f(a, y=a)):
            assert type(out) is Array and out.device is a.device
        np.testing.assert_allclose(f(a, X), simple(X, X), rtol=1e-12)

    def test_arrays_give_arrays_of_their_own(self, target: str) -> None:
        x = device_put(X, target)
        out = accelerate(lambda x: (x, x[1:], x.T, x * 2), target=target)(x)
        assert all(type(part) is Array and part is not x for part in out)
        for part, expected in zip(out, (X, X[1:], X.T, X * 2), strict=True):
            np.testing.assert_array_equal(part, expected)

    def test_trees(self, target: str) -> None:
        @dataclasses.dataclass
        class State:
            position: Any
            label: str

        def step(s: Any, opts: Any) -> Any:
            return {"state": State(s.position * opts["rate"], s.label), "none": None, "list": [s.position, 3]}

        out = accelerate(step, target=target)(State(X, "a"), {"rate": 0.5})
        assert out["state"].label == "a" and out["none"] is None and out["list"][1] == 3
        np.testing.assert_allclose(out["state"].position, 0.5 * X)

    def test_shapes_and_dtypes_make_signatures(self, target: str) -> None:
        f = accelerate(simple, target=target)
        for x in (X, X[:2], X.astype(np.float32), X[0], np.float64(1.0), 1.5, X.T, X[::2, ::-1]):
            np.testing.assert_allclose(f(x), simple(x), rtol=1e-6)
        assert f(X.astype(np.float32)).dtype == np.float32

    def test_more_kinds_of_arrays(self, target: str) -> None:
        f = accelerate(simple, target=target)
        big_endian = X.astype(">f8")
        np.testing.assert_allclose(f(big_endian), simple(X), rtol=1e-12)
        fortran = np.asfortranarray(X)
        np.testing.assert_allclose(f(fortran), simple(X), rtol=1e-12)
        assert f(np.zeros((0, 3))).shape == (0, 3)

    def test_keywords_defaults_and_varargs(self, target: str) -> None:
        f = accelerate(simple, target=target)
        np.testing.assert_allclose(f(y=X, x=X), simple(X, X), rtol=1e-12)
        np.testing.assert_allclose(f(X, y=3), simple(X, 3), rtol=1e-12)

        def total(*xs: Any, scale: Any = 1.0, **more: Any) -> Any:
            t = xs[0] * scale
            for x in xs[1:]:
                t = t + x
            for x in more.values():
                t = t + x
            return t

        g = accelerate(total, target=target)
        np.testing.assert_allclose(g(X, X, scale=2.0, other=X), 4 * X)
        with pytest.raises(TypeError, match="missing"):
            f()
        with pytest.raises(TypeError, match="argument"):
            f(X, X, X)


@TARGETS
class TestSpecialisation:
    def test_values_that_decide_shapes(self, target: str) -> None:
        f = accelerate(lambda n: np.ones(n), target=target)
        assert f(3).shape == (3,) and f(2).shape == (2,) and f(3).shape == (3,)
        assert len(f._history.events) == 2

    def test_numbers_that_do_not_decide_are_run_time_values(self, target: str) -> None:
        f = accelerate(simple, target=target)
        for y in (1.0, 2.0, -3.5):
            np.testing.assert_allclose(f(X, y), simple(X, y), rtol=1e-12)
        assert len(f._history.events) == 1

    def test_static_arguments(self, target: str) -> None:
        def f(x: Any, shape: Any, mode: str) -> Any:
            return np.reshape(x, shape) if mode == "r" else x

        g = accelerate(f, target=target, static_argnums=1, static_argnames="mode")
        assert g(X, (4, 3), "r").shape == (4, 3)
        assert g(X, (2, 6), mode="r").shape == (2, 6)
        assert g(X, shape=(4, 3), mode="k").shape == (3, 4)
        with pytest.raises(ValueError, match="hashable"):
            g(X, [4, 3], "r")

    def test_static_values_of_equal_hash_differ(self, target: str) -> None:
        f = accelerate(lambda x, k: x * k, target=target, static_argnums=(1,))
        assert f(np.arange(3), 1).dtype == np.int64
        assert f(np.arange(3), 1.0).dtype == np.float64
        assert f(np.arange(3), True).dtype == np.int64

    def test_bools_and_strings_are_static(self, target: str) -> None:
        f = accelerate(lambda x, flag, how: -x if flag and how == "neg" else x, target=target)
        np.testing.assert_array_equal(f(X, True, "neg"), -X)
        np.testing.assert_array_equal(f(X, False, "neg"), X)
        np.testing.assert_array_equal(f(X, True, "pos"), X)

    def test_explain_recompiles(self, target: str) -> None:
        f = accelerate(lambda x, n: x[:n], target=target)
        f(X, 1), f(X, 2), f(X[0], 1), f(X, 1)
        text = f.explain_recompiles()
        assert "3 times" in text and "the first call" in text
        assert "n is 2 and was 1" in text and "float64[4] and was float64[3, 4]" in text


@TARGETS
class TestGuards:
    def test_globals_and_closures_are_seen(self, target: str) -> None:
        global scale, offsets
        f, g = accelerate(doubled, target=target), accelerate(shifted, target=target)
        before = scale, offsets
        try:
            np.testing.assert_allclose(f(X), 2.0 * X)
            scale = 3.0
            np.testing.assert_allclose(f(X), 3.0 * X)
            np.testing.assert_allclose(g(X), X + offsets)
            offsets = offsets * 10
            np.testing.assert_allclose(g(X), X + offsets)
            offsets[0] = -1.0
            np.testing.assert_allclose(g(X), X + offsets)
            offsets = np.ones((3, 1))
            np.testing.assert_allclose(g(X), X + 1)
        finally:
            scale, offsets = before
        assert "scale changed" in f.explain_recompiles()

    def test_with_device_arrays_too(self, target: str) -> None:
        global scale
        f, a = accelerate(doubled, target=target), device_put(X, target)
        before = scale
        try:
            for _ in range(3):
                np.testing.assert_allclose(f(a), scale * X)
                scale += 1.0
        finally:
            scale = before

    def test_containers(self, target: str) -> None:
        f = accelerate(configured, target=target)
        np.testing.assert_allclose(f(X), 0.25 * X)
        try:
            settings["steps"] = 3
            np.testing.assert_allclose(f(X), 0.125 * X)
        finally:
            settings["steps"] = 2

    def test_closures(self, target: str) -> None:
        k = 1.0

        def f(x: Any) -> Any:
            return x * k

        g = accelerate(f, target=target)
        np.testing.assert_allclose(g(X), X)
        k = 5.0
        np.testing.assert_allclose(g(X), 5 * X)

    def test_called_functions(self, target: str) -> None:
        def make(inner: Any) -> Any:
            def outer(x: Any) -> Any:
                return inner(x) + 1

            return outer, lambda new: outer.__closure__[0].__setattr__("cell_contents", new)

        outer, replace = make(np.sin)
        f = accelerate(outer, target=target)
        np.testing.assert_allclose(f(X), np.sin(X) + 1)
        replace(np.cos)
        np.testing.assert_allclose(f(X), np.cos(X) + 1)


@TARGETS
class TestWrites:
    def test_the_callers_array_is_written(self, target: str) -> None:
        def bump(x: Any) -> Any:
            x[0] = 7.0
            x += 1.0
            return np.sum(x)

        x, y = X.copy(), X.copy()
        assert np.isclose(accelerate(bump, target=target)(x), bump(y))
        np.testing.assert_allclose(x, y)

    def test_views_are_written_through(self, target: str) -> None:
        def fill(x: Any) -> Any:
            x[:] = 5.0

        x = X.copy()
        assert accelerate(fill, target=target)(x[::2, 1:3]) is None
        assert np.all(x[::2, 1:3] == 5.0) and np.all(x[1] == X[1])

    def test_read_only_arguments(self, target: str) -> None:
        def two(x: Any, y: Any) -> Any:
            x[0] = 1.0
            y[0] = 2.0

        f = accelerate(two, target=target)
        x, y = X.copy(), X.copy()
        y.setflags(write=False)
        with pytest.raises(ValueError, match="read-only"):
            f(x, y)
        assert np.all(x[0] == 1.0), "NumPy writes x before it finds that it cannot write y"
        with pytest.raises(TypeError, match=r"\.at\[index\]"):
            f(device_put(X, target), X.copy())
        f(x[:1], x[1:])

    def test_arguments_that_share_memory(self, target: str) -> None:
        def two(x: Any, y: Any) -> Any:
            x[0] = y[1]
            y[0] = 2.0

        for pair in (lambda x: (x, x), lambda x: (x[:2], x[1:])):
            ours, theirs = X.copy(), X.copy()
            accelerate(two, target=target)(*pair(ours))
            two(*pair(theirs))
            np.testing.assert_array_equal(ours, theirs)

    def test_overlap_is_harmless_without_writes(self, target: str) -> None:
        np.testing.assert_allclose(accelerate(simple, target=target)(X, X), simple(X, X), rtol=1e-12)


@TARGETS
class TestErrors:
    def test_index_errors_at_run_time(self, target: str) -> None:
        def pick(x: Any, i: Any) -> Any:
            return x[i]

        f = accelerate(pick, target=target)
        np.testing.assert_array_equal(f(X, 1), X[1])
        np.testing.assert_array_equal(f(X, -1), X[-1])
        with pytest.raises(IndexError):
            f(X, 3)
        with pytest.raises(IndexError):
            f(device_put(X, target), np.int64(-4))

    def test_bad_arguments(self, target: str) -> None:
        f = accelerate(simple, target=target)
        with pytest.raises(TypeError, match="no callable sin"):
            f(np.array([object()]))
        with pytest.raises(TypeError, match="ufunc"):
            f(object())
        with pytest.raises(ValueError):
            f(X, np.zeros(3))

    def test_checks_can_be_left_out(self, target: str) -> None:
        f = accelerate(lambda x, i: x[i], target=target, checks=False)
        np.testing.assert_array_equal(f(X, 2), X[2])


class TestWrapping:
    def test_decorator_forms(self) -> None:
        @accelerate
        def f(x: Any) -> Any:
            """Doc."""
            return x + 1

        @accelerate(target="numpy")
        def g(x: Any) -> Any:
            return x + 1

        assert jit is accelerate
        assert f.__name__ == "f" and f.__doc__ == "Doc." and f.__wrapped__ is not f
        np.testing.assert_allclose(f(X), g(X))
        assert g.target == "numpy" and f.target == devices_module.automatic_target()
        np.testing.assert_allclose(accelerate(f, target="numpy")(X), X + 1)

    def test_bad_options(self) -> None:
        with pytest.raises(ValueError, match="target must be one of"):
            accelerate(simple, target="gpu")
        with pytest.raises(ValueError, match="fallback"):
            accelerate(simple, fallback="maybe")
        with pytest.raises(TypeError, match="wants a function"):
            accelerate(3)
        with pytest.raises(TypeError, match="decorate its methods"):
            accelerate(type(self))
        with pytest.raises(TypeError, match=r"accelerate\(lambda x: int\(x\)\)"):
            accelerate(int)

    def test_switches_are_0_or_1(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for said, found in (("1", True), ("0", False), ("", True), (" 0 ", False)):
            monkeypatch.setenv("UNTRACED_VERIFY", said)
            assert switch("UNTRACED_VERIFY", True) is found
        monkeypatch.setenv("UNTRACED_VERIFY", "off")
        with pytest.raises(ValueError, match="UNTRACED_VERIFY must be 0 or 1, not 'off'"):
            switch("UNTRACED_VERIFY", True)

    def test_methods(self) -> None:
        @dataclasses.dataclass
        class Model:
            w: Any

            @accelerate(target="cpu")
            def __call__(self, x: Any) -> Any:
                return x @ self.w

            @accelerate(target="cpu")
            def norm(self) -> Any:
                return np.sum(self.w * self.w)

        m = Model(rng.standard_normal((4, 2)))
        np.testing.assert_allclose(m(X), X @ m.w, rtol=1e-12)
        np.testing.assert_allclose(m.norm(), np.sum(m.w * m.w))
        m.w = np.ones((4, 2))
        np.testing.assert_allclose(m(X), X @ m.w, rtol=1e-12)
        np.testing.assert_allclose(accelerate(m, target="cpu")(X), X @ m.w, rtol=1e-12)
        np.testing.assert_allclose(vmap(m)(X), X @ m.w, rtol=1e-12)

    def test_bound_methods_of_plain_objects(self) -> None:
        class Filter:
            def __init__(self, taps: Any) -> None:
                self.taps = taps

            @accelerate(target="cpu")
            def apply(self, x: Any) -> Any:
                return x * self.taps

        f = Filter(np.arange(4.0))
        np.testing.assert_allclose(f.apply(X), X * np.arange(4.0))
        f.taps = np.ones(4)
        np.testing.assert_allclose(f.apply(X), X)
        assert f.apply is f.apply

    def test_pickle(self) -> None:
        f = pickle.loads(pickle.dumps(accelerate(simple, target="cpu")))
        np.testing.assert_allclose(f(X), simple(X), rtol=1e-12)
        f(device_put(X), device_put(X))
        assert pickle.loads(pickle.dumps(f)).options.target == "cpu"

    def test_transformations_of_accelerated_functions_are_accelerated(self) -> None:
        f = accelerate(lambda x: np.sum(x * x), target="cpu")
        g = grad(f)
        assert type(g) is type(f) and g.target == "cpu"
        np.testing.assert_allclose(g(X), 2 * X)

    def test_accelerated_functions_call_each_other(self) -> None:
        inner = accelerate(simple, target="cpu")

        @accelerate(target="cpu")
        def outer(x: Any) -> Any:
            return inner(x, 2.0) + inner(x)

        np.testing.assert_allclose(outer(X), simple(X, 2.0) + simple(X), rtol=1e-12)

    def test_threads(self) -> None:
        f = accelerate(simple, target="cpu")
        results: list[Any] = []
        threads = [threading.Thread(target=lambda: results.append(f(X, 2.0))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(results) == 8 and len(f._history.events) == 1
        for r in results:
            np.testing.assert_allclose(r, simple(X, 2.0), rtol=1e-12)

    def test_donation(self) -> None:
        f = accelerate(simple, target="cpu", donate_argnums=(0,))
        np.testing.assert_allclose(f(device_put(X)), simple(X), rtol=1e-12)
        np.testing.assert_allclose(f(X), simple(X), rtol=1e-12)

    def test_clear_cache(self) -> None:
        f, a = accelerate(simple, target="cpu"), device_put(X)
        f(a, a)
        f.clear_cache()
        np.testing.assert_allclose(f(a, a), simple(X, X), rtol=1e-12)
        assert len(f._history.events) == 2


class TestDispatch:
    def test_a_call_with_other_kinds_after_the_fast_one(self) -> None:
        f, a = accelerate(simple, target="cpu"), device_put(X)
        for _ in range(2):
            np.testing.assert_allclose(f(a, a), simple(X, X), rtol=1e-12)
            np.testing.assert_allclose(f(X, X), simple(X, X), rtol=1e-12)
            np.testing.assert_allclose(f(a), simple(X), rtol=1e-12)
            np.testing.assert_allclose(f(a, y=a), simple(X, X), rtol=1e-12)
            np.testing.assert_allclose(f(device_put(X[0]), device_put(X[0])), simple(X[0], X[0]), rtol=1e-12)
        assert type(f).__name__ == "Accelerated" and isinstance(f, type(accelerate(simple)))

    def test_several_results(self) -> None:
        f = accelerate(lambda x: {"a": x + 1, "b": (x, 2.0)}, target="cpu")
        a = device_put(X)
        for _ in range(3):
            out = f(a)
            assert type(out["a"]) is Array and type(out["b"][0]) is Array
            np.testing.assert_allclose(out["a"], X + 1)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_results_share_the_memory_that_they_share_in_numpy_and_keep_no_larger_array_alive(target: str) -> None:
    def several(a: Any, b: Any) -> Any:
        c = a @ b
        return c, c.copy(), a @ b, c.ravel()[:5]

    for n in (3, 600):  # NumPy runs the larger one
        found = accelerate(several, target=target)(np.ones((n, n)), np.ones((n, n)))
        for k, x in enumerate(found):
            x[...] = k
        assert [x.max() for x in found] == [3.0, 1.0, 2.0, 3.0]
        alone = accelerate(lambda a, b: (a @ b).ravel()[:3], target=target)(np.ones((n, n)), np.ones((n, n)))
        assert alone.base is None
