"""What a function returns shares memory as NumPy's result does: with arguments, with arrays outside, with itself."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS

from untraced import Array, accelerate, device_put, tree

OUTSIDE = np.arange(6.0).reshape(2, 3)
Pair = collections.namedtuple("Pair", "a b")
Program = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]


@dataclasses.dataclass
class Record:
    a: Any
    b: Any


class Box:
    """A node of a class that is registered."""

    def __init__(self, *of: Any) -> None:
        self.of = of


tree.register_pytree_node(Box, lambda box: (box.of, None), lambda _, of: Box(*of))


def square() -> np.ndarray[Any, Any]:
    return np.arange(1.0, 10.0).reshape(3, 3)


def parts(x):
    return x, x[1:], x.T, x.reshape(-1), x[::-1], x[None], x[0, 0, ...], x[..., 1], x.flatten(), x.ravel(), x[:, ::2]


def named(x):
    again = np.asarray(x)
    return again, x[...], x.view(), np.squeeze(x), x.real, x.reshape(3, 3), np.ascontiguousarray(x), x.astype(float)


def protected(x):
    return np.broadcast_to(x.sum(0), (4, 3)), np.diagonal(x), np.diagonal(x * 2.0, 1), np.broadcast_to(x[0], (2, 3))


def windows(x):
    slide = np.lib.stride_tricks.sliding_window_view
    return slide(x, 2, 0), slide(x[::2], 2, 1), slide(x * 2.0, 2, 0)


def by_number(x, i, j):
    return x[i], x[i, 1:], x[i:j], x[i, j], [x[j]]


def rearranged(x):
    return np.flip(x), np.rot90(x), np.moveaxis(x, 0, 1), *np.split(x, 3), np.atleast_2d(x), np.expand_dims(x, 1)


def in_containers(d):
    return Pair(d["x"], d["x"][1:]), Record(d["y"][0].T, d["x"] * 2.0), {"y": d["y"][0], "z": [d["y"][0][0]]}


def in_registered_ones(box):
    x, y = box.of
    return box, Box(y, x[1:], [Box(x * 2.0)]), {"x": x}


def of_several(*xs):
    return xs[1], xs[0][1:]


def outside(x):
    return OUTSIDE, OUTSIDE[x.ndim - 1], OUTSIDE.T


def by_default(x, y=OUTSIDE):
    return y, y[1]


def with_each_other(x):
    y = x * 2.0
    z = np.zeros(4)
    return y, y[1:], y.T, x + 1.0, [z[1:], z[:2]]


def apart(x):
    y = x * 2.0
    return y[0], y[1], y.copy()


def written(x, y):
    x += 1.0
    part = x.T[1]
    part[0] = -3.0
    y[1:] = x[1:]
    return part, x, y[::2]


def chosen(x, y):
    if x.sum() > 100.0:
        return x
    if x.sum() > 0.0:
        return y.T
    return x + y


def chosen_and_written(x, y, c):
    b = x if c else y
    b[0] = 1.0
    return b


def chosen_place(x, i):
    row = x[i] if x[0, 0] > 0.0 else x[2]
    return row, row[1:]


def bits(x):
    return x.view(np.int64), (x + 1j).real, x.view(np.uint64)[1]


def rows(x):
    found = []
    for i in range(3):
        found.append(x[i])
    return found


def reshaped(x):
    flat, line, part = x.T.reshape(-1), x.T.ravel(), x[:, ::2].T.ravel()
    return flat, line, part, x[:, :2].T.reshape(-1)


def left_by_loops(x, y):
    turned = whole = part = y
    for i in range(30):
        turned = x[::-1]
        turned[0] += i
        whole, part = x, x.T[1:]
    part[0, 0] = 7.0
    return turned, whole, part


PROGRAMS: list[Program] = [
    *((f, lambda: (square(),)) for f in (parts, named, protected, windows, rearranged, outside)),
    *((f, lambda: (square(),)) for f in (with_each_other, apart, bits, rows, by_default)),
    (parts, lambda: (square().T,)),
    (parts, lambda: (np.arange(36.0).reshape(6, 6)[::2, 1::2],)),
    (windows, lambda: (square().T,)),
    *((reshaped, lambda turned=turned: (turned(square()),)) for turned in (np.copy, np.asfortranarray)),
    (reshaped, lambda: (np.arange(36.0).reshape(6, 6).T[::2],)),
    (by_number, lambda: (square(), 1, -1)),
    (by_number, lambda: (square(), np.int32(0), 2)),
    (in_containers, lambda: ({"x": np.ones(3), "y": [square()]},)),
    (in_registered_ones, lambda: (Box(square(), np.ones(3)),)),
    (of_several, lambda: (square(), np.ones(3))),
    (written, lambda: (square(), np.zeros((3, 3)))),
    (left_by_loops, lambda: (square(), np.zeros((3, 3)))),
    *((chosen, lambda k=k: (k * square(), square())) for k in (30.0, 1.0, -1.0)),
    *((chosen_and_written, lambda c=c: (square(), square(), c)) for c in (np.bool_(True), 0, 2.5, False)),
    *((chosen_place, lambda k=k: (k * square(), 1)) for k in (1.0, -1.0)),
]
WRITING = (written, chosen_and_written, left_by_loops)


def leaves(v: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays and numbers in a value, and where they are."""
    if isinstance(v, Record):
        v = (v.a, v.b)
    if isinstance(v, Box):
        v = v.of
    if isinstance(v, dict | list | tuple):
        for key, x in v.items() if isinstance(v, dict) else enumerate(v):
            yield from leaves(x, f"{path}[{key!r}]")
    else:
        yield path, v


