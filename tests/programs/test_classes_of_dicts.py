"""Dicts of other classes than `dict` keep their class wherever a function leaves, joins or carries them."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict, defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from comparing import TARGETS, Cases, check

from untraced import accelerate

CASES = Cases()

A = np.arange(6.0)


class Record(dict):
    def __getattr__(self, name):
        if name not in self:
            raise AttributeError(name)
        return self[name]


@CASES(({}, A))
def in_a_dict_of_the_callers(held, x):
    held["order"] = OrderedDict()
    held["order"]["b"] = x * 2
    held["order"]["a"] = x.sum()
    held["lists"] = defaultdict(list)
    held["lists"]["k"].append(x + 1)
    held["counts"] = Counter(a=2)
    held["counts"]["a"] += 3


@CASES(({}, A, 1.0), ({}, A, -1.0))
def by_branches(held, x, s):
    held["order"] = OrderedDict()
    if s > 0:
        held["order"]["b"] = x
        held["order"]["a"] = x + 1
        made, record = Counter(a=2, b=1), Record(z=x)
    else:
        held["order"]["b"] = x * 2
        held["order"]["a"] = x
        made, record = Counter(a=3, b=1), Record(z=x * 2)
    made["a"] += 1
    return made, record, record.z


@CASES((A,))
def carried(x):
    order, sums, record = OrderedDict(), defaultdict(float), Record(s=0.0)
    order["z"], order["a"], sums["s"] = 0.0, 1.0, 0.0
    for i in range(200):
        order["z"] = order["z"] + x[i % 6]
        sums["s"] += x[i % 6] * i
        record["s"] = record.s - x[i % 3]
    order["last"] = sums["none"]
    return order, sums, record, list(order)


@CASES((A,))
def carried_alone(x):
    order = OrderedDict()
    order["z"] = 0.0
    for i in range(100):
        order["z"] = order["z"] + x[i % 3]
    return order


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "arguments"), CASES.found)
def test_classes_of_dicts(function: Any, arguments: Any, target: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no program is left to NumPy
        check(function, arguments, target)


@dataclass
class Pair:
    first: Any
    second: Any


@pytest.mark.parametrize("target", TARGETS)
def test_dataclasses_in_the_callers_containers_hold_the_callers_arrays(target: str) -> None:
    def leave(pairs, x):
        pairs.append(Pair(x, x[:2]))

    pairs: list[Pair] = []
    x = A.copy()
    accelerate(leave, target=target)(pairs, x)
    assert pairs[0].first is x
    assert pairs[0].second.base is x
