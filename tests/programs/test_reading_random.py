"""Random programs full of aliases, stores, branches and loops: read and run, or refused, but never wrong."""

from __future__ import annotations

import copy
import linecache
import random
from typing import Any

import numpy as np
import pytest
from reading import run

from untraced.translator.errors import AliasError, UnsupportedError

ARRAYS = ("a", "b", "c")
NUMBERS = ("s", "t")
COUNTS = ("k", "m")


class Writer:
    """Writes the source of one function `f(a, b, n, s, k)` over arrays of six elements."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.depth = 0
        self.indices: list[str] = []

    def source(self) -> str:
        lines = ["def f(a, b, n, s, k):", "    c = a * 0.5", "    t = 0.3", "    m = 1"]
        lines += self.block(1, self.r.randint(3, 8))
        return "\n".join([*lines, "    return a + 0, s * 1.0, k"]) + "\n"

    def pick(self, *choices: str) -> str:
        return self.r.choice(choices)

    def index(self) -> str:
        return self.pick(str(self.r.randint(-6, 5)), *self.indices[-1:] * 3)

    def number(self, depth: int = 0) -> str:
        if depth > 2:
            return self.pick(*NUMBERS)
        again = depth + 1
        kinds: list[Any] = [
            lambda: self.pick(*NUMBERS),
            lambda: f"{self.pick(*ARRAYS)}[{self.index()}]",
            lambda: f"{self.r.uniform(-1, 1):.2f}",
            lambda: f"{self.pick('np.sum', 'np.max')}({self.array(again)})",
            lambda: f"({self.pick(*COUNTS)} * 0.1)",
            lambda: f"({self.number(again)} {self.pick('+', '-', '*')} {self.number(again)})",
            lambda: f"({self.number(again)} if {self.condition()} else {self.number(again)})",
        ]
        return str(self.r.choices(kinds, (7, 3, 2, 2, 2, 2, 2))[0]())

    def condition(self) -> str:
        kinds: list[Any] = [
            lambda: f"{self.number(2)} {self.pick('<', '>', '<=')} {self.number(2)}",
            lambda: f"{self.pick(*COUNTS)} % 2 == 0",
            lambda: f"({self.number(2)} > 0 {self.pick('and', 'or')} {self.number(2)} < 1)",
        ]
        return str(self.r.choices(kinds, (6, 2, 2))[0]())

    def array(self, depth: int = 0) -> str:
        if depth > 2:
            return self.pick(*ARRAYS)
        again = depth + 1
        kinds: list[Any] = [
            lambda: self.pick(*ARRAYS),
            lambda: f"np.sin({self.array(again)})",
            lambda: f"({self.array(again)} {self.pick('+', '-', '*')} {self.array(again)})",
            lambda: f"({self.array(again)} * {self.number(again)})",
            lambda: f"{self.pick(*ARRAYS)}[::-1]",
            lambda: f"np.where({self.pick(*ARRAYS)} > 0, {self.array(again)}, {self.number(again)})",
            lambda: f"{self.pick(*ARRAYS)}.copy()",
        ]
        return str(self.r.choices(kinds, (7, 3, 5, 2, 1, 1, 1))[0]())

    def block(self, indent: int, count: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(indent)]

    def statement(self, indent: int) -> list[str]:
        simple = self.depth >= 3 or self.r.random() < 0.55
        if simple:
            return [" " * 4 * indent + line for line in self.simple()]
        self.depth += 1
        try:
            kind = self.r.choices((self.branch, self.loop, self.repeat), (4, 4, 2))[0]
            return kind(indent)
        finally:
            self.depth -= 1

    def simple(self) -> list[str]:
        x, y = self.pick(*ARRAYS), self.pick(*ARRAYS)
        part = self.pick("1:4", "2:5", ":3", "::2")
        view = self.pick("1:4", "::2", "::-1", *(f"{i}:{i}+2" for i in self.indices))
        kinds: list[Any] = [
            lambda: [f"{x} = {self.array()}"],
            lambda: [f"{self.pick(*NUMBERS)} = {self.number()}"],
            lambda: [f"{x}[{self.index()}] = {self.number()}"],
            lambda: [f"{x}[1:4] {self.pick('=', '+=', '*=')} {y}[{part}]"],
            lambda: [f"{x} {self.pick('+=', '*=', '-=')} {self.array(2)}"],
            lambda: [f"{self.pick(*NUMBERS)} {self.pick('+=', '*=', '-=')} {self.number(1)}"],
            lambda: [f"{self.pick(*COUNTS)} {self.pick('+=', '-=')} 1"],
            lambda: [f"{x}, {y} = {y}, {x}"],
            lambda: [f"v = {x}[{view}]", f"v[0] = {self.number(2)}"],
        ]
        lines: list[str] = self.r.choices(kinds, (6, 4, 2, 1, 1, 2, 2, 1, 1))[0]()
        return lines

    def branch(self, indent: int) -> list[str]:
        p = " " * 4 * indent
        lines = [f"{p}if {self.condition()}:", *self.block(indent + 1, self.r.randint(1, 2))]
        if self.r.random() < 0.15:
            lines.append(f"{p}    return {self.pick(*ARRAYS)} + 0, {self.pick(*NUMBERS)} * 1.0, k")
        elif self.indices and self.r.random() < 0.2:
            lines.append(f"{p}    {self.pick('break', 'continue')}")
        if self.r.random() < 0.5:
            lines += [f"{p}else:", *self.block(indent + 1, self.r.randint(1, 2))]
        return lines

    def loop(self, indent: int) -> list[str]:
        p = " " * 4 * indent
        i = "ijqz"[len(self.indices)]
        over = self.pick("range(3)", "range(n)", "range(3, 0, -1)", "reversed(range(3))", "[0, 1, 2]", "enumerate")
        head = f"{p}for {i} in {over}:"
        first = []
        if over == "enumerate":
            head = f"{p}for {i}, w in enumerate({self.pick(*ARRAYS)}[:4]):"
            first = [f"{p}    s = s + w"]
        self.indices.append(i)
        body = self.block(indent + 1, self.r.randint(1, 3))
        self.indices.pop()
        return [head, *first, *body]

    def repeat(self, indent: int) -> list[str]:
        p = " " * 4 * indent
        u = f"u{self.depth}"
        test = f"{u} < {self.pick('3', 'n', '2')} and ({self.condition()})"
        head = [f"{p}{u} = 0", f"{p}while {test}:", f"{p}    {u} += 1"]
        return [*head, *self.block(indent + 1, self.r.randint(1, 2))]


def compiled(text: str, name: str) -> Any:
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    return space["f"]


@pytest.mark.parametrize("block", range(6))
def test_random_programs(block: int) -> None:
    outcomes = {"agreed": 0, "refused": 0}
    for seed in range(25 * block, 25 * (block + 1)):
        text = Writer(seed).source()
        f = compiled(text, f"<random program {seed}>")
        rng = np.random.default_rng(seed)
        for n in (0, 2, 3):
            args = (rng.uniform(-1, 1, 6), rng.uniform(-1, 1, 6), n, float(rng.uniform(-1, 1)), int(rng.integers(0, 4)))
            mine = copy.deepcopy(args)
            with np.errstate(all="ignore"):
                expected = f(*mine)
            if not all(np.all(np.abs(v) < 1e12) for v in expected[:2]):
                continue  # rounding would decide
            try:
                found, after, _ = run(f, *copy.deepcopy(args))
            except (AliasError, UnsupportedError):
                outcomes["refused"] += 1
                continue
            outcomes["agreed"] += 1
            for g, e in zip((*found, *after[:2]), (*expected, *mine[:2]), strict=True):
                np.testing.assert_allclose(g, e, rtol=1e-9, atol=1e-9, err_msg=f"n={n}\n{text}")
    assert outcomes["agreed"] > 20
