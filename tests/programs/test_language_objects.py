"""Classes, dataclasses, namedtuples, and functions with state inside accelerated ones."""

from __future__ import annotations

import abc
import enum
import functools
import itertools
import math
from collections import namedtuple
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import grad, vmap

CASES = Cases()

A = np.arange(6.0)

M = np.arange(12.0).reshape(3, 4)


class Counter1:
    def __init__(self, x):
        self.x = x
        self.n = 0

    def step(self, d):
        self.x = self.x + d
        self.n += 1
        return self

    @property
    def mean(self):
        return self.x.mean()

    @staticmethod
    def twice(v):
        return v * 2

    @classmethod
    def make(cls, x):
        return cls(x * 1.0)

    def __call__(self, y):
        return self.x * y

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.x[i]

    def __iter__(self):
        return iter([self.x, self.x])


@CASES((A,))
def obj(x):
    c = Counter1(x)
    for i in range(5):
        c.step(i)
    return (c.x, c.n, c.mean, c.twice(3), c(2.0), len(c), c[1])


@CASES((A,))
def obj_cls(x):
    c = Counter1.make(x)
    return (c.x, Counter1.twice(2))


class Vec:
    def __init__(self, x, y):
        self.x, self.y = (x, y)

    def __add__(self, o):
        return Vec(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vec(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        return Vec(self.x * k, self.y * k)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __eq__(self, o):
        return self.x == o.x and self.y == o.y

    def __abs__(self):
        return math.sqrt(self.x**2 + self.y**2)

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __iadd__(self, o):
        self.x += o.x
        self.y += o.y
        return self

    def dot(self, o):
        return self @ o

    def __truediv__(self, k):
        return Vec(self.x / k, self.y / k)

    def __pow__(self, k):
        return Vec(self.x**k, self.y**k)

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __repr__(self):
        return f"Vec({self.x},{self.y})"

    def __bool__(self):
        return True

    def __len__(self):
        return 2

    def __iter__(self):
        return iter((self.x, self.y))


@CASES((1.0, 2.0, 3.0, 4.0))
def vecs(a, b, c, d):
    u, v = (Vec(a, b), Vec(c, d))
    w = 2.0 * (u + v) - u * 3
    w += v
    return (w.x, w.y, abs(w), u @ v, u.dot(v), (-w).x, u == v, (w / 2).x, (w**2).y, w[0])


@CASES((1.0, 2.0, 3.0, 4.0))
def vecs2(a, b, c, d):
    u, v = (Vec(a, b), Vec(c, d))
    x, y = u
    return (x, y, [t for t in v], len(u), bool(u))


@dataclass
class P:
    x: np.ndarray
    v: float = 1.0

    def energy(self):
        return 0.5 * self.v * np.sum(self.x**2)


@CASES((A,))
def dc(x):
    p = P(x)
    q = replace(p, v=2.0)
    p.v = 3.0
    p.x = p.x + 1
    return (p.energy(), q.energy(), p.x)


Pt = namedtuple("Pt", "x y")


class St(NamedTuple):
    a: float
    b: float = 2.0

    def s(self):
        return self.a + self.b


@CASES((A,))
def nts(x):
    p = Pt(x, 2)
    q = p._replace(y=3)
    s = St(1.0)
    a, b = p
    return (p, q.x * q.y, s.s(), s._asdict(), p._fields)


class Kept(Pt):
    """Keeps an attribute beside the fields, of which its elements know nothing."""

    def __new__(cls, x, y, *, error):
        made = super().__new__(cls, x, y)
        made.error = error
        return made


class Doubled(Pt):
    def __new__(cls, x):
        return super().__new__(cls, 2 * x, 3 * x)


class Unit(Pt):
    """Can be made again from its elements."""

    def __new__(cls, x, y=1.0):
        return super().__new__(cls, x, y)


@CASES(lambda: (Kept(A, A, error=A + 1),), lambda: (Doubled(A),), (Unit(A),), (Pt(A, 2),))
def tuples_made_in_ways_of_their_own(p):
    made = Kept(p.x * 2, p.y, error=p.x)
    for _ in range(3):
        made = Kept(made.x + 1, made.y, error=made.error * 2)
    return p.x * p.y, getattr(p, "error", 0), tuple(made), made.error, Unit(p.x)


class Emptied:
    def __init__(self, x):
        self.x, self.mean = x, x.mean()


@CASES((A,))
def attributes_taken_away(x):
    made = Emptied(x)
    y = x * made.mean
    for name in ("mean", "x"):
        delattr(made, name)
    return y + 1, vars(made)


class Base(abc.ABC):
    scale = 2.0

    def __init__(self, x):
        self.x = x
        self._c = {}

    @abc.abstractmethod
    def f(self): ...

    def run(self):
        return self.f() * self.scale


class Child(Base):
    def __init__(self, x, k=3):
        super().__init__(x)
        self.k = k

    def f(self):
        return self.x * self.k


class Child2(Child):
    scale = 5.0

    def f(self):
        return super().f() + 1


@CASES((A,))
def inherit(x):
    return (Child(x).run(), Child2(x, k=1).run(), isinstance(Child(x), Base), Child2(x).scale)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Flag(enum.IntEnum):
    A = 1
    B = 2


@CASES((A, Color.RED), (A, Color.BLUE))
def enums(x, c):
    if c is Color.RED:
        return x
    return x * c.value + Flag.B


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()

    def __len__(self):
        return len(self.items)

    def __bool__(self):
        return len(self) > 0

    def __contains__(self, v):
        return v in self.items

    def __iter__(self):
        return iter(self.items)

    def __setitem__(self, i, v):
        self.items[i] = v

    def __getitem__(self, i):
        return self.items[i]

    def __delitem__(self, i):
        del self.items[i]

    def __enter__(self):
        return self

    def __exit__(self, *a):
        return False


@CASES((A,))
def stack(x):
    s = Stack()
    s.push(x)
    s.push(2)
    s.push(3)
    t = s.pop()
    s[1] = 9
    return (t, len(s), 2 in s, [v for v in s], s[1], bool(s), list(s), sum((1 for _ in s)))


class Matrix:
    def __init__(self, d):
        self.d = np.asarray(d, dtype=float)

    def __mul__(self, o):
        return Matrix(self.d @ o.d) if isinstance(o, Matrix) else Matrix(self.d * o)

    def __rmul__(self, o):
        return self * o

    def __eq__(self, o):
        return bool(np.all(self.d == o.d))

    def __lt__(self, o):
        return self.d.sum() < o.d.sum()

    def __call__(self, v):
        return self.d @ v

    def __repr__(self):
        return f"Matrix({self.d.shape})"

    def __str__(self):
        return "M"

    @property
    def T(self):
        return Matrix(self.d.T)

    @classmethod
    def eye(cls, n):
        return cls(np.eye(n))

    def __pow__(self, n):
        r = Matrix.eye(self.d.shape[0])
        for _ in range(n):
            r = r * self
        return r


@CASES((M[:3, :3],))
def matrix(m):
    a = Matrix(m)
    b = a**3 * 2
    c = 3 * a
    return (b.d, c.T.d, a(m[0]), a == a, a < b, f"{a}", repr(a), str(a))


class Poly:
    __slots__ = ("c",)

    def __init__(self, *c):
        self.c = list(c)

    def __add__(self, o):
        return Poly(*[a + b for a, b in itertools.zip_longest(self.c, o.c, fillvalue=0)])

    def __call__(self, x):
        r = 0
        for c in reversed(self.c):
            r = r * x + c
        return r


@CASES((2.0,))
def poly(x):
    return (Poly(1, 2, 3) + Poly(1, 1))(x)


@dataclass
class Body:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.0
    hist: list = field(default_factory=list)

    def kick(self, f, dt):
        self.vel = self.vel + f / self.mass * dt
        return self

    def __post_init__(self):
        self.ke = 0.0


@CASES((A[:3], A[3:]))
def bodies(p, v):
    bs = [Body(p, v), Body(v, p, 2.0)]
    for t in range(5):
        for b in bs:
            b.kick(-b.pos, 0.1)
            b.pos = b.pos + b.vel * 0.1
            b.ke = 0.5 * b.mass * np.sum(b.vel**2)
    bs[0].hist.append(1)
    return ([b.pos for b in bs], sum((b.ke for b in bs)), len(bs[0].hist), len(bs[1].hist))


@dataclass(frozen=True, order=True)
class V:
    a: int
    b: int = 2


@CASES((3,))
def dcs(n):
    from dataclasses import asdict, astuple, fields, replace

    u = V(n)
    w = replace(u, b=5)
    return (u == V(3), u < w, asdict(w), astuple(w), u != w, [f.name for f in fields(u)])


@CASES((A,))
def kwdefaults(x):

    def f(a, /, b, *, c=3, **k):
        return a + b * c + k.get("z", 0)

    g = functools.partial(f, b=2)
    return (f(1, 2), f(1, b=2, c=4, z=5), g(1), (lambda *a, k=1: sum(a) * k)(1, 2, k=3))


@CASES((A, 3), (A, 0))
def earlyret(x, n):
    if n == 0:
        return x.sum()
    for i in range(n):
        if x[i] > 1:
            break
    else:
        return -1.0
    return x[i] * 1.0


@CASES((A, 2.5), (A, 100.0))
def find_first(x, t):
    for i, v in enumerate(x):
        if v > t:
            idx = i
            break
    else:
        return -1
    return idx


@CASES((A,))
def nested_fn_loop(x):

    def step(s, i):
        return s + x[i]

    s = 0.0
    for i in range(6):
        s = step(s, i)
    acc = []

    def visit(k):
        if k > 3:
            return
        acc.append(x[k])
        visit(k + 1)

    visit(0)
    return (s, acc)


@CASES((A, 1), (A, -1))
def none_branch(x, k):
    r = None
    if k > 0:
        r = x * k
    return r


@CASES((A,))
def data_none(x):
    best = None
    for v in x:
        if v > 2 and (best is None or v < best):
            best = v
    return best


@CASES((A,))
def whiletrue(x):
    i = 0
    while True:
        if x[i] > 3:
            r = x[i]
            break
        i += 1
        if i >= len(x):
            r = -1.0
            break
    return (r, i)


@CASES((A,))
def multi_flags(x):
    lo = hi = None
    n = 0
    ok = True
    for v in x:
        if v < 1:
            continue
        if lo is None:
            lo = v
        hi = v
        n += 1
        ok = ok and v < 5
    return (lo, hi, n, ok)


@CASES((10,))
def memoized(n):
    cache = {}

    def fib(k):
        if k in cache:
            return cache[k]
        cache[k] = k if k < 2 else fib(k - 1) + fib(k - 2)
        return cache[k]

    return (fib(n), len(cache))


@functools.lru_cache(maxsize=None)
def _lru(k):
    return k if k < 2 else _lru(k - 1) + _lru(k - 2)


@CASES((12,))
def lru(n):
    return _lru(n)


class Total:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return type(other) is Total and bool(np.all(self.x == other.x))

    __hash__ = None


@CASES((3,), (A,))
def returns_an_object(x):
    t = Total(x)
    t.x = t.x + 1
    return t, [t], {int(v) for v in [1, 2, 1]}


@dataclass(frozen=True)
class State:
    x: Any
    v: Any
    done: Any = False


class Slots:
    __slots__ = ("x", "v")

    def __init__(self, x, v):
        self.x, self.v = x, v


@CASES((1.5,), (-0.5,))
def one_of_two_states(x):
    state = State(x, np.arange(3.0))
    state = replace(state, x=state.x + 1, done=True) if x > 0 else replace(state, v=state.v * x)
    for _ in range(3):
        if state.x < 3:
            state = replace(state, x=state.x * 2)
    return state.x + state.v.sum(), state.done, state


@CASES((1.5,), (-0.5,))
def one_of_two_changeable_objects(x):
    if x > 0:
        p, q = Counter1(A * x), Slots([x, 1.0], State(x, 2.0))
        p.n = 3
        p.x = p.x * 2
    else:
        p, q = Counter1(A - x), Slots([2.0, x], State(3.0, x))
    return p.step(1.0).mean + p.n, q.x, q.v.x + 10 * q.v.v


@CASES((1.5,), (-0.5,))
def which_of_two_objects(x):
    p, r = [1.0], Counter1(x)
    q = p if x > 0 else [1.0]
    s = r if x > 0 else Counter1(x)
    return q is p, s is r, s is not r


@CASES((1.5,), (-0.5,))
def one_of_two_that_is_written(x):
    p, r = Counter1(x), Counter1(2 * x)
    q = p if x > 0 else r
    q.x = 100.0
    return p.x, r.x


def test_derivatives_and_batches_of_one_of_two_objects() -> None:
    def f(x: Any) -> Any:
        return one_of_two_states(x)[0]

    np.testing.assert_allclose(vmap(f)(np.array([1.5, -0.5])), [f(1.5), f(-0.5)])
    assert [grad(f)(x) for x in (1.5, -0.5)] == [2.0, 11.0]  # of 2 * (x + 1) + 3 and of 8 x + 3 x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_objects(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