def described(result: Any, arguments: Any) -> list[Any]:
    """Values, flags, and with what each array of a result shares memory, or what it is."""
    known = [*leaves((*arguments, OUTSIDE), "argument ")]
    found = []
    for path, v in leaves(result):
        arrays = [(name, x) for name, x in known if isinstance(x, np.ndarray) and isinstance(v, np.ndarray)]
        shared = [(name, v is x) for name, x in arrays if np.shares_memory(v, x)]
        flags = (v.flags.writeable, v.dtype) if isinstance(v, np.ndarray) else None
        found.append((path, type(v), np.asarray(v).tolist(), flags, shared))
        known.append((path, v))
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p[0].__name__)
def test_memory_is_shared_as_in_numpy(program: Program, target: str) -> None:
    function, given = program
    fast = accelerate(function, target=target)
    for _ in range(2):
        mine, theirs = given(), given()
        expected, found = function(*mine), fast(*theirs)
        assert described(found, theirs) == described(expected, mine)
        assert type(found) is type(expected)
        for (_, x), (_, y) in zip(leaves(theirs), leaves(mine), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("target", TARGETS)
def test_later_writes_are_seen(target: str) -> None:
    x = square()
    row, turned = accelerate(lambda x: (x[1], x.T), target=target)(x)
    x[1, 2] = 50.0
    assert row[2] == 50.0 and turned[2, 1] == 50.0
    row[0] = -1.0
    assert x[1, 0] == -1.0


@pytest.mark.parametrize("target", TARGETS)
def test_read_only_arguments_and_views_of_them_stay_so(target: str) -> None:
    x = square()
    x.setflags(write=False)
    for found in accelerate(lambda x: (x, x[1:]), target=target)(x):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 1.0


def test_nothing_is_computed_for_views_but_for_arrays_of_devices() -> None:
    def turned(x: Any) -> Any:
        return x.T, x[1:]

    fast = accelerate(turned, target="cpu")
    x = square()
    for y, expected in zip(fast(x), turned(x), strict=True):
        assert np.shares_memory(y, x) and y.strides == expected.strides
    [[entry]] = fast._entries.values()
    assert not entry.translation.stages.without(entry.known)["fuse"].body.statements
    for y, expected in zip(fast(device_put(x)), turned(x), strict=True):
        assert not np.shares_memory(np.asarray(y), x)
        np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p[0] not in WRITING], ids=lambda p: p[0].__name__)
def test_every_call_with_arrays_of_a_device_gives_the_values_alone(program: Program) -> None:
    function, given = program
    arrays = tree.map(lambda x: device_put(x) if isinstance(x, np.ndarray) else x, given())
    fast = accelerate(function, target="cpu")
    expected = function(*given())
    for _ in range(3):
        found = fast(*arrays)
        assert type(found) is (type(expected) if not isinstance(expected, np.ndarray) else Array)
        for (path, x), (where, y) in zip(leaves(found), leaves(expected), strict=True):
            assert path == where
            np.testing.assert_array_equal(x, y)


def unchanged(d, rows):
    return d, [rows, rows], d["inner"], {"rows": rows}


def test_unchanged_containers_of_the_caller_are_themselves():
    d, rows = {"a": np.arange(3.0), "inner": {"b": 1, "c": [np.ones(2)]}}, [np.ones(3), 2.0, []]
    for _ in range(2):
        same, (first, second), inner, made = accelerate(unchanged)(d, rows)
        assert same is d and first is rows and second is rows and inner is d["inner"] and made["rows"] is rows
        assert type(rows[1]) is float and rows[2] == [] and d["inner"]["b"] == 1
    arrays = tree.map(device_put, d)
    assert accelerate(lambda d: d)(arrays) is arrays
