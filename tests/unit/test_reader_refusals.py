"""What cannot be translated is refused at the user's line; what NumPy would raise is raised with its type."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.translator.errors import (
    AliasError,
    DTypeError,
    OutOfBoundsError,
    ShapeError,
    UnboundError,
    UnsupportedError,
    UntracedError,
)
from untraced.translator.reading.reader import read
from untraced.translator.reading.text.signature import abstract

X = np.arange(6.0)
A = np.ones((4, 5))


def refused(
    fun: Any, *args: Any, error: type[UntracedError] = UnsupportedError, match: str | None = None
) -> UntracedError:
    """The error of reading `fun`; it points at the line that carries the comment `# here`."""
    with pytest.raises(error, match=match) as caught:
        read(fun, abstract(fun, args, {}))
    diagnostic = caught.value.diagnostic
    lines, first = inspect.getsourcelines(fun)
    marked = [first + i for i, line in enumerate(lines) if "# here" in line]
    assert diagnostic.span.line in marked, f"{caught.value}\nmarked: {marked}"
    assert diagnostic.source_lines
    assert "^" in str(caught.value)
    return caught.value


def test_shapes_that_do_not_fit() -> None:
    def f(x, a):
        y = x * 2
        return y + a  # here

    refused(f, X, A, error=ShapeError, match="broadcast")


def test_shape_errors_inside_called_functions_point_into_them() -> None:
    def inner(x, a):
        return x @ a

    def f(x, a):
        return inner(x, a)

    with pytest.raises(ShapeError) as caught:
        read(f, abstract(f, (X, A), {}))
    assert "x @ a" in str(caught.value)


def test_errors_inside_the_library_point_at_the_call() -> None:
    def f(a):
        return np.var(a, axis=7)  # here

    refused(f, A, error=ShapeError)


def test_index_out_of_bounds() -> None:
    def f(x):
        return x[6]  # here

    error = refused(f, X, error=OutOfBoundsError, match="out of bounds")
    assert isinstance(error, IndexError)

    def g(x):
        x[0, 1] = 2.0  # here

    refused(g, X, error=OutOfBoundsError, match="too many indices")

    def h(x):
        return x[1.5]  # here

    refused(h, X, error=OutOfBoundsError, match="only integers")


def test_a_shape_from_data() -> None:
    def f(x):
        n = np.argmax(x)
        return np.zeros(n)  # here

    refused(f, X, match="depends on the data")


def test_truth_of_an_array() -> None:
    def f(x):
        if x > 0:  # here
            return x
        return -x

    refused(f, X, error=ShapeError, match="truth value")


def test_results_of_different_types() -> None:
    def f(x):
        if x.sum() > 0:  # here
            return x
        return x[:2]

    refused(f, X, match="shape")


def test_a_name_bound_in_one_branch_is_an_error_where_it_is_used() -> None:
    def f(x):
        if x.sum() > 0:
            y = x
        return y + 1  # here

    refused(f, X, match="y may be unbound")


def test_a_name_of_two_types_is_an_error_where_it_is_used() -> None:
    def f(x):
        if x.sum() > 0:
            y = x
        else:
            y = None
        return y  # here

    refused(f, X, match="None")


def test_unbound_local() -> None:
    def f(x):
        y = z + x  # here # noqa: F821
        z = 1
        return y

    refused(f, X, error=UnboundError, match="z may be unbound")
    for transform in (grad, vmap, accelerate):
        with pytest.raises(UnboundLocalError):
            transform(f)(X)


def test_unknown_name() -> None:
    def f(x):
        return x + undefined_name  # noqa: F821

    with pytest.raises(NameError, match="undefined_name"):
        read(f, abstract(f, (X,), {}))


def test_a_list_that_grows_in_a_loop() -> None:
    def f(x):
        rows = []
        for i in range(int(x[0])):  # here
            rows.append(x * i)
        return rows

    error = refused(f, X, match="length")
    assert "np.empty" in error.diagnostic.instead


def test_a_carried_shape_that_changes() -> None:
    def f(x, n):
        y = x[:1]
        while n > 0:  # here
            y = np.concatenate([y, y])
            n -= 1
        return y

    refused(f, X, 3, match="carries")


def test_swapping_an_argument_that_is_written() -> None:
    def f(u, n):
        v = u.copy()
        while np.max(u) < n:  # here
            v[1:-1] = u[:-2] + u[2:]
            u, v = v, u
        return u

    refused(f, X, 3, error=AliasError, match="written in place")


def test_a_write_that_may_hit_another_array() -> None:
    def f(x, s):
        y = x if s > 0 else x + 1
        y[0] = 5.0  # here
        return x, y

    refused(f, X, 1.0, error=AliasError)


def test_reading_what_may_have_changed() -> None:
    def f(x, s):
        y = x if s > 0 else x + 1
        x[0] = 5.0
        return y + 0  # here

    refused(f, X, 1.0, error=AliasError)


def test_selections() -> None:
    def f(x):
        return np.sort(x[x > 0])  # here

    assert "np.where" in refused(f, X).diagnostic.instead

    def g(x, y):
        x[x > 0] = y  # here

    refused(g, X, X)

    def h(x):
        return x[x > 0] + x[x > 1]  # here

    refused(h, X)


def test_the_callers_containers_do_not_change() -> None:
    def f(d):
        d["new"] = d["a"] + 1  # here
        return d

    refused(f, {"a": X}, match="caller")

    def g(d):
        d["a"] = d["a"] + 1  # here
        return d

    refused(g, {"a": X}, match="caller")


def test_unknown_numpy_functions_and_attributes() -> None:
    def f(x):
        return np.busday_count(x, x)  # here

    refused(f, A, match="busday_count")

    def g(x):
        return x.flags  # here

    refused(g, A, match="flags")

    def h(x):
        return np.sum(x, nonsense=1)

    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'nonsense'"):
        read(h, abstract(h, (A,), {}))


def test_who_calls_is_not_asked() -> None:
    def by_inspect(x):
        return inspect.currentframe().f_code.co_name, x  # here

    def by_sys(x):
        return sys._getframe(1).f_lineno, x  # here

    for f in (by_inspect, by_sys):
        refused(f, X, match="is not in the language")
        with pytest.raises(UnsupportedError):
            accelerate(f)(X)


def test_the_names_of_an_object_are_cpythons_to_tell() -> None:
    def f(x):
        return sorted(vars(HELD)), "total" in dir(HELD), x * 2

    assert accelerate(f)(X)[:2] == f(X)[:2]


class Holder:
    total = 1

    def __init__(self) -> None:
        self.a, self.b = 1, 2


HELD = Holder()


def test_print_and_raise() -> None:
    def f(x):
        print(x)  # here
        return x

    refused(f, X)

    def g(x, s):
        if s > 0:
            raise ValueError(x[x > s])  # here
        return x

    refused(g, X, 1.0, match="raise")

    def h(x):
        if x.ndim == 1:
            raise ValueError("one axis only")
        return x

    with pytest.raises(ValueError, match="one axis only"):
        read(h, abstract(h, (X,), {}))


def test_in_place_casts() -> None:
    def f(x):
        x += 0.5  # here
        return x

    refused(f, np.arange(3), error=DTypeError, match="cannot cast")


def test_in_place_broadcasts() -> None:
    def f(x, a):
        x += a  # here
        return x

    refused(f, A[0], A, error=ShapeError, match="non-broadcastable")


def test_stores_into_read_only_views() -> None:
    def f(x):
        y = np.broadcast_to(x, (2, 6))
        y[0] = 1.0
        return y

    with pytest.raises(ValueError, match="read-only"):
        read(f, abstract(f, (X,), {}))


def test_containers_of_the_caller() -> None:
    def view(x, items):
        items.append(x[1:])

    held: list[Any] = []
    accelerate(view, target="numpy")(X, held)  # CPython does that
    assert np.shares_memory(held[0], X)

    def grows(x, items):
        if x.sum() > 0:
            items.append(x)  # here

    refused(grows, X, [], match="outside the function")

    def loss(x, items):
        items.append(3.0)
        items[0] = items[0] * 2.0
        return np.sum(x) * items[0] * items[1]

    given = [2.0]  # of which a derivative works with a copy, as with arrays
    np.testing.assert_array_equal(grad(loss)(X, given), np.full_like(X, 12.0))
    assert given == [2.0]


def test_a_length_that_depends_on_data() -> None:
    def f(x):
        items = [x]
        if x.sum() > 0:  # here
            items.append(x)
        return len(items)

    refused(f, X, match="changes its length")


def test_a_transformed_function_that_writes_one_of_two_views() -> None:
    def write(a, b):
        a[0] = 1.0
        return np.sum(b)

    lanes = vmap(write)

    def f(a):
        return lanes(a[1:], a[:-1])  # here

    refused(f, A, error=AliasError, match="shares memory")


def test_endless_recursion() -> None:
    def down(x, n):
        return down(x * 0.5, n + 1)

    def f(x):
        return down(x, 0)

    with pytest.raises(UnsupportedError, match="200"):
        read(f, abstract(f, (X,), {}))


def test_a_loop_too_long_to_unroll() -> None:
    def f(x):
        s = 0.0
        for i in range(5000):  # here
            s = s + np.ones(i % 3).sum()
        return s + x

    refused(f, X, match="5000 steps")


class Model:
    def __init__(self, x: Any) -> None:
        self.x = x


def test_functions_without_source() -> None:
    with pytest.raises(UnsupportedError, match="no Python source"):
        read(len, abstract(lambda x: x, (X,), {}))
    with pytest.raises(UnsupportedError, match="Model is a class\\n.*calling a class makes an object"):
        grad(Model)(X)


def test_comparisons_with_text() -> None:
    with pytest.raises(UnsupportedError, match="with a str\\n(.*\\n)*.*compare with numbers"):
        grad(lambda x, how: np.sum(x) if how == "sum" else 0.0)("sum", X)


def test_python_errors_keep_their_type() -> None:
    def f(d):
        return d["missing"]

    with pytest.raises(KeyError) as caught:
        read(f, abstract(f, ({"a": X},), {}))
    assert any(__file__ in note for note in caught.value.__notes__)

    def g(x):
        return x + 1 // 0

    with pytest.raises(ZeroDivisionError):
        read(g, abstract(g, (X,), {}))

    def h(x):
        return x.nonsense

    with pytest.raises(AttributeError):
        read(h, abstract(h, (X,), {}))

    def k(x):
        a, b = x[:3]
        return a + b

    with pytest.raises(ValueError):
        read(k, abstract(k, (X,), {}))
