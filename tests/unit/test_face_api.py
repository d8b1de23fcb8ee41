"""The public face as a JAX user meets it: forms of decorators, methods, containers, imports, errors, commands."""

from __future__ import annotations

import abc
import collections
import functools
import inspect
import math
import operator
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import untraced
from untraced import Array, UntracedError, device_put, devices, grad, hessian, jit, value_and_grad, vmap

X = np.arange(4.0)


class Layer:
    def __init__(self) -> None:
        self.w = np.ones(4)

    @jit
    def product(self, x: Any) -> Any:
        return x @ self.w

    @functools.partial(jit, static_argnums=(0, 2))
    def power(self, x: Any, n: int) -> Any:
        return (x @ self.w) ** n

    @functools.partial(jit, static_argnames=("n",))
    def named(self, x: Any, n: int = 2) -> Any:
        return (x @ self.w) ** n

    @property
    @jit
    def doubled(self) -> Any:
        return self.w * 2

    @staticmethod
    @jit
    def more(x: Any) -> Any:
        return x + 1

    @classmethod
    @jit
    def of_class(cls, x: Any) -> Any:
        return x + 2


def test_methods() -> None:
    layer = Layer()
    assert layer.product(X) == 6 == Layer.product(layer, X)
    assert layer.power(X, 2) == 36 == layer.named(X) and layer.named(X, n=3) == 216
    np.testing.assert_array_equal(layer.doubled, 2 * np.ones(4))
    np.testing.assert_array_equal(Layer.more(X), layer.more(X))
    np.testing.assert_array_equal(Layer.of_class(X), X + 2)
    np.testing.assert_array_equal(grad(layer.product)(X), np.ones(4))
    layer.w = 2 * layer.w
    assert layer.product(X) == 12 == layer.power(X, 1)


def weighed(x: np.ndarray, n: int = 2, *, k: float = 3.0) -> Any:
    """A sum."""
    weighed_by.seen += 1
    return np.sum(x) * n + k


weighed.unit, weighed.source = "kg", "a book"
weighed_by = jit(weighed)
weighed_by.seen = 0


def test_what_is_shown_of_the_function() -> None:
    assert (weighed_by.__doc__, weighed_by.unit, weighed_by.__code__) == ("A sum.", "kg", weighed.__code__)
    assert callable(weighed_by.source)
    assert inspect.getfullargspec(weighed_by) == inspect.getfullargspec(weighed)
    assert inspect.signature(weighed_by) == inspect.signature(weighed)
    assert weighed_by(X) == 15 and weighed_by.seen == 1
    weighed_by.__defaults__ = (1,)
    assert weighed_by(X) == 9 == weighed(X) and weighed_by.seen == 3
    weighed_by.__kwdefaults__ = {"k": 1.0}
    assert weighed_by(X) == 7
    with pytest.raises(AttributeError, match="__code__"):
        jit(grad(np.sum)).__code__


def test_what_is_shown_of_a_bound_method() -> None:
    layer = Layer()
    method = layer.product
    assert (method.__self__, method.__func__, method.__qualname__) == (layer, Layer.product, "Layer.product")
    again = pickle.loads(pickle.dumps(method))
    assert again(X) == 6 == again.__func__(layer, X) and again.__self__ is not layer


def test_a_property_is_made_of_an_accelerated_function() -> None:
    with pytest.raises(TypeError, match="write @property above @accelerate"):
        jit(property(weighed))


def test_decorators_inside_functions() -> None:
    @jit
    def outer(x: Any) -> Any:
        @jit
        def inner(y: Any) -> Any:
            return y * x

        @functools.partial(jit, static_argnums=1)
        def power(y: Any, n: int) -> Any:
            return y**n

        @jit(static_argnums=1)
        def shifted(y: Any, n: int) -> Any:
            return y + n

        return inner(x) + power(x, 3) + shifted(x, 2) + vmap(jit(lambda z: z * 2))(x)

    np.testing.assert_allclose(outer(X), X * X + X**3 + X + 2 + 2 * X)


