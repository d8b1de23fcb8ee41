"""Random loops over elements, as source."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import strategies as st
from random_programs import Program, compile_text

TRIPS = 9


@st.composite
def loops(draw: st.DrawFn) -> Program:
    """Loops over elements of arrays, whose iterations may or may not depend on each other."""
    return random_loops(draw(st.randoms(use_true_random=False)))


def random_loops(random: Random) -> Program:
    """As `loops`, from a plain generator of random numbers."""
    text = _LoopGenerator(random).text()
    rng = np.random.default_rng(random.randint(0, 2**16))
    n = TRIPS
    args = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, n)), rng.integers(0, n, n), rng.integers(0, 4, n)
    return Program(compile_text(text), args, text)


class _LoopGenerator:
    """Places are the index of the loop more often than not, shifted, mirrored, strided or looked up else."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.counters = ["i"]

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def text(self) -> str:
        n = TRIPS
        for _ in range(self.random.randint(1, 2)):
            reach = self.pick(f"{n}", f"1, {n - 1}", f"{n - 1}, 0, -1", f"0, {n - 1}, 2", f"{n - 1}")
            self.lines.append(f"    for i in range({reach}):")
            self.block(2, 2)
        start = "z, h, s, t, c, k = np.zeros(9), np.zeros(4), 0.0, 0.0, 0, 0\n"
        start += "    m, best, where, ok = -1.5, 0.1, -1, True"
        body = "\n".join(self.lines)
        header = "import numpy as np\n\n\ndef program(x, y, a, p, q):\n"
        return f"{header}    {start}\n{body}\n    return z, h, s, t, c, k, m, best, where, ok\n"

    def place(self) -> str:
        v = self.pick(*self.counters)
        if self.random.randint(0, 9) < 6:
            return v
        n = TRIPS
        return self.pick(f"{v} + 1", f"{v} - 1", f"{n - 1} - {v}", f"-1 - {v}", "0", "k", f"{v} // 2", f"p[{v}]")

    def value(self, depth: int = 2) -> str:
        kind = self.random.randint(0, 10 if depth else 5)
        if kind <= 3:
            return f"{self.pick('x', 'y', 'x', 'y', 'z')}[{self.place()}]"
        if kind == 4:
            return self.pick("i", "2.0", "t", "0.5", "s", "m", "c", "i * 0.25")
        if kind == 5:
            return f"a[{self.place()}, {self.place()}]"
        if kind <= 8:
            return f"({self.value(depth - 1)} {self.pick('+', '-', '*')} {self.value(depth - 1)})"
        if kind == 9:
            return f"np.tanh({self.value(depth - 1)})"
        return f"np.sum(a[{self.place()}] * {self.pick('x', 'y')})"

    def condition(self) -> str:
        return f"{self.value(0)} {self.pick('<', '>', '>=')} {self.pick(self.value(0), '0.2', '0.0')}"

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement("    " * indent, indent, depth)

    def statement(self, gap: str, indent: int, depth: int) -> None:
        emit = self.lines.append
        match self.random.randint(0, 15):
            case 0 | 1 | 2 | 3:
                target = f"{self.pick('z', 'z', 'y', 'x')}[{self.place()}]"
                emit(f"{gap}{target} {self.pick('=', '=', '+=', '-=', '*=')} {self.value()}")
            case 4 | 5:
                row = f"a[{self.place()}{self.pick('', ', 1:4', f', {self.place()}')}]"
                emit(f"{gap}{row} {self.pick('=', '+=')} {self.value(1)}")
            case 6 | 7:
                emit(f"{gap}s {self.pick('+=', '-=')} {self.value()}")
            case 8:
                emit(f"{gap}{self.pick('c += 1', 'k += 1', f't = {self.value()}')}")
            case 9:
                emit(f"{gap}m = {self.pick('np.maximum', 'max')}(m, {self.value(1)})")
            case 10:
                emit(f"{gap}v = {self.value(1)}\n{gap}if v > best:\n{gap}    best, where = v, i")
            case 11:
                emit(f"{gap}h[q[i]] += {self.value(1)}")
            case 12:
                emit(f"{gap}ok = ok {self.pick('and', 'or')} {self.condition()}")
            case 13 if depth and len(self.counters) == 1:
                emit(f"{gap}for j in range({self.pick('3', str(TRIPS), 'i', f'i, {TRIPS}', '1, 5')}):")
                self.counters.append("j")
                self.block(indent + 1, depth - 1)
                self.counters.pop()
            case _ if depth:
                emit(f"{gap}if {self.condition()}:")
                self.block(indent + 1, depth - 1)
            case _:
                emit(f"{gap}z[i] = {self.value()}")
