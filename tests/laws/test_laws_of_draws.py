"""Draws from generators that are arrays of words: the laws, and that the functions draw what NumPy and Python draw."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from laws_helpers import check_laws, read_program

import untraced
from untraced import accelerate, grad, streams, vmap
from untraced.translator.errors import UntracedError
from untraced.translator.ops.draws import DRAWS
from untraced.translator.passes.simplify import simplify

MAKERS: dict[str, tuple[Callable[[int], Any], ...]] = {
    "Generator": (np.random.default_rng, lambda seed: np.random.Generator(np.random.MT19937(seed))),
    "RandomState": (np.random.RandomState,),
    "Random": (random.Random,),
}
NUMBERS = {"low": 2, "high": 9, "a": 2.0, "b": 3.0, "p": 0.3, "df": 3.0}


def walk(words, n):
    x = 0.0
    for i in range(n):
        untraced.streams.normal(words, 0.0, 1.0 + i)
        x = x + untraced.streams.last_float(words)
    return x


def branches(words, xs):
    count = 0
    for i in range(len(xs)):
        untraced.streams.random(words)
        u = untraced.streams.last_float(words)
        if u < xs[i]:
            untraced.streams.integers(words, 0, 10)
            count = count + untraced.streams.last_int64(words)
    return count


def keeps_a_state(words, n):
    """The same numbers twice: the words as they were before are copied."""
    before = words.copy()
    untraced.streams.standard_normal(words)
    x = untraced.streams.last_float(words)
    for _ in range(n):
        untraced.streams.standard_normal(before)
        x = x - untraced.streams.last_float(before)
    return x


def of_old(words, n):
    s = 0
    for _ in range(n):
        untraced.streams.legacy_integers(words, 0, 5)
        s = s + untraced.streams.last_int(words)
    return s


PROGRAMS: list[tuple[Callable[..., Any], Any, Any]] = [
    (walk, np.random.default_rng(1), 5),
    (branches, np.random.default_rng(1), np.linspace(0.1, 0.9, 6)),
    (keeps_a_state, np.random.default_rng(1), 4),
    (of_old, np.random.RandomState(1), 5),
]


@pytest.mark.parametrize(("fun", "generator", "rest"), PROGRAMS)
def test_programs_that_draw_obey_the_laws(fun, generator, rest):
    args = [streams.words_of(generator), rest]
    function, leaves = read_program(fun, args)
    check_laws(function, args, leaves)
    check_laws(simplify(function), args, leaves)


@pytest.mark.parametrize(("fun", "generator", "rest"), PROGRAMS)
def test_words_are_drawn_from_on_the_cpu_as_by_cpython(fun, generator, rest):
    words, by_numpy = streams.words_of(generator), streams.words_of(generator)
    assert accelerate(fun, target="cpu")(words, rest) == fun(by_numpy, rest)
    np.testing.assert_array_equal(words, by_numpy)


@pytest.mark.parametrize("row", DRAWS, ids=lambda row: row.name)
def test_each_function_draws_as_the_method_does(row):
    numbers = [NUMBERS.get(name, 1.5) for name, _ in row.parameters]
    numbers = [1.0, 3.0] if row.name.endswith("uniform") else numbers
    for make in MAKERS[row.owner]:
        generator = make(3)
        words = streams.words_of(generator)
        for _ in range(5):
            getattr(streams, row.name)(words, *numbers)
            drawn = getattr(streams, row.drawn.name)(words)
            method = "randrange" if row.name == "python_integers" else row.methods[0]
            expected = getattr(generator, method)(*numbers)
            assert drawn == expected
            assert type(drawn) is type(expected)
        np.testing.assert_array_equal(words[1:], streams.words_of(generator)[1:])


@pytest.mark.parametrize("owner", MAKERS)
def test_what_is_put_back_goes_on(owner):
    for make in MAKERS[owner]:
        generator, other = make(5), make(6)
        generator.normal(0, 1) if owner != "Random" else generator.gauss(0, 1)
        streams.put_back(streams.words_of(generator), other)
        twin = streams.generator_of(streams.words_of(generator), owner)
        for x in (other, twin):
            again = copy.deepcopy(generator)
            draw = [g.gauss if owner == "Random" else g.normal for g in (x, again)]
            assert [draw[0](0, 1) for _ in range(5)] == [draw[1](0, 1) for _ in range(5)]


def test_words_have_neither_derivatives_nor_lanes():
    words = streams.words_of(np.random.default_rng(1))
    with pytest.raises(UntracedError, match="a draw is not in the language here"):
        grad(lambda x, words: x * walk(words, 3))(1.0, words)
    with pytest.raises(UntracedError, match="a draw is not in the language here"):
        vmap(lambda x, words: x * walk(words, 3), in_axes=(0, None))(np.ones(3), words)
