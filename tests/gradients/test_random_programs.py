"""Random programs of expressions, slices, stores, loops and branches: derivatives to order 2 against differences."""

from __future__ import annotations

import linecache
from itertools import count

import numpy as np
import pytest
from gradient_helpers import check_source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VECTORS = ["x", "u", "v"]  # of 4 elements
NUMBERS = ["s", "c"]
_serial = count()


@st.composite
def vector(draw, indices, depth=2):
    """An expression for a vector with elements between -2 and 2 or so."""
    if depth == 0:
        row = draw(st.sampled_from(["0", "2", "-1", *indices]))
        choices = [*VECTORS, f"a[{row}]", "a[:, 1]", "x[::-1]", "(np.cumsum(u) * 0.3)", "np.full(4, s)"]
        return draw(st.sampled_from(choices))
    inner = vector(indices, depth - 1)
    form = draw(st.sampled_from(["sin", "mul", "add", "matmul", "scale", "div", "where", "max", "concat", "same"]))
    x, y = draw(inner), draw(inner)
    k = draw(st.sampled_from([*NUMBERS, "0.7", *(f"({i} + 1) * 0.3" for i in indices)]))
    return {
        "sin": f"np.sin({x})",
        "mul": f"np.tanh({x} * {y})",
        "add": f"(0.6 * {x} - {y})",
        "matmul": f"np.tanh(a @ {x})",
        "scale": f"({x} * {k})",
        "div": f"({x} / (1.5 + np.cos({y})))",
        "where": f"np.where({x} > {y}, {x} * 0.5, {y})",
        "max": f"({x} - np.max({y}))",
        "concat": f"np.concatenate(({x}[1:], {y}[:1]))",
        "same": f"({x} * u * u)",
    }[form]


@st.composite
def block(draw, indices, depth, size):
    lines = []
    for _ in range(draw(st.integers(1, size))):
        kinds = ["vector", "vector", "number", "store", "element", "add"]
        kinds += ["for", "for", "if"] if depth else []
        kind = draw(st.sampled_from(kinds))
        e = draw(vector(indices))
        i = draw(st.sampled_from(["1", "3", *indices]))
        if kind == "vector":
            lines.append(f"{draw(st.sampled_from(VECTORS))} = {e}")
        elif kind == "number":
            lines.append(f"s = np.tanh(s * 0.5 + np.sum({e}) * 0.2)")
        elif kind == "store":
            place = draw(st.sampled_from([f"a[{i}]", f"a[:, {i}]", "a[1:3]", "a[::2, :]"]))
            lines.append(f"{place} = {e}")
        elif kind == "add":
            place = draw(st.sampled_from([f"a[{i}]", f"a[:, {i}]", "w[1:]"]))
            lines.append(f"{place} += {e}{'[1:]' if place == 'w[1:]' else ''} * 0.5")
        elif kind == "element":
            lines.append(f"w[{i}] = np.sin({e}[{draw(st.sampled_from(['0', *indices]))}]) + w[{i} - 1] * s")
        elif kind == "for":
            index = f"i{depth}"
            bounds = draw(st.sampled_from(["3", "1, 4", "0, 4, 2", "3, 0, -1", *(f"{j}" for j in indices)]))
            lines.append(f"for {index} in range({bounds}):")
            lines += ["    " + line for line in draw(block([*indices, index], depth - 1, 3))]
        else:
            lines.append(f"if np.sum({e}) > {draw(st.sampled_from(['0.1', '-0.4']))}:")
            lines += ["    " + line for line in draw(block(indices, depth - 1, 2))]
            if draw(st.booleans()):
                lines.append("else:")
                lines += ["    " + line for line in draw(block(indices, depth - 1, 2))]
    return lines


def compiled(lines):
    body = ["a = a.copy()", "w = x * 0.5", "u = x", "v = a[1] * 1.0", "s = c * 0.5", *lines]
    text = "def program(x, a, c):\n" + "".join(f"    {line}\n" for line in [*body, "return u + v + w, a * a, s"])
    name = f"<random program {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    namespace = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    return namespace["program"]


def arguments():
    rng = np.random.default_rng(12)
    return rng.uniform(-1, 1, 4), rng.uniform(-1, 1, (4, 4)), 0.37


CAREFUL = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@settings(CAREFUL, max_examples=60)
@given(block([], 2, 4))
def test_first_order(lines):
    check_source(compiled(lines), *arguments(), order=1)


@settings(CAREFUL, max_examples=20)
@given(block([], 2, 3))
def test_second_order(lines):
    check_source(compiled(lines), *arguments(), order=2)


@pytest.mark.slow
@settings(CAREFUL, max_examples=120, derandomize=False)
@given(block([], 3, 4))
def test_campaign(lines):
    check_source(compiled(lines), *arguments(), order=2)