def test_partials_of_functions_of_numpy_with_options() -> None:
    clip = jit(functools.partial(np.clip, a_min=0.2, a_max=0.5))
    np.testing.assert_array_equal(clip(X), np.clip(X, 0.2, 0.5))


def test_partials_of_lambdas() -> None:
    np.testing.assert_allclose(jit(functools.partial(lambda a, x: a * x, 3.0))(X), 3 * X)


def test_partials_of_numpys_functions() -> None:
    mean = functools.partial(np.mean, axis=0)
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jit(mean)(x), mean(x))
    np.testing.assert_array_equal(jit(mean)(x, keepdims=True), mean(x, keepdims=True))
    assert untraced.eval_shape(functools.partial(untraced.numpy.sum, axis=1), x).shape == (2,)


def test_functions_compiled_in_c_take_as_many_arguments_as_they_do() -> None:
    calls: list[tuple[Any, tuple[Any, ...]]] = [
        (max, (1, 2)),
        (min, ([2.0, 1.0],)),
        (math.hypot, (3.0, 4.0)),
        (math.gcd, (12, 18, 8)),
        (np.einsum, ("ij,j->i", np.ones((2, 3)), np.arange(3.0))),
        (np.meshgrid, (np.arange(2), np.arange(3))),
        (functools.reduce, (operator.add, [1, 2, 3])),
    ]
    for f, args in calls:
        theirs, ours = f(*args), jit(f)(*args)
        assert type(ours) is type(theirs)
        np.testing.assert_array_equal(ours, theirs)
    assert jit(print)(end="") is None
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(vmap(np.einsum, in_axes=(None, 0, 0))("i,i->", x, x), (x * x).sum(axis=1))
    assert grad(math.hypot)(3.0, 4.0) == 0.6 and grad(max)(1.0, 2.0) == 0.0


def test_callables_that_wrap_a_function() -> None:
    @jit
    @np.vectorize
    def stepped(a: Any) -> Any:
        return a + 1.0 if a > 0.5 else a - 1.0

    np.testing.assert_array_equal(stepped(X), np.where(X > 0.5, X + 1.0, X - 1.0))
    assert stepped.__name__ == "stepped" and stepped(0.75) == 1.75
    pairs = jit(np.vectorize(lambda a, b: a @ b, signature="(n),(n)->()"))
    np.testing.assert_array_equal(pairs(np.ones((2, 3)), np.ones(3)), [3.0, 3.0])
    assert jit(functools.cache(lambda n: n * 2.0))(3) == 6.0


def test_abstract_methods_stay_abstract() -> None:
    class Shape(abc.ABC):
        @jit
        @abc.abstractmethod
        def area(self, x: Any) -> Any: ...

    class Square(Shape):
        @jit
        def area(self, x: Any) -> Any:
            return x * x

    with pytest.raises(TypeError, match="abstract"):
        Shape()  # type: ignore[abstract]
    assert Square().area(3.0) == 9.0


def test_static_arguments_that_do_not_exist() -> None:
    for options in ({"static_argnums": 5}, {"static_argnames": "q"}, {"donate_argnums": 1}):
        with pytest.raises(ValueError, match="argn"):
            jit(lambda x: x, **options)


def test_ordered_dicts_keep_their_order() -> None:
    p = collections.OrderedDict(z=X, a=2 * X)
    value, g = value_and_grad(lambda p: np.sum(p["z"] * p["a"]))(p)
    assert type(g) is collections.OrderedDict and list(g) == ["z", "a"]
    np.testing.assert_array_equal(g["z"], 2 * X)
    assert untraced.tree.leaves(collections.OrderedDict(z=1, a=2)) == [1, 2]


def test_hessian_of_python_numbers() -> None:
    assert hessian(lambda x, y: x**2 * y, (0, 1))(2.0, 3.0) == ((6.0, 4.0), (4.0, 0.0))


