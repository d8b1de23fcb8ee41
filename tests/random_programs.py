"""Hypothesis strategies for random programs.

`functions()` builds typed programs directly, `sources()` writes NumPy source: values stay moderate (products pass
through tanh), trip counts are at most three, every index is in range. `loops()` writes loops over elements, some of
which raise an IndexError.
"""

from __future__ import annotations

import dataclasses
import itertools
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from untraced.translator import make, ops
from untraced.translator.builder import Builder
from untraced.translator.ir import Atom, Aval, Block, For, Function, If, Param, Range, Var, While, const
from untraced.translator.ops.core import At, Dim, Dyn, Gather, Run
from untraced.translator.tree import LEAF, Kind, TreeDef

N, M = 3, 4  # the sizes of axes; loops run at most N times, so that every loop index is in range
F8, I8, BOOL = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.bool_)
SHAPES = ((), (N,), (M,), (N, M), (M, N))
HINTS = ("t", "t", "t", "y", "h", "z", "d_x", "total")
PRODUCTS = (
    ((0, 1), (2, 1), (0, 2)),
    ((0, 1), (0, 2), (1, 2)),
    ((0, 1), (0, 1), (0,)),
    ((0, 1), (2, 1), (2, 0)),
)
INDEX = Aval((), I8, weak=True)


# ---- programs built directly ---------------------------------------------------------------------


@st.composite
def functions(draw: st.DrawFn, statements: int = 8) -> tuple[Function, list[Any]]:
    """A random program and arguments for it (leaves in order)."""
    return random_function(draw(st.randoms(use_true_random=False)), statements)


def random_function(random: Random, statements: int = 8) -> tuple[Function, list[Any]]:
    """As `functions`, from a plain generator of random numbers."""
    return _Generator(random).function(statements)


