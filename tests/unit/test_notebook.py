"""What changes between two calls is seen: cells run again, modules reloaded, objects and containers changed in place.

Each case is a first cell, which defines `f`, and further ones. After each cell the accelerated function must give what
the plain one gives, twice.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import itertools
import linecache
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from untraced import UnsupportedError, accelerate, grad, vmap

X = np.array([1.0, 2.0, 3.0])
_cells = itertools.count(1)

CASES: dict[str, tuple[str, ...]] = {
    "helper": (
        "def h(x): return x + 1\ndef f(x): return h(x) * 2",
        "def h(x): return x - 1", "h = np.sin", "h = lambda x: x * 10", "h = functools.partial(np.add, 5.0)",
    ),
    "helper of a helper": (
        "def k(x): return x + 1\ndef h(x): return k(x)\ndef f(x): return h(x)",
        "def k(x): return x - 1",
    ),
    "code put into a helper": (
        "def h(x): return x + 1\ndef f(x): return h(x)",
        "h.__code__ = (lambda x: x - 1).__code__",
    ),
    "accelerated helper": (
        "@accelerate\ndef h(x): return x * 2\ndef f(x): return h(x)",
        "@accelerate\ndef h(x): return x * 3",
    ),
    "decorated helper": (
        "def over(g):\n    @functools.wraps(g)\n    def w(x): return g(x) + 1\n    return w\n"
        "@over\ndef h(x): return x * 2\ndef f(x): return h(x)",
        "@over\ndef h(x): return x * 3",
    ),
    "class": (
        "class M:\n    k = 3.0\n    def go(self, x): return x * self.k\nm = M()\ndef f(x): return m.go(x) + M.k",
        "M.k = 4.0", "m.k = 9.0", "del m.k", "M.go = lambda self, x: x * 100", "m.go = lambda x: x * 7", "del m.go",
        "class M:\n    k = 1.0\n    def go(self, x): return x - 1", "m = M()",
    ),
    "base class": (
        "class A:\n    def go(self, x): return x + 1\nclass B(A): pass\nb = B()\ndef f(x): return b.go(x)",
        "A.go = lambda self, x: x - 1", "B.go = lambda self, x: x * 9",
    ),
    "special methods": (
        "class V:\n    def __mul__(self, o): return 2 * o\n    def __call__(self, x): return x + 1\n"
        "    def __getitem__(self, i): return 2.0 * i\n    k = property(lambda self: 3.0)\n"
        "v = V()\ndef f(x): return v * x + v(x) + v[1] + v.k",
        "V.__mul__ = lambda self, o: 3 * o", "V.__call__ = lambda self, x: x - 1",
        "V.__getitem__ = lambda self, i: 7.0",
        "V.k = property(lambda self: 4.0)",
    ),
    "object": (
        "class M: pass\nm = M(); m.w = np.ones(3); m.c = 2.0; m.l = [1.0, 2.0]; m.d = {'a': 1.0}\n"
        "def f(x): return m.w * x * m.c + m.l[0] + m.d['a']",
        "m.w[0] = 50", "m.w = np.zeros(3)", "m.c = 3.0", "m.l[0] = 4.0", "m.l = [5.0]", "m.d['a'] = 3.0",
        "m.d.update(a=np.ones(3))",
    ),
    "dataclass": (
        "@dataclasses.dataclass\nclass C:\n    a: float = 2.0\nc = C()\ndef f(x): return x * c.a",
        "c.a = 3.0", "c = C(9.0)", "c.a = np.ones(3) * 4",
    ),
    "attributes that come and go": (
        "class M: pass\nm = M()\ndef f(x): return x * (2 if hasattr(m, 'k') else 3) + getattr(m, 'j', 5)",
        "m.k = 1", "m.j = 7.0", "del m.k", "M.k = 1", "del M.k", "del m.j",
    ),
    "constant": (
        "K = 2\ndef f(x): return x * K",
        "K = 3", "K = 3.0", "K = np.float32(3)", "K = np.arange(3)", "K = np.arange(3.0)", "K[0] = 9",
        "K = np.array(2.0)",
        "K[...] = 5.0", "K = -0.0", "K = 0.0", "K = None", "del K", "K = 1",
    ),
    "list": (
        "L = [1.0, 2.0]\ndef f(x):\n    for v in L: x = x * v\n    return x",
        "L[0] = 3.0", "L.append(4.0)", "L.clear()", "L = (2.0,)", "L = [np.ones(3) * 2]", "L[0][:] = 3",
    ),
    "dict": (
        "D = {'a': 1.0, 'b': {'c': 2.0}}\ndef f(x): return x * D['a'] + D['b']['c'] + len(D) + ('z' in D)",
        "D['a'] = 5.0", "D['b']['c'] = 7.0", "D['b'] = {'c': 8.0}", "D['z'] = 1", "D.pop('z')",
        "D['a'] = np.zeros(3)", "del D['a']",
    ),
    "set": ("S = {1, 2}\ndef f(x): return x * len(S)", "S.add(9)"),
    "defaults": (
        "def h(x, k=2.0): return x * k\ndef f(x, l=[1.0], *, j=1.0): return h(x) + l[0] * j",
        "h.__defaults__ = (5.0,)", "plain.__defaults__[0][0] = 9.0", "plain.__kwdefaults__['j'] = 4.0",
    ),
    "closure": (
        "def make():\n    k, a, l = 2.0, np.ones(3), [1.0]\n    def g(x): return x * k + a + l[0]\n"
        "    def setk(v):\n        nonlocal k\n        k = v\n    return g, setk, a, l\nf, setk, a, l = make()",
        "setk(3.0)", "a[0] = 9", "l[0] = 8.0", "setk(np.arange(3))", "setk(None)",
    ),
    "module": (
        "import types\nmod = types.ModuleType('mod')\nmod.k = 2.0\nmod.h = lambda x: x + 1\n"
        "def f(x): return mod.h(x) * mod.k",
        "mod.k = 3.0", "mod.h = lambda x: x - 1", "del mod.k",
    ),
    "builtin": ("def f(x): return abs(x)", "def abs(x): return x * 100", "del abs"),
    "patched NumPy": ("sine = np.sin\ndef f(x): return np.sin(x)", "np.sin = lambda x: x * 1000", "np.sin = sine"),
    "dtype": ("T = np.float32\ndef f(x): return x.astype(T)", "T = np.int64", "T = 'float64'"),
    "gradient": (
        "def k(x): return x * x\ndef h(x): return k(x).sum()\ndh = grad(h)\ndef f(x): return dh(x)",
        "def k(x): return x * x * x", "def h(x): return (2 * x).sum()\ndh = grad(h)",
    ),
    "batch": ("K = 2.0\ndef h(x): return x * K\ndh = vmap(h)\ndef f(x): return dh(x)", "K = 3.0"),
}  # fmt: skip


def run_cell(text: str, space: dict[str, Any]) -> None:
    name = f"<cell {next(_cells)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), space)


def outcome(f: Any) -> Any:
    try:
        return f(X.copy())
    except (NameError, TypeError, KeyError, AttributeError) as error:
        return error


@pytest.mark.parametrize("target", ["cpu", "numpy"])
@pytest.mark.parametrize("name", CASES)
def test_changes_are_seen(name: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "sin", np.sin)  # undone whatever happens
    first, *changes = CASES[name]
    here = functools.partial(accelerate, target=target)
    space: dict[str, Any] = {"__name__": "__main__", "np": np, "functools": functools, "dataclasses": dataclasses}
    space |= {"accelerate": here, "grad": grad, "vmap": vmap}
    run_cell(first, space)
    space["plain"], space["f"] = space["f"], here(space["f"])
    for cell in ("", *changes):
        run_cell(cell, space)
        for _ in range(2):
            expected, result = outcome(space["plain"]), outcome(space["f"])
            if isinstance(expected, Exception):
                assert isinstance(result, type(expected)), (cell, result)
            else:
                assert not isinstance(result, Exception), (cell, result)
                np.testing.assert_array_equal(result, expected, err_msg=cell)


def write(path: Path, text: str, newer: int) -> None:
    path.write_text(text)
    stamp = time.time() + newer
    os.utime(path, (stamp, stamp))


def test_a_module_is_reloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "reloaded_by_a_test.py"
    write(path, "def h(x):\n    return x + 1\n\ndef f(x):\n    return h(x) * 2\n", 0)
    module = importlib.import_module("reloaded_by_a_test")
    f = accelerate(lambda x: module.f(x))
    np.testing.assert_array_equal(f(X), (X + 1) * 2)
    for n in (2, 3):
        write(path, f"def h(x):\n    return x - {n}\n\ndef f(x):\n    return h(x) * {n}\n", n)
        importlib.reload(module)
        np.testing.assert_array_equal(f(X), (X - n) * n)


def test_a_file_that_changed_without_a_reload_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "edited_by_a_test.py"
    write(path, "def f(x):\n    return x + 1\n\ndef g(x):\n    return x * 2\n\ndef known(x):\n    return x\n", 0)
    module = importlib.import_module("edited_by_a_test")
    np.testing.assert_array_equal(accelerate(module.known)(X), X)
    text = "def f(x):\n    return x - 1\n\ndef g(x):\n    return x * 2  # the same\n\ndef known(x):\n    return -x\n"
    write(path, text, 9)
    with pytest.raises(UnsupportedError, match="import the module again"):
        accelerate(module.f)(X)
    np.testing.assert_array_equal(accelerate(module.g)(X), X * 2)
    np.testing.assert_array_equal(accelerate(module.known)(X), X)


def test_what_was_read_stays_when_the_file_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "removed_by_a_test.py"
    path.write_text("def f(x):\n    return x + 1\n")
    module = importlib.import_module("removed_by_a_test")
    f = accelerate(module.f)
    np.testing.assert_array_equal(f(X), X + 1)
    path.unlink()
    np.testing.assert_array_equal(f(X[:2]), X[:2] + 1)


# ---- explain_recompiles --------------------------------------------------------------------------

EXPLAINED: dict[str, tuple[str, str, str, str]] = {  # first call, second call, what changed, what to do
    "shape": ("f(X)", "f(X[:2])", "x is float64[2] and was float64[3]", "pad arrays"),
    "dtype": ("f(X)", "f(X.astype(np.float32))", "x is float32[3] and was float64[3]", "astype"),
    "kind of number": ("f(1.0)", "f(2)", "x is int and was float", "same kind"),
    "NumPy number": ("f(1.0)", "f(np.float64(1.0))", "x is float64 and was float", "same kind"),
    "static value": (
        "f(X, 1)", "f(X, 2)", "n is 2 and was 1; it is needed for the length of a slice in `x[:n]`",
        "program of its own",
    ),
    "option": ("f(X, how='a')", "f(X, how='b')", "how is 'b' and was 'a'", "part of the program"),
    "structure": (
        "f(X, p=(1.0, 2.0))", "f(X, p=(1.0, 2.0, 3.0))", "p is (float, float, float) and was (float, float)",
        "one structure",
    ),
    "key": ("f(X, p={'a': 1.0})", "f(X, p={'b': 1.0})", "p is {'b': float} and was {'a': float}", "one structure"),
    "leaf": ("f(X, p={'a': X})", "f(X, p={'a': X[:2]})", "p['a'] is float64[2] and was float64[3]", "pad arrays"),
    "way": ("f(X, 2)", "f(X, n=2)", "given by name n, before by position", "same way"),
    "Array": ("f(X)", "f(device_put(X))", "the arguments are Arrays and were NumPy arrays", "keep data in Arrays"),
    "global": ("f(X)", "globals().update(K=5.0); f(X)", "K changed: it is 5.0 and was 2.0", "pass it as an argument"),
    "array": (
        "f(X)", "globals().update(TABLE=np.ones(1)); f(X)", "TABLE changed: it is float64[1] and was float64[3]",
        "pad arrays",
    ),
    "container": ("f(X)", "L.append(2.0); f(X)", "L changed: it is another container", "pass it as an argument"),
    "definition": ("f(X)", "globals().update(h=lambda x: x); f(X)", "h changed: it was defined again", ""),
    "code": ("f(X)", "h.__code__ = (lambda x: x).__code__; f(X)", "the code of a function changed", ""),
    "cleared": ("f(X)", "f.clear_cache(); f(X)", "cleared away", ""),
}  # fmt: skip
FUNCTION = """
K, TABLE, L = 2.0, np.ones(3), [1.0]
def h(x): return x * 2
@accelerate
def f(x, n=1, how="a", p=()):
    part = x[:n] if np.ndim(x) else x
    return h(part) * K + np.sum(TABLE) + L[0]
"""


@pytest.mark.parametrize("name", EXPLAINED)
def test_explain_recompiles(name: str) -> None:
    from untraced import device_put

    first, second, what, instead = EXPLAINED[name]
    here = functools.partial(accelerate, target="cpu")
    put = functools.partial(device_put, device="cpu")
    space: dict[str, Any] = {"__name__": "__main__", "np": np, "accelerate": here, "X": X, "device_put": put}
    run_cell(FUNCTION, space)
    run_cell(first, space)
    run_cell(first, space)
    text = space["f"].explain_recompiles()
    assert text.startswith("f was translated 1 time.\n1. (x: ") and text.endswith("the first call")
    run_cell(second, space)
    text = space["f"].explain_recompiles()
    line, *rest = text.split("\n2. ")[1].split("\n")
    assert text.startswith("f was translated 2 times.") and what in line
    assert (instead in rest[0]) if instead else not rest


def test_the_nearest_translation_is_compared_with() -> None:
    f = accelerate(lambda x, n: x[:n], target="numpy")
    f(X, 1), f(X[:2], 1), f(X, 2)
    assert "3. (x: float64[3], n: int): n is 2 and was 1; " in f.explain_recompiles()