def test_imports() -> None:
    text = """
import untraced.numpy as unp
import untraced.numpy.linalg as linalg
from untraced.testing import check_grads
from untraced.tree import map
from untraced.scipy.special import erf
import numpy as np
assert linalg is unp.linalg and linalg.det.__untraced_numpy__ is np.linalg.det
"""
    subprocess.run([sys.executable, "-c", text], check=True)


class TestArrays:
    def test_questions_have_python_answers(self) -> None:
        a = device_put(np.ones((2, 3)))
        assert (np.ndim(a), np.size(a), np.shape(a)) == (2, 6, (2, 3))
        assert all(type(n) is int for n in (np.ndim(a), np.size(a)))
        assert round(device_put(2.6)) == 3 and type(round(device_put(2.6), 0)) is Array
        np.testing.assert_array_equal(device_put(np.array([3, 1, 2])).sort(), [1, 2, 3])

    def test_masks_need_no_warning(self, recwarn: pytest.WarningsRecorder) -> None:
        a = device_put(X)
        np.testing.assert_array_equal(a[a > 1], X[X > 1])
        assert not recwarn.list

    def test_errors_are_told_at_the_users_line(self) -> None:
        a = device_put(np.ones((2, 3)))
        for wrong in (lambda: a + np.ones(5), lambda: a.reshape(5), lambda: np.concatenate([a, np.ones(3)])):
            with pytest.raises(UntracedError) as caught:
                wrong()
            assert caught.value.diagnostic.span.file == __file__ and caught.value.diagnostic.instead
        with pytest.raises(IndexError) as caught_index:
            a[5]
        assert "<untraced" not in str(caught_index.value)

    def test_device(self) -> None:
        assert device_put({"a": X, "b": None})["a"].devices() == set(devices())


def compiles(x):
    return x + len(compile("x", "", "eval").co_names)


def evaluates(x):
    return eval("x + 1")


def floors_complex(x):
    return np.floor(x + 1j)


@pytest.mark.parametrize("f", [compiles, evaluates, floors_complex])
def test_refusals_name_place_reason_and_remedy(f: Any) -> None:
    with pytest.raises(UntracedError) as caught:
        jit(f)(X)
    found = caught.value.diagnostic
    assert found.span.file == __file__ and found.span.line == f.__code__.co_firstlineno + 1
    assert found.why and found.instead and "locals" not in found.what and "Foreign" not in found.what