class _Generator:
    def __init__(self, random: Random) -> None:
        self.random = random

    def pick(self, options: Sequence[Any]) -> Any:
        return self.random.choice(list(options))

    def chance(self, percent: int) -> bool:
        return self.random.randint(0, 99) < percent

    def function(self, statements: int) -> tuple[Function, list[Any]]:
        avals = [Aval(self.pick(SHAPES[1:]), F8) for _ in range(self.random.randint(1, 3))]
        names = ("x", "w", "b")
        params = [Var(n, a) for n, a in zip(names, avals, strict=False)]
        trips = Var("n", INDEX)
        b = Builder()
        scope: list[Var] = [*params, trips]
        self.statements(b, scope, statements, 2)
        results = [v for v in scope if v is not trips and v.aval.dtype != BOOL]
        out = [self.any_of(results, lambda v: True) for _ in range(self.random.randint(1, 3))]
        mutated = tuple(i for i, p in enumerate(params) if self.chance(25))
        finals = [self.newest(scope, params[i].aval) for i in mutated]
        tree = LEAF if len(out) == 1 else TreeDef(Kind.TUPLE, (LEAF,) * len(out))
        leaves = tuple(params) + (trips,)
        body = Block(leaves, tuple(b.statements), (*out, *finals))
        function = Function("program", tuple(Param(p.hint) for p in leaves), body, tree, mutated)
        rng = np.random.default_rng(self.random.randint(0, 2**16))
        return function, [rng.normal(size=a.shape) for a in avals] + [self.random.randint(0, N)]

    # ---- choosing operands ----

    def any_of(self, scope: Sequence[Var], wanted: Callable[[Var], bool]) -> Var:
        found = [v for v in scope if wanted(v)]
        return self.pick(found[-6:] if self.chance(70) else found)

    def newest(self, scope: Sequence[Var], aval: Aval) -> Var:
        found = [v for v in scope if v.aval == aval]
        return found[-1] if self.chance(60) else self.pick(found)

    def array(self, scope: Sequence[Var]) -> Var:
        return self.any_of(scope, lambda v: v.aval.dtype.kind == "f" and bool(v.aval.shape))

    def value(self, scope: Sequence[Var]) -> Atom:
        if self.chance(20):
            return const(self.pick((0.5, -0.25, 1.5, 2, np.float64(0.75))))
        return self.any_of(scope, lambda v: v.aval.dtype.kind == "f")

    def partner(self, scope: Sequence[Var], x: Var) -> Atom:
        """Something that broadcasts with `x` without growing it."""
        if self.chance(25):
            return const(self.pick((0.5, -0.25, 2.0, 3)))
        return self.any_of(scope, lambda v: v.aval.dtype.kind in "fb" and v.aval.shape in ((), x.aval.shape))

    def index_dims(self, scope: Sequence[Var], shape: Sequence[int], gather: bool) -> tuple[list[Dim], list[Atom]]:
        dims: list[Dim] = []
        dyn: list[Atom] = []
        counters = [v for v in scope if v.aval == INDEX and v.hint == "i"]
        for n in shape:
            kind = self.random.randint(0, 9)
            if kind <= 2:
                dims.append(Run(0, n))
            elif kind <= 5:
                start = self.random.randint(0, n - 1)
                step = self.pick((1, 1, 1, 2, -1, -2))
                room = (n - 1 - start) // step if step > 0 else start // -step
                dims.append(Run(start, self.random.randint(0, room) + 1, step))
            elif kind == 6 and gather:
                dyn.append(const(np.array([self.random.randint(-n, n - 1) for _ in range(2)])))
                dims.append(Gather(len(dyn) - 1))
            elif counters and n >= N and kind >= 7:
                dyn.append(self.pick(counters))
                at: Dyn = Dyn(len(dyn) - 1)
                dims.append(Run(at, n - N + 1) if self.chance(30) else At(at))
            else:
                dims.append(At(self.random.randint(0, n - 1)))
        return dims, dyn

    # ---- statements ----

    def statements(self, b: Builder, scope: list[Var], count: int, depth: int) -> None:
        for _ in range(self.random.randint(1, count)):
            kind = self.random.randint(0, 21)
            if kind >= 20:
                self.keep(b, scope, self.flag(b, scope) if kind == 20 else self.cast(b, scope))
            elif kind < 14 or not depth:
                self.keep(b, scope, self.simple(b, scope, kind % 14))
            elif kind < 16:
                self.branch(b, scope, depth)
            elif kind < 19:
                self.loop(b, scope, depth)
            else:
                self.while_loop(b, scope, depth)

    def keep(self, b: Builder, scope: list[Var], made: Atom) -> None:
        """Bring the new variable into scope under a random name."""
        if not isinstance(made, Var) or made in scope or not b.statements:
            return
        last = b.statements[-1]
        if last.targets != (made,):
            return
        renamed = Var(self.pick(HINTS), made.aval)
        b.statements[-1] = dataclasses.replace(last, targets=(renamed,))
        b.definitions.pop(made, None)
        scope.append(renamed)

    def simple(self, b: Builder, scope: list[Var], kind: int) -> Atom:
        x = self.array(scope)
        match kind:
            case 0:
                return make.elementwise(b, self.pick((ops.TANH, ops.SIN, ops.NEGATIVE, ops.ABSOLUTE, ops.FLOOR)), x)
            case 1 | 2:
                op = self.pick((ops.ADD, ops.SUBTRACT, ops.MAXIMUM))
                return make.elementwise(b, op, x, self.partner(scope, x))
            case 3:
                return make.elementwise(b, ops.TANH, make.multiply(b, self.partner(scope, x), x))
            case 4:
                axes = {self.random.randint(0, x.aval.ndim - 1) for _ in range(2)}
                return make.reduce(b, self.pick((ops.SUM, ops.MAX, ops.MIN)), x, sorted(axes), self.chance(30))
            case 5:
                y = self.any_of(scope, lambda v: v.aval.shape == x.aval.shape and v.aval.dtype.kind == "f")
                return make.elementwise(b, ops.TANH, self.product(b, x, y))
            case 6:
                return self.reshaped(b, x)
            case 7:
                dims, dyn = self.index_dims(scope, x.aval.shape, True)
                return make.index(b, x, dims, dyn)
            case 8 | 9 | 10:
                return self.stored(b, scope, x)
            case 11:
                return make.full(
                    b, x.aval.shape, self.pick((0.0, 1.0, 0.5))
                )
            case 12:
                return make.where(b, make.greater(b, x, 0.0), x, self.partner(scope, x))
            case _:
                return make.concatenate(b, [x, x], 0) if self.chance(20) else make.cumsum(b, x, 0)

    def flag(self, b: Builder, scope: Sequence[Var]) -> Atom:
        """A bool scalar, Python's or NumPy's, or what becomes of two of them under an operator."""
        flags = [v for v in scope if v.aval == Aval((), BOOL)]
        kind = self.random.randint(0, 3) if flags else 0
        if kind == 0:
            numbers = [v for v in scope if v.aval.weak]
            return make.less(b, self.pick(numbers), self.random.randint(0, N))
        if kind == 1:
            return make.elementwise(b, ops.INVERT, self.pick(flags))
        if kind == 2:
            return make.add(b, self.pick(flags), self.pick((0.5, 2, True)))
        op = self.pick((ops.BITWISE_AND, ops.BITWISE_XOR, ops.LOGICAL_OR, ops.MULTIPLY, ops.EQUAL))
        return make.elementwise(b, op, self.pick(flags), self.pick((*flags, True)))

    def cast(self, b: Builder, scope: Sequence[Var]) -> Atom:
        numbers = [v for v in scope if v.aval.weak or v.aval.dtype.kind == "b"]
        x = self.pick(numbers) if numbers and self.chance(40) else self.array(scope)
        return make.astype(b, x, self.pick((np.float32, np.float64)))

    def product(self, b: Builder, x: Var, y: Var) -> Atom:
        if x.aval.ndim > 3:
            return make.sum(b, x, (0,))
        if x.aval.ndim == 3:
            return make.contract(b, x, y, (0, 1, 2), (0, 3, 2), (0, 1, 3))
        if x.aval.ndim == 1:
            return make.matmul(b, x, y) if self.chance(50) else make.contract(b, x, y, (0,), (1,), (0, 1))
        return make.contract(b, x, y, *self.pick(PRODUCTS))

    def reshaped(self, b: Builder, x: Var) -> Atom:
        if x.aval.ndim == 1 or x.aval.size > 40:
            return make.expand_dims(b, x, self.pick((0, 1))) if x.aval.ndim < 4 else make.sum(b, x, (0, 1))
        kind = self.random.randint(0, 3)
        if kind == 0:
            return make.reshape(b, x, (x.aval.size,))
        if kind == 1:
            return make.broadcast_to(b, x, (2, *x.aval.shape))
        return make.transpose(b, x)

    def stored(self, b: Builder, scope: list[Var], x: Var) -> Atom:
        accumulate = self.chance(30)
        dims, dyn = self.index_dims(scope, x.aval.shape, accumulate)
        value = self.value(scope)
        if value.aval.ndim > sum(isinstance(d, Run) for d in dims):
            value = const(0.5)
        try:
            return (make.put_add if accumulate else make.put)(b, x, value, dims, dyn)
        except ValueError:  # the value does not broadcast into the place: a number does
            return (make.put_add if accumulate else make.put)(b, x, const(0.5), dims, dyn)

    def condition(self, b: Builder, scope: list[Var]) -> Atom:
        flags = [v for v in scope if v.aval == Aval((), BOOL)]
        if flags and self.chance(40):
            return self.pick(flags)
        return make.greater(b, make.sum(b, self.array(scope)), self.pick((-1.0, 0.0, 0.5)))

    def branch(self, b: Builder, scope: list[Var], depth: int) -> None:
        condition = self.condition(b, scope)
        avals = [self.array(scope).aval for _ in range(self.random.randint(1, 2))]
        blocks = []
        for _ in range(2):
            inner, inner_scope = Builder(), list(scope)
            if self.chance(80):
                self.statements(inner, inner_scope, 3, depth - 1)
            blocks.append(inner.block([], [self.newest(inner_scope, a) for a in avals]))
        targets = tuple(Var(self.pick(HINTS), a) for a in avals)
        b.append(If(targets, condition, blocks[0], blocks[1]))
        scope.extend(targets)

    def carried(self, scope: list[Var]) -> tuple[list[Atom], list[Var]]:
        inits: list[Atom] = [self.array(scope) for _ in range(self.random.randint(1, 3))]
        if self.chance(30):
            inits.append(const(self.pick((0.0, 1, True, np.float64(0.0)))))
        return inits, [Var(self.pick((*HINTS, getattr(a, "hint", "s"))), a.aval) for a in inits]

    def loop(self, b: Builder, scope: list[Var], depth: int) -> None:
        inits, params = self.carried(scope)
        stop = next(v for v in scope if v.hint == "n") if self.chance(40) else const(self.random.randint(0, N))
        body, inner = Builder(), [*scope, *params]
        index = Var("i", INDEX)
        inner.append(index)
        self.statements(body, inner, 4, depth - 1)
        results = [self.newest(inner, p.aval) for p in params]
        targets = tuple(Var(p.hint, p.aval) for p in params)
        reach = Range(const(0), stop, const(1), self.chance(30))
        b.append(For(targets, reach, tuple(inits), body.block([index, *params], results)))
        scope.extend(targets)

    def while_loop(self, b: Builder, scope: list[Var], depth: int) -> None:
        inits, params = self.carried(scope)
        counter = Var("k", INDEX)
        test, tested = Builder(), [Var(p.hint, p.aval) for p in (counter, *params)]
        go_on = make.less(test, tested[0], next(v for v in scope if v.hint == "n"))
        if self.chance(40):
            total = make.sum(test, tested[1])
            if self.chance(50):
                total = make.multiply(test, total, total)
            go_on = make.logical_and(test, go_on, make.less(test, total, 3.0))
        body, inner = Builder(), [*scope, *params]
        self.statements(body, inner, 3, depth - 1)
        results = [make.add(body, counter, 1), *(self.newest(inner, p.aval) for p in params)]
        targets = tuple(Var(p.hint, p.aval) for p in (counter, *params))
        b.append(
            While(targets, (const(0), *inits), test.block(tested, [go_on]), body.block([counter, *params], results))
        )
        scope.extend(targets[1:])


