"""Objects with run-time attributes where CPython asks their methods: as keys, in texts, in comparisons, `del`."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

CASES = Cases()
X = np.array([1.0, 2.0])


@dataclasses.dataclass(frozen=True)
class Place:
    x: int
    y: int = 0


class Named:
    def __init__(self, name: Any, held: Any) -> None:
        self.name, self.held = name, held

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: Any) -> Any:
        return self.name == other.name

    def __repr__(self) -> str:
        return f"Named({self.name})"

    def __format__(self, spec: str) -> str:
        return f"<{self.name}|{spec}>"

    def __delitem__(self, key: str) -> None:
        del self.held[key]


# ---- keys ------------------------------------------------------------------------------------------


@CASES((2, 2), (2, 3))
def dataclasses_as_keys(a, b):
    seen = {}
    seen[Place(a)] = 1
    seen[Place(b)] = seen.get(Place(b), 0) + 1
    both = {Place(k % 2, a) for k in range(4)} == {Place(0, 2), Place(1, 2)}
    return list(seen.values()), len({Place(a), Place(b)}), Place(2) in {Place(b)}, both


@CASES((2, X))
def named_by_what_they_hash(a, x):
    d = {}
    for k, v in enumerate(x):
        d[Named(k, v)] = v * a
    return d[Named(1, x[0])], len(d), Named(0, 5.0) in d, hash(Named(a, x)) == hash(2), hash((a, "x")) == hash((2, "x"))


@CASES((2, 2), (2, 3))
def counted(a, b):
    objects = [Named(a, 1), Named(b, 2)]
    return objects.count(Named(2, 0)), objects.index(Named(b, 0)), Named(b, 0) in objects, Named(a, 0) != Named(b, 0)


# ---- texts -----------------------------------------------------------------------------------------


@CASES((2,))
def formatted(a):
    return f"{Named(a, 1)}", f"{Named(a, 1):>5}", f"{Named(a, 1)!r:>9}", format(Named(a, 1), "x")


@CASES((2,))
def through_a_form(a):
    return "{}".format(Named(a, 1))


@CASES((2,))
def by_percent(a):
    return "%s" % Named(a, 1)


@CASES((2,))
def in_containers(a):
    return f"{[Named(a, 1)]}", str({1: Named(a, 1)}), str(Place(1, Named(a, 1)))


@CASES((2,))
def of_an_attribute(a):
    return "{0.name}".format(Named(a, 1))


# ---- attributes that a class answers for -----------------------------------------------------------


class Options(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__


class Proxy:
    def __init__(self, held: Any) -> None:
        self.held = held

    def __getattr__(self, name: str) -> Any:
        return getattr(self.held, name)


class Settings:
    rate = 5

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def names(self) -> Any:
        return sorted(self.__dict__), "rate" in self.__dict__, self.__dict__.get("w")


OPTIONS = Options(scale=0.5, count=3)


@CASES(lambda: (X, Options(scale=0.5, inner=Options(w=X))))
def options(x, c):
    c.scale = c.scale * 2
    return c.inner.w * x * c.scale, x * OPTIONS.scale


@CASES((X,))
def proxies(x):
    p = Proxy(x * 2)
    return p.shape, p.sum(), hasattr(p, "nothing"), getattr(p, "nothing", 3), p.held


@CASES((X, 3))
def attributes_as_a_dict(x, n):
    c = Settings(w=n, x=x)
    return c.names(), {name: v * 2 for name, v in c.__dict__.items()}, c.x * c.w


# ---- order -----------------------------------------------------------------------------------------


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 3


@dataclasses.dataclass(order=True)
class Job:
    cost: float
    name: str = dataclasses.field(default="", compare=False)


@CASES((X[::-1].copy(),))
def jobs(x):
    waiting = [Job(v, str(k)) for k, v in enumerate(x)]
    by_cost = [job.name for job in sorted(waiting)]
    waiting.sort(reverse=True)
    same = Job(x[0]), Plain()
    return by_cost, waiting[0].name, max(waiting).cost, min(*waiting).cost, [Job(x[0])] < [Job(x[1])], same[1] in same


@CASES((2,))
def ranks(n):
    return sorted([Rank.HIGH, Rank.LOW]), max(Rank), [Rank.HIGH, Rank.LOW] > [Rank(1)], [Rank.LOW, n].index(Rank.LOW)


class Plain:
    pass


# ---- the rest --------------------------------------------------------------------------------------


@CASES((2, 3))
def deleted(a, b):
    v = Named("v", {"p": a, "q": b})
    del v["p"]
    return v.held


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_as_cpython(function: Any, arguments: Any, target: str) -> None:
    check(function, arguments, target)