def test_command_line_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from untraced.runtime.inspection.commands import main

    file = tmp_path / "program.py"
    file.write_text("import numpy as np\ndef f(x):\n    return x + unknown\ndef g(x):\n    return np.sin(x)\n")
    assert main(["inspect", f"{file}:f", "--args", "f64[3]"]) == 2
    assert "unknown" in capsys.readouterr().err
    assert main(["inspect", f"{file}:g", "--args", "f64[3]", "--html", str(tmp_path / "no" / "page.html")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_printed_stores_copy_what_they_overlap() -> None:
    def f(x: Any) -> Any:
        y = x + 0
        y[::2] = y[:3].copy()
        return y

    def g(x: Any) -> Any:
        y = x + 0
        v = y[:3].copy()
        y[::2] = v
        return y

    x = np.arange(6.0)
    for h in (f, g):
        for target in ("numpy", "cpu"):
            np.testing.assert_array_equal(jit(h, target=target)(x), h(x))


class Rule(NamedTuple):
    init: Any
    update: Any


class ExtendedRule(Rule):
    """It has a __dict__, as the class of the fields has not."""


def test_fields_of_a_named_tuples_child_are_called() -> None:
    def descent(rate: Any) -> Rule:
        return ExtendedRule(lambda p: np.zeros_like(p), lambda g, s: (-rate * g, s + 1))

    outside = descent(0.25)

    @jit(fallback="error")
    def step(g: Any, rate: Any) -> Any:
        inside = descent(rate)
        update, state = inside.update(g, inside.init(g))
        return update + outside.update(g, state)[0], state

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        got, state = step(np.ones(2), 0.5)
    assert not [w.message for w in told if "runs as it is" in str(w.message)]
    np.testing.assert_array_equal(got, -0.75)
    np.testing.assert_array_equal(state, 1.0)


def test_derivatives_and_batches_give_the_warnings_of_the_function() -> None:
    def old(x: Any) -> Any:
        warnings.warn("use another", DeprecationWarning, stacklevel=2)
        return x * x

    for run in (lambda: grad(old)(3.0), lambda: vmap(old)(np.array([3.0])) - 3.0, lambda: jit(grad(old))(3.0)):
        with pytest.warns(DeprecationWarning, match="use another"):
            assert run() == 6.0


def test_arguments_of_jax_jit() -> None:
    free = {"inline": True, "keep_unused": True, "in_shardings": None, "out_shardings": None, "compiler_options": {}}
    f = jit(lambda x, y: x + y, donate_argnames="y", backend="cpu", **free)
    x, y = device_put(np.ones(2)), device_put(np.ones(2))
    np.testing.assert_array_equal(f(x, y), 2.0)
    with pytest.raises(RuntimeError, match="donated"):
        np.asarray(y)
    with pytest.raises(TypeError, match="unexpected keyword argument 'inlined'"):
        jit(lambda x: x, inlined=True)
    with pytest.raises(ValueError, match="donate_argnames='z'"):
        jit(lambda x: x, donate_argnames="z")
    with pytest.raises(ValueError, match="target must be"):
        jit(lambda x: x, backend="abacus")


def test_an_array_donated_and_passed_again_is_told_by_name() -> None:
    f = jit(lambda x, y: (x["a"] + y, x["a"] * 2.0), donate_argnums=0)
    y = device_put(np.ones(3))
    f({"a": device_put(np.ones(3))}, y)
    for _ in range(2):
        with pytest.raises(ValueError, match="one Array twice.* do not donate a"):
            f({"a": y}, y)
    np.testing.assert_array_equal(y, np.ones(3))


def test_arguments_of_jax_vmap() -> None:
    np.testing.assert_array_equal(vmap(lambda x: x * 2, spmd_axis_name="data")(np.ones(2)), 2.0)


def test_settings_of_jax() -> None:
    untraced.config.update("jax_numpy_rank_promotion", "raise")
    untraced.config.update("jax_threefry_partitionable", True)
    with pytest.raises(ValueError, match="jax_threefry_partitionable is True here"):
        untraced.config.update("jax_threefry_partitionable", False)
    with pytest.raises(AttributeError, match="jax_nonsense"):
        untraced.config.update("jax_nonsense", 1)
    with pytest.raises(AttributeError, match="jax_nonsense"):
        untraced.config.read("jax_nonsense")
    for switch in ("jax_debug_nans", "jax_debug_infs", "jax_disable_jit", "jax_enable_x64"):
        with pytest.raises(TypeError, match=f"{switch} is True or False, not 'maybe'"):
            untraced.config.update(switch, "maybe")
    assert untraced.config.jax_numpy_rank_promotion == "raise" and untraced.config.read("jax_log_compiles") is False
    untraced.config.jax_default_device = untraced.devices()[0]
    assert untraced.config.jax_default_device is untraced.devices()[0]
    untraced.config.update("jax_default_device", None)
    before = untraced.config.jax_platforms
    try:
        untraced.config.update("jax_platform_name", "cpu")
        assert untraced.config.jax_platforms == "cpu" and untraced.default_backend() == "cpu"
        with pytest.raises(ValueError, match="a platform is one of"):
            untraced.config.update("jax_platforms", "abacus")
    finally:
        untraced.config.update("jax_platforms", "")
    assert untraced.config.jax_platforms == before
    assert untraced.config.x64_enabled is untraced.config.jax_enable_x64
