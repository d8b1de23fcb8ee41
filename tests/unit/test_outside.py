"""What a function binds outside itself: attributes of objects, globals, variables of functions around it."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from untraced import UnsupportedError, accelerate, checkpoint, grad, jvp, vmap
from untraced.runtime.calls import regions, worth

X = np.array([1.0, -2.0, 3.0])
COUNT = 0
BEST: Any = None


class Cell:
    """A recurrent cell, and things that are done to its attributes."""

    limit = 3

    def __init__(self) -> None:
        self.w, self.h = np.eye(3) * 0.5, np.zeros(3)
        self.t, self.energy, self.log = 0, 0.0, []
        self.seen: dict[str, Any] = {}

    def step(self, x):
        self.h = np.tanh(self.w @ self.h + x)
        self.t += 1
        self.energy = float(np.sum(self.h**2))
        return self.h

    def run(self, x):
        for i in range(5):
            self.step(x * i)
            if self.energy > 2.0:
                break
        return self.t

    def record(self, x):
        self.step(x)
        self.log.append(self.energy)
        self.seen["last"] = self.h
        return len(self.log)

    def share(self):
        self.h = np.zeros_like(self.h)
        self.other = self.h

    def swap(self):
        self.w, self.h = self.h, self.w

    def in_place(self, x):
        self.h[1:] += x[1:]
        before = self.h
        self.h = self.h * 2
        before[0] = 7.0
        return before

    def branch(self, x):
        if x.sum() > 0:
            self.t += 10
            self.h = x + 1
        else:
            self.energy = -1.0

    def count_on_class(self):
        self.limit += 1
        return self.limit

    @property
    def norm(self):
        return np.sqrt(np.sum(self.h**2))

    @norm.setter
    def norm(self, value):
        self.h = self.h * (value / self.norm)
        self.t += 1

    def normalize(self):
        self.norm = 2.0
        return self.norm

    def by_name(self, x):
        setattr(self, "h", x * 2)
        return getattr(self, "h") + getattr(self, "missing", 1.0) if hasattr(self, "h") else x


def state(cell: Cell) -> dict[str, Any]:
    return vars(cell)


def assert_same(a: Any, b: Any) -> None:
    assert type(a) is type(b) or isinstance(a, dict)
    if isinstance(a, dict):
        assert list(a) == list(b)
        for k in a:
            assert_same(a[k], b[k])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif a is not None:
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("how", ["bound", "argument"])
@pytest.mark.parametrize(
    "name",
    ["step", "run", "record", "share", "swap", "in_place", "branch", "count_on_class", "normalize", "by_name"],
)
def test_methods_that_change_their_object(name: str, how: str, target: str) -> None:
    mine, theirs = Cell(), Cell()
    method = getattr(Cell, name)
    takes = (X,) if method.__code__.co_argcount > 1 else ()
    for cell in (mine, theirs):
        cell.h = np.array([0.5, 0.25, -1.0])
    fast = accelerate(getattr(mine, name) if how == "bound" else method, target=target)
    for sign in (1, -1, 1):
        given = tuple(sign * x for x in takes)
        result = fast(*given) if how == "bound" else fast(mine, *given)
        assert_same(result, getattr(theirs, name)(*given))
        assert_same(state(mine), state(theirs))


def test_what_is_one_object_stays_one() -> None:
    cell = Cell()
    cell.share = accelerate(cell.share)  # type: ignore[method-assign]
    cell.share()
    assert cell.other is cell.h  # type: ignore[attr-defined]
    w, h = cell.w, cell.h
    accelerate(cell.swap)()
    assert cell.w is h and cell.h is w
    step = accelerate(Cell.step)
    cell = Cell()
    assert step(cell, X) is cell.h


def test_a_number_that_changes_is_read_at_every_call() -> None:
    cell = Cell()
    step = accelerate(cell.step)
    for _ in range(5):
        step(X)
    assert cell.t == 5 and step.explain_recompiles().startswith("step was translated 1 time.")

    scaled = accelerate(lambda x: x * CONFIG.scale)
    for value in (1.0, 2.0, 3.0, 4.0, 5.0):
        CONFIG.scale = value
        np.testing.assert_array_equal(scaled(X), X * value)
    told = scaled.explain_recompiles().splitlines()
    assert told[0].endswith("was translated 3 times.") and "instead: it is part of the program" in told[3]
    assert told[-1].endswith("it is 3.0 and was 2.0; it is read at every call from now on")

    sized = accelerate(lambda x: np.full(CONFIG.size, x[0]))
    for n in (1, 2, 3, 4):
        CONFIG.size = n
        assert sized(X).shape == (n,)
    assert "from now on" not in sized.explain_recompiles()  # a size is needed before the run


class Config:
    scale = 1.0
    size = 1


CONFIG = Config()


def test_globals_and_variables_of_functions_around() -> None:
    @accelerate
    def best(x):
        global BEST, COUNT
        for v in x:
            if BEST is None or v > BEST:
                BEST = v
        COUNT += 1
        return BEST * 2

    @accelerate
    def creates(x):
        global CREATED
        CREATED = x * 2

    globals().update(BEST=None, COUNT=0)
    assert best(X) == 6.0 and best(2 * X) == 12.0 and BEST == 6.0 and COUNT == 2
    creates(X)
    np.testing.assert_array_equal(CREATED, X * 2)  # type: ignore[name-defined]

    total = 0.0

    @accelerate
    def add(x):
        nonlocal total
        total = total + np.sum(x)
        return total

    assert add(X) == 2.0 and add(X) == 4.0 and total == 4.0


class Counted:
    """An objective that counts its calls, as benchmark functions do."""

    def __init__(self) -> None:
        self.calls = 0
        self.last = np.zeros(2)

    def __call__(self, x):
        self.calls += 1
        self.last = x * 2.0
        return np.sum(self.last**2) * self.calls


def test_derivatives_do_not_change_what_lies_outside() -> None:
    def f(x):
        CONFIG.scale = CONFIG.scale + 2.0
        return np.sum(x**2) * CONFIG.scale

    def g(x):
        global COUNT
        COUNT += 1
        return np.sum(x**2) * COUNT

    counted = Counted()
    before = CONFIG.scale, COUNT
    for fun, name, factor in ((f, "CONFIG.scale", CONFIG.scale + 2.0), (g, "COUNT", COUNT + 1)):
        with pytest.warns(UserWarning, match=f"{name} lives outside the function") as told:
            np.testing.assert_array_equal(grad(fun)(X), 2.0 * factor * X)
        assert told[0].filename == __file__
        with pytest.warns(UserWarning):
            np.testing.assert_array_equal(vmap(fun)(X[:, None]), X**2 * factor)
    with pytest.warns(UserWarning, match=r"counted.(calls|last) lives outside"):
        np.testing.assert_array_equal(grad(lambda x: counted(x))(X), 8.0 * X)
        counted.calls = 2
        np.testing.assert_array_equal(accelerate(grad(lambda x: counted(x)))(X), 24.0 * X)
        slope = accelerate(grad(lambda x: jvp(counted.__call__, (x,), (X,))[1]))  # the method is an inner function
        np.testing.assert_array_equal(slope(X), 24.0 * X)
    assert (CONFIG.scale, COUNT) == before and counted.calls == 2
    np.testing.assert_array_equal(counted.last, np.zeros(2))


def test_an_inner_function_binds_outside_what_a_derivative_forgets_and_nothing_else_does() -> None:
    def outer(x):
        calls, kept = 0, np.zeros(2)

        def inner(y):
            nonlocal calls
            calls += 1
            kept[0] = y[1]
            return np.sum(y**3) * kept[0]

        return grad(inner)(x) + calls + kept[0]

    def recomputed(x):
        kept = np.zeros(3)

        def inner(y):
            kept[:] = y
            return y * y

        return checkpoint(inner)(x) + kept

    for f in (outer, accelerate(outer)):
        with pytest.warns(UserWarning, match="calls lives outside the function"):
            np.testing.assert_array_equal(f(X), 3.0 * X**2 * X[1] + np.sum(X**3) * np.eye(3)[1])
    np.testing.assert_array_equal(recomputed(X), X * X + X)
    with pytest.raises(UnsupportedError, match="writes to what was made outside"):
        accelerate(recomputed)(X)


@dataclass(frozen=True)
class Frozen:
    a: float = 1.0


class Guarded:
    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"no {name}")


class Slotted:
    __slots__ = ("h",)

    def __init__(self) -> None:
        self.h = X.copy()


def test_objects_with_a_way_of_their_own() -> None:
    def assigns(obj, x):
        obj.a = x
        return obj

    for obj in (Frozen(), Guarded()):
        with pytest.raises(AttributeError):
            accelerate(assigns)(obj, X)

    @accelerate
    def doubles(obj):
        obj.h = obj.h * 2

    slotted = Slotted()
    doubles(slotted)
    np.testing.assert_array_equal(slotted.h, X * 2)


def test_objects_of_which_nothing_is_known() -> None:
    @accelerate
    def draw(rng, n, out):
        x = rng.normal(size=n)
        y = np.exp(-x * x) * 2
        print(f"{y.mean():.3f}", file=out)
        return y

    out = io.StringIO()
    for seed in (0, 1):
        x = np.random.default_rng(seed).normal(size=2000)
        np.testing.assert_allclose(draw(np.random.default_rng(seed), 2000, out), np.exp(-x * x) * 2, rtol=1e-14)
    assert len(out.getvalue().splitlines()) == 2


def test_many_objects_share_what_is_compiled_for_none() -> None:
    move = accelerate(Cell.step)
    cells, theirs = [Cell() for _ in range(20)], Cell()
    theirs.step(X)
    for cell in cells:
        move(cell, X)
        assert_same(state(cell), state(theirs))


class Shared:
    """All of its instances have the same attributes."""

    attributes: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.__dict__ = Shared.attributes

    @accelerate
    def put(self, x):
        self.z = x + 1.0
        return x


def test_an_object_shows_nothing_of_its_programs() -> None:
    cell = Cell()
    before = list(vars(cell))
    accelerate(type(cell).normalize)(cell)
    assert [k for k in vars(cell) if k not in before] in ([], ["norm"])
    assert type(vars(copy.deepcopy(cell))) is type(vars(copy.copy(cell))) is dict
    assert pickle.loads(pickle.dumps(vars(cell))).keys() == vars(cell).keys()
    gone = weakref.ref(cell)
    del cell
    gc.collect()
    assert gone() is None


def test_objects_with_one_dict_of_attributes_go_on_sharing_it() -> None:
    one, other = Shared(), Shared()
    one.put(2.0)
    assert other.z == 3.0 and other.put(5.0) == 5.0 and one.z == 6.0


def column(start, values):
    piece = values[column.at : column.at + 3 - start]
    column.at += 3 - start
    column.calls = getattr(column, "calls", 0) + 1
    return np.concatenate((np.zeros(start), piece))


def triangle(values):
    column.at = 0
    return np.column_stack([column(i, values) for i in range(3)])


def test_attributes_of_functions_are_bound_as_those_of_objects() -> None:
    values = np.arange(6.0)
    triangle(values)
    want, calls = triangle(values), column.calls
    run = accelerate(triangle)
    assert_same(run(values), want)
    assert_same(run(values), want)
    assert (column.at, column.calls) == (6, calls + 6)
    with pytest.warns(UserWarning, match=r"column\.(at|calls) lives outside the function"):
        slope = grad(lambda v: np.sum(triangle(v) ** 2))(values)
    np.testing.assert_allclose(slope, 2.0 * values, rtol=1e-15)
    assert column.calls == calls + 6


class Counting:
    """Its text says what it costs, which it computes when asked."""

    def __init__(self, gain: float) -> None:
        self.gain, self.cost = gain, None

    def __repr__(self) -> str:
        self.cost = self.gain * 2
        return f"Counting({self.cost})"


def test_objects_are_not_asked_for_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "PLAINLY", 0)
    monkeypatch.setattr(worth, "_ASKED", 0)
    monkeypatch.setattr(regions, "AT_ONCE", 1000)

    @accelerate
    def gained(x):
        made = Counting(2.0)
        places = np.unique(x[x > 0.5])
        y = np.sin(places) * made.gain
        print(end="")
        return made, y * made.gain

    for _ in range(4):
        made, _ = gained(np.linspace(0.0, 1.0, 8))
        assert made.cost is None