# ---- programs as source --------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A function compiled from random source, and arguments for it. The source is in linecache, as that of a file."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    source: str

    def __repr__(self) -> str:
        return f"Program(args={self.args!r})\n{self.source}"


_count = itertools.count()


@st.composite
def sources(draw: st.DrawFn, statements: int = 8, raising: bool = False) -> Program:
    """A random NumPy function with assignments, slices, stores, views, branches, loops and calls of a helper.

    `raising`: and with `raise` and `assert`.
    """
    return random_source(draw(st.randoms(use_true_random=False)), statements, raising)


def random_source(random: Random, statements: int = 8, raising: bool = False) -> Program:
    """As `sources`, from a plain generator of random numbers."""
    text = _SourceGenerator(random, raising).text(statements)
    rng = np.random.default_rng(random.randint(0, 2**16))
    args = (rng.normal(size=(N, M)), rng.normal(size=M), random.randint(0, N))
    return Program(compile_text(text), args, text)


def compile_text(text: str, name: str = "program") -> Callable[..., Any]:
    """The function `name` of a piece of source that `inspect.getsource` can find."""
    filename = f"<random program {next(_count)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"np": np, "__name__": "random_program"}
    exec(compile(text, filename, "exec"), namespace)
    fun: Callable[..., Any] = namespace[name]
    return fun


