"""Stores into what a mask or a slice of unknown length selects: alone, for each lane, and under a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.translator.errors import AliasError, UntracedError

X = np.random.default_rng(7).standard_normal((4, 9))
N = np.array([0, 1, 0, 2])
MASK = np.array([True, False, True, True, False, True, True, True, False])


def scaled_where_large(x, n):
    y = x[x > n - 1.5]
    y[y > 0.1] *= 2.0
    for _ in range(2):
        y[y > 0.5] *= 0.5
    y[y < 0] = -y[y < 0] * n
    return np.sum(y)


def through_a_second_name(x, n):
    y = x[x > n - 1.5]
    z = y
    z[z > 0.3] = 2.0
    return np.sum(y) + np.sum(z * z)


def into_a_slice(x, n):
    y = x[n : n + 3]
    y[y > 0.2] -= 7.0
    y[[0, 1]] += 5
    m = y < 0
    y[m] = -y[m]
    return np.sum(x * np.arange(9))


def into_a_copy_of_a_slice(x, n):
    y = x[n : n + 3].copy()
    y[y > 0.1] *= 2.0
    return np.sum(y) + np.sum(x)


def into_an_open_slice(x, n):
    y = x[n:]
    y[y > 0] -= y[y > 0] * 0.5
    return np.sum(x)


def into_rows(x, n):
    y = x.reshape(3, 3)[x[:3] > 0.1 * n]
    y[y > 0.5] += 7
    return np.sum(y)


def chosen_by_a_known_mask(x, n):
    y = x[MASK]
    y[y > 0.1] *= 2.0
    y[0] = 7.0
    y[[1, 2]] += 5
    y[1:3] -= x[:2]
    y[::-1] += np.arange(6.0)
    if y[3] > 0:
        y[4:] = n
    return np.sum(y * np.arange(1, 7))


def rows_and_columns_of_known_masks(x, n):
    rows, columns = (x.reshape(3, 3)[np.array([True, False, True])], x.reshape(3, 3)[:, np.array([True, False, True])])
    rows[:, 1] = 2.0
    rows[1, 2] = n
    rows[rows < 0] = 0.5
    columns[0] += 1.0
    columns[:, 1] *= x[:3]
    return np.sum(rows * np.arange(3)) + np.sum(columns * np.arange(2))


def functions_that_write(x, n):
    y = x[MASK]
    y.sort()
    np.put(y, [0, 1], 3.0 * y[5])
    np.add.at(y, [2, 2, 3], y[4])
    return np.sum(y * np.arange(1, 7)) * n


def slopes(f: Callable[..., Any], x: Any, n: Any) -> Any:
    steps = 1e-6 * np.eye(x.size)
    return np.array([(f(x + d, n) - f(x - d, n)) / 2e-6 for d in steps])


def beside_numbers_and_slices(x, n):
    y = x.reshape(3, 1, 3)
    m = y[:, :, 0] > 0.1 * n
    y[m, 0] *= 2.0
    y[m, 1:] += y[m, :2] ** 2
    y[..., 1][m] -= 1.0
    return np.sum(x * np.arange(9))


def rows_with_their_columns_turned(x, n):
    y = x.reshape(1, 3, 3)
    m = y[..., 2] < 0.5 * n
    rows = y[m, :]
    y[m, :] = rows[:, [2, 0, 1]]
    z = rows[:, 1:]
    z[z > 0.2] = 0.3
    return np.sum(x * np.arange(9)) + np.sum(rows[:, 0] * rows[:, -1]) + np.sum(rows**2)


@pytest.mark.parametrize(
    "f",
    [
        scaled_where_large, through_a_second_name, into_a_slice, into_a_copy_of_a_slice, into_an_open_slice, into_rows,
        chosen_by_a_known_mask, rows_and_columns_of_known_masks, functions_that_write,
        beside_numbers_and_slices, rows_with_their_columns_turned,
    ],
)  # fmt: skip
def test_stores_are_kept(f: Callable[..., Any]) -> None:
    expected = [f(x.copy(), n) for x, n in zip(X, N, strict=True)]
    compiled = accelerate(f, target="numpy")
    np.testing.assert_allclose([compiled(x.copy(), n) for x, n in zip(X, N, strict=True)], expected)
    np.testing.assert_allclose(vmap(f)(X.copy(), N), expected)
    np.testing.assert_allclose(accelerate(vmap(f), target="cpu")(X.copy(), N), expected)
    wanted = [slopes(lambda x, n: f(x.copy(), n), x, n) for x, n in zip(X, N, strict=True)]
    np.testing.assert_allclose(vmap(grad(f))(X, N), wanted, atol=1e-7)  # differences are good to 1e-9


def test_a_mask_beside_whole_axes_cuts_nothing() -> None:
    """What a boundary holds, turned and put back: cut at such an index, a lattice fluid took 20 times NumPy's time."""

    def bounced(f, wall):
        kept = f[wall, :]
        f *= 0.5
        f[wall, :] = kept[:, [1, 0, 2]]
        f[wall, 2] = 0.0
        return f[wall, 0].sum(), f[..., 1][wall].mean()

    f, wall = np.random.default_rng(3).random((4, 5, 3)), np.arange(20).reshape(4, 5) % 3 == 0
    assert isinstance(accelerate(bounced).inspect(f.copy(), wall, compile=False).stablehlo, str)
    ours, numpys = f.copy(), f.copy()
    np.testing.assert_allclose(accelerate(bounced)(ours, wall), bounced(numpys, wall), rtol=1e-14)
    np.testing.assert_array_equal(ours, numpys)


def test_views_of_what_a_mask_selects_are_refused_where_it_changes() -> None:
    def read_after(x):
        y = x[np.arange(9) > 3]
        z = y[1:]
        y[:] = 2.0
        return np.sum(z)

    def written(x):
        y = x[np.arange(9) > 3]
        z = y[1:]
        z[0] = 5.0
        return np.sum(y)

    for f in (read_after, written):
        assert accelerate(f)(X[0].copy()) == f(X[0].copy())
        with pytest.raises(AliasError):
            vmap(f)(X)


VIEWS = {
    "part": lambda y: y[1:],
    "backwards": lambda y: y[::-1],
    "column": lambda y: y.reshape(-1, 1),
    "line": np.ravel,
    "real": np.real,
    "contiguous": np.ascontiguousarray,
    "turned": lambda y: y.T,
}
CHANGES = {
    "all of it": lambda y, z: y.__setitem__(slice(None), 2.0),
    "one of the view": lambda y, z: z.__setitem__(0, 5.0),
    "in place": lambda y, z: y.__imul__(3.0),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("view", VIEWS)
def test_views_of_what_the_data_select_show_changes_or_are_refused(view: str, change: str) -> None:
    look, store = VIEWS[view], CHANGES[change]

    def f(x):
        y = x[x > 0]
        z = look(y)
        store(y, z)
        return np.sum(z) + 3 * np.sum(y * y)

    try:
        found = vmap(f)(X.copy())
    except UntracedError:
        return
    np.testing.assert_allclose(found, [f(x.copy()) for x in X])
