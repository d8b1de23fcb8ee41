"""Chains of hundreds of tests, one after another: programs of little depth that give what CPython and NumPy give."""

from __future__ import annotations

import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from untraced import accelerate, grad, vmap
from untraced.translator.ir import Block, blocks_of
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.chains import LINKS, LONGEST
from untraced.translator.reading.text.signature import abstract_with_leaves

N = 200
X = np.linspace(-2.0, 2.0, 5)
KEYS = (0, 33, LINKS, N // 2, N - 1, N, -7)


def made(text: str) -> Callable[..., Any]:
    """The function `f` of a text, which is found like that of a notebook's cell."""
    file = f"<chain {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np}
    exec(compile(text, file, "exec"), scope)
    return scope["f"]  # type: ignore[no-any-return]


def lines(form: str, *, first: str = "", then: str = "") -> str:
    """`form` for each number below N, with `if` or `elif` for KEY; `first` and `then` around it."""
    each = "".join(form.format(i=i, KEY="elif" if i else "if") for i in range(N))
    return f"{first}{each}{then}"


ELIF = lines(
    "    {KEY} k == {i}:\n        y = x * {i}.5\n",
    first="def f(x, k):\n",
    then="    else:\n        y = -x\n    return y\n",
)
DATA = lines(
    "    {KEY} x[{i} % 5] * k > 900 - {i}:\n        y[{i} % 5] += {i}\n",
    first="def f(x, k):\n    y = x.copy()\n",
    then="    return y\n",
)
RETURNS = lines(
    "    if k == {i}:\n        return x * {i}.5\n", first="def f(x, k):\n", then="    x = x + k\n    return -x\n"
)
RAISES = lines(
    "    {KEY} k == {i}:\n        branch = x - {i}\n",
    first="def f(x, k):\n",
    then="    else:\n        raise KeyError(f'no {k}')\n    return branch\n",
)
MATCH = lines(
    "        case {i}:\n            y = x * {i}\n",
    first="def f(x, k):\n    y = x\n    match k + 1:\n",
    then="        case _:\n            y = y - 1\n    return y\n",
)
MACHINE = lines(
    "        {KEY} op == {i}:\n            y[{i} % 5] = y[{i} % 5] * 0.5 + {i}\n            s += 1\n",
    first="def f(x, k):\n    y, s = x.copy(), 0\n    for i in range(k, k + 90, 7):\n        op = abs(i)\n",
    then="        elif op == 203:\n            break\n        else:\n            continue\n        s *= 2\n"
    "    return y, s\n",
)
GUARDS = lines(
    "        if i == {i}:\n            s = s * 0.5 + x[{i} % 5]\n            continue\n",
    first="def f(x, k):\n    s = 0.0\n    for i in range(k, k + 90, 7):\n",
    then="        s -= 1\n    return s\n",
)
BOUND = lines(
    "    {KEY} (y := x * {i})[0] * k < -{i}00:\n        y = y + 1\n", first="def f(x, k):\n", then="    return y\n"
)
PROGRAMS = {
    "elif": ELIF, "data": DATA, "returns": RETURNS, "raises": RAISES, "match": MATCH, "machine": MACHINE,
    "guards": GUARDS,
}  # fmt: skip


def outcome(fun: Callable[..., Any], k: int) -> Any:
    try:
        return fun(X.copy(), k)
    except KeyError as error:
        return repr(error)


def depth(block: Block) -> int:
    return max((1 + depth(b) for s in block.statements for b in blocks_of(s)), default=0)


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_long_chains(name: str, target: str) -> None:
    fun = made(PROGRAMS[name])
    fast = accelerate(fun, target=target)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # which would say that CPython runs it
        for k in KEYS:
            ours, theirs = outcome(fast, k), outcome(fun, k)
            for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (ours, theirs)), strict=True):
                np.testing.assert_array_equal(a, b)


def test_depth() -> None:
    for name, text in PROGRAMS.items():
        fun = made(text)
        function = translate(fun, abstract_with_leaves(fun, (X, 3), {})[0]).source
        assert depth(function.body) < 2 * LINKS, name


def test_shorter_chains_stay_as_they_are() -> None:
    for count in (LONGEST, LONGEST + 1):
        head, _, rest = ELIF.partition(f"    elif k == {count}:")
        fun = made(head + rest[rest.index("    else:") :])
        printed = str(accelerate(fun, target="numpy").inspect(X, 3).source)
        assert ("branch < " in printed) == (count > LONGEST)
        assert printed.count("elif ") >= LONGEST - 2


def test_what_tests_bind_is_known_behind_them() -> None:
    fun = made(BOUND)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as deep as it is, CPython may run it
        for k in (1, 4000):
            np.testing.assert_array_equal(accelerate(fun)(X, k), fun(X, k))


@pytest.mark.parametrize("name", ["elif", "returns"])
def test_derivatives_and_batches(name: str) -> None:
    fun = made(PROGRAMS[name])
    slope = accelerate(grad(lambda x, k: np.sum(fun(x, k))), target="cpu")
    for k in KEYS:
        want = k + 0.5 if 0 <= k < N else -1.0
        np.testing.assert_allclose(slope(X, k), np.full(5, want))
    xs, keys = np.arange(5.0 * len(KEYS)).reshape(-1, 5), np.array(KEYS)
    for target in ("cpu", "numpy"):
        got = accelerate(vmap(fun), target=target)(xs, keys)
        np.testing.assert_array_equal(got, [fun(x, k) for x, k in zip(xs, keys, strict=True)])