HELPER = '''import numpy as np


def smooth(a, rate=0.5):
    if np.sum(a) > 0:
        return np.tanh(a) * rate
    b = a.copy()
    b[0] = 0.25
    return b


'''


class _SourceGenerator:
    """Writes source. `shapes` maps the names in scope to shapes; names of one shape never change it."""

    def __init__(self, random: Random, raising: bool = False) -> None:
        self.random = random
        self.raising = raising
        self.lines: list[str] = []
        self.shapes: dict[str, tuple[int, ...]] = {"x": (N, M), "v": (M,)}
        self.owned: set[str] = set()
        self.counters: list[str] = []
        self.made = 0

    def pick(self, options: Sequence[Any]) -> Any:
        return self.random.choice(list(options))

    def chance(self, percent: int) -> bool:
        return self.random.randint(0, 99) < percent

    def text(self, statements: int) -> str:
        self.block(1, statements, 2)
        names = sorted({self.pick(sorted(self.shapes)) for _ in range(self.random.randint(1, 3))})
        self.lines.append(f"    return {', '.join(names)}")
        return HELPER + "def program(x, v, n):\n" + "\n".join(self.lines) + "\n"

    def emit(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def of_shape(self, shape: tuple[int, ...]) -> list[str]:
        return sorted(k for k, s in self.shapes.items() if s == shape)

    def expression(self, shape: tuple[int, ...], depth: int = 2) -> str:
        options = self.of_shape(shape)
        kind = self.random.randint(0, 9) if depth else 0
        if kind <= 2 or not depth:
            return self.pick(options) if options else (f"np.full({shape or '()'}, 0.5)" if shape else "0.5")
        inner = self.expression(shape, depth - 1)
        if kind <= 5:
            other = self.expression(shape, depth - 1) if self.chance(60) else self.pick(("0.5", "2", "-1.5"))
            return f"({inner} {self.pick('+-')} {other})"
        if kind == 6:
            return f"np.tanh({inner} * {self.pick((inner, '0.5'))})"
        if kind == 7 and shape == (M,):
            return f"np.{self.pick(('sum', 'max'))}({self.expression((N, M), depth - 1)}, axis=0)"
        if kind == 8 and not shape:
            return f"np.sum({self.expression((M,), depth - 1)})"
        if kind == 9 and shape == (M,):
            return f"np.tanh(v @ ({self.expression((N, M), 0)}).T @ ({self.expression((N, M), 0)}))"
        return f"np.{self.pick(('sin', 'abs', 'tanh'))}({inner})"

    def row(self) -> str:
        return self.pick([*self.counters, str(self.random.randint(-N, N - 1))])

    def place(self, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
        """An index of an array of this shape, and the shape that it selects."""
        if shape == (N, M):
            index = self.pick((f"{self.row()}", "1:", "::2", ":, 1:3", ":, 0", f"{self.row()}, 1"))
            selected = {"1:": (N - 1, M), "::2": (2, M), ":, 1:3": (N, 2), ":, 0": (N,)}
            return index, selected.get(index, (M,) if "," not in index else ())
        index = self.pick((self.row(), "1:", ":-1", "::2", "::-1"))
        return index, {"1:": (M - 1,), ":-1": (M - 1,), "::2": (2,), "::-1": (M,)}.get(index, ())

    def block(self, indent: int, count: int, depth: int) -> None:
        for _ in range(self.random.randint(1, count)):
            if self.raising and self.chance(30):
                self.refusal(indent, depth)
                continue
            kind = self.random.randint(0, 19)
            if kind <= 5:
                self.assignment(indent)
            elif kind <= 11:
                self.store(indent)
            elif kind <= 13:
                self.view(indent)
            elif kind == 14:
                self.helper(indent)
            elif kind <= 16 and depth:
                self.branch(indent, depth)
            elif kind <= 18 and depth:
                self.loop(indent, depth)
            elif depth:
                self.while_loop(indent, depth)

    def assignment(self, indent: int) -> None:
        shape = self.pick(((N, M), (M,), (M,), ()))
        expression = self.expression(shape)
        name = self.target(shape)
        if shape and expression.isidentifier():
            expression += ".copy()"
        elif not shape and expression.isidentifier():
            expression += " + 0.5"
        self.emit(indent, f"{name} = {expression}")
        if shape:
            self.owned.add(name)

    def target(self, shape: tuple[int, ...]) -> str:
        """A name of this shape: in a loop or branch an existing one, elsewhere perhaps a new one."""
        existing = [k for k in self.of_shape(shape) if k not in ("x", "v") and not k.startswith("row")]
        if existing and (self.chance(60) or len(self.lines) and self.nested):
            return self.pick(existing)
        self.made += 1
        name = f"{self.pick('abcd')}{self.made}"
        if not self.nested:
            self.shapes[name] = shape
        return name

    nested = 0

    def store(self, indent: int) -> None:
        arrays = sorted(k for k, s in self.shapes.items() if s and (k in self.owned or k in ("x", "v")))
        name = self.pick(arrays)
        index, selected = self.place(self.shapes[name])
        value = self.expression(selected, 1) if selected in ((), (M,)) else self.pick(("0.5", "-1.0"))
        self.emit(indent, f"{name}[{index}] {self.pick(('=', '=', '+=', '*='))} {value}")

    def view(self, indent: int) -> None:
        """A second name for part of an array: written through, it changes the array."""
        if self.nested:
            return
        base = self.pick(self.of_shape((N, M)))
        self.made += 1
        name = f"row{self.made}"
        self.emit(indent, f"{name} = {base}[{self.random.randint(0, N - 1)}]")
        self.shapes[name] = (M,)
        if base in self.owned:
            self.owned.add(name)

    def helper(self, indent: int) -> None:
        rate = "" if self.chance(50) else ", rate=0.25"
        argument = self.pick(self.of_shape((M,)))
        self.emit(indent, f"{self.target((M,))} = smooth({argument}{rate})")

    def inside(self, indent: int, depth: int, count: int = 3) -> None:
        self.nested += 1
        before = len(self.lines)
        self.block(indent, count, depth - 1)
        if len(self.lines) == before:
            self.emit(indent, "pass")
        self.nested -= 1

    def branch(self, indent: int, depth: int) -> None:
        self.emit(indent, f"if np.sum({self.pick(self.of_shape((M,)))}) > {self.pick(('0', '0.5', '-1.0'))}:")
        self.inside(indent + 1, depth)
        if self.chance(60):
            self.emit(indent, "else:")
            self.inside(indent + 1, depth)

    def refusal(self, indent: int, depth: int) -> None:
        """What raises where some number is large, or is not."""
        number, limit = self.expression((), 1), self.pick(("0.7", "1.5", "4.0"))
        place = self.pick([*self.counters, "n"])
        error = self.pick(("ValueError", "KeyError"))
        message = f'f"{self.pick(("large", "{n} turns"))}: {{{self.expression((), 1)}:.4f}} at {{{place}}}"'
        match self.random.randint(0, 4):
            case 0 | 1:
                self.emit(indent, f"if {number} > {limit}:")
                if depth and self.chance(30):
                    self.inside(indent + 1, depth, 2)
                self.emit(indent + 1, f"raise {error}({message})")
            case 2 if depth:
                self.emit(indent, f"if {number} < {limit}:")
                self.inside(indent + 1, depth)
                self.emit(indent, "else:")
                self.emit(indent + 1, f"raise {error}({message}, {place})")
            case 3:
                self.emit(indent, f"assert {number} < {limit}, {message}")
            case _:
                self.emit(indent, f"assert np.all({self.pick(self.of_shape((M,)))} < {limit})")

    def loop(self, indent: int, depth: int) -> None:
        counter = "ijk"[len(self.counters)]
        reach = self.pick((f"range({N})", "range(n)", "range(1, 3)", f"reversed(range({N}))"))
        self.emit(indent, f"for {counter} in {reach}:")
        self.counters.append(counter)
        self.inside(indent + 1, depth)
        self.counters.pop()

    def while_loop(self, indent: int, depth: int) -> None:
        if self.nested:
            return
        self.made += 1
        count = f"count{self.made}"
        self.emit(indent, f"{count} = 0")
        self.emit(indent, f"while {count} < {self.pick(('n', '2'))}:")
        self.inside(indent + 1, depth)
        self.emit(indent + 1, f"{count} += 1")
