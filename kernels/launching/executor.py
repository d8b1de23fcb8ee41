"""Running a fused program on a device: the host source of `driver`, compiled for the arguments of a call.

The backend is the only thing that knows a device, so that the same source runs on a GPU (CuPy) and, in the tests, on
NumPy arrays with kernels executed by Triton's interpreter or compiled for the host.
"""

from __future__ import annotations

import itertools
import linecache
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...translator.errors import tell_place
from ...translator.ir import Apply, Block, Function, Fused, Invoke, Statement, blocks_of, walk
from ...translator.ops.core import Contract
from ...translator.passes.groups import kind_of, report
from ...translator.records import dataclass
from ...translator.rewrite import without_rules
from ..facts import H200, Facts
from ..plan import single
from ..program import Launch, Program
from ..settling.settle import settle
from ..source.maps import Strides
from .arrays import NUMBERS, is_host
from .backend import Backend
from .driver import Driver, write_driver
from .forms import Form, Number, Strided, in_order
from .host_lines import Made
from .steps import Group, strides_of


@dataclass(frozen=True, slots=True)
class Kernel:
    """A generated kernel as `inspect` shows it; `program` can be compiled with `ahead.compile_program`.

    The rest is its group's; a reduction in two stages has two kernels of one group.
    """

    name: str
    language: str
    source: str
    lines: tuple[int, ...]
    bytes_moved: int
    bytes_minimum: int
    why_cut: str
    kind: str
    program: Program


class GpuExecutor:
    """A callable program: `executor(leaves)` takes values of `body.params` and returns those of `body.results`.

    The host source is written when it is first called with such arguments: numbers or arrays, in which strides. Without
    `checks` nothing is checked but what the user's own `raise` and `assert` ask.
    """

    def __init__(self, function: Function, backend: Backend, facts: Facts = H200, checks: bool = True) -> None:
        self.checks = checks
        self.function = settle(without_rules(function), backend.language, facts)
        self.backend = backend
        self.made = Made()
        self.drivers: dict[tuple[Strides | None, ...], Callable[..., tuple[Any, ...]]] = {}
        self.avals = [p.aval for p in function.body.params]
        self.orders = [in_order(a.shape) for a in self.avals]

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        kinds = tuple([None if isinstance(x, NUMBERS) else x.strides for x in leaves])
        run = self.drivers.get(kinds)
        if run is None:
            run = self.drivers[kinds] = compiled(self.driver(tuple(map(_form, leaves, self.orders))))
        return list(run(*leaves))

    def driver(self, forms: Sequence[Form]) -> Driver:
        """The host source for arguments of these forms."""
        return write_driver(self.function, self.backend, forms, self.made, self.checks)


def _form(x: Any, order: Strided) -> Form:
    if is_host(x):
        return NUMBER
    return order if x.flags.c_contiguous else Strided(strides_of(x))


NUMBER = Number()


def compiled(driver: Driver) -> Callable[..., tuple[Any, ...]]:
    """The host source as a function. Tracebacks and pdb see its lines for as long as it lives; what the library or the
    device raises in one of them is told at the user's place.
    """
    filename = f"<host source of {driver.name} {next(_numbers)}>"
    namespace = dict(driver.namespace)
    exec(compile(driver.text, filename, "exec"), namespace)
    function: Callable[..., tuple[Any, ...]] = namespace.pop(driver.name)
    linecache.cache[filename] = (len(driver.text), None, driver.text.splitlines(keepends=True), filename)
    weakref.finalize(function, linecache.cache.pop, filename, None)

    def run(*leaves: Any) -> tuple[Any, ...]:
        try:
            return function(*leaves)
        except (IndexError, ValueError, ArithmeticError, MemoryError, RuntimeError, ImportError) as error:
            line = next(n for f, n in traceback.walk_tb(error.__traceback__) if f.f_code.co_filename == filename)
            if span := driver.spans[line - 1]:
                tell_place(error, span)
            raise

    return run


_numbers = itertools.count(1)


# ---- inspecting ----------------------------------------------------------------------------------


def kernels_of(function: Function, language: str, facts: Facts = H200) -> tuple[Kernel, ...]:
    """The kernels that a fused program launches, in order, for arrays in C order; groups that no kernel can express
    have none.

    `language` is "triton" or "cuda". Needs neither a device nor the language's compiler.
    """
    executor = GpuExecutor(function, Shown(language), facts)
    function, made = executor.function, executor.made
    if not any(isinstance(s, Invoke) for s in walk(function.body)):
        _for_order(executor)  # kernels that read views know their strides then
    groups = iter(report(function, lone=True))
    found: list[Kernel] = []
    for s in _kernel_statements(function.body):
        g = next(groups)
        fused = _as_group(s)
        if fused is None:
            continue
        group = made.groups.get(id(s)) or Group(fused, function.name, executor.backend)
        for launch in launched(group):
            p = launch.program
            between = list(group.plans.values())[-1].bytes_between
            told = (g.lines, g.bytes_moved + between, g.bytes_minimum, g.why_cut, g.kind)
            found.append(Kernel(p.name, p.language, p.source, *told, p))
    return tuple(found)


def launched(group: Group) -> tuple[Launch, ...]:
    """The launches of a group as it was planned last."""
    return list(group.plans.values())[-1].launches if group.plans else ()


def _kernel_statements(block: Block) -> list[Statement]:
    found: list[Statement] = []
    for s in block.statements:
        if kind_of(s):
            found.append(s)
        elif not isinstance(s, Apply):
            for inner in blocks_of(s):
                found += _kernel_statements(inner)
    return found


def _as_group(s: Statement) -> Fused | None:
    if isinstance(s, Fused):
        return s
    assert isinstance(s, Apply)
    return None if isinstance(s.op, Contract) else single(s, kind_of(s))


class Shown(Backend):
    """A backend that nothing runs on: what a program would be on a device of this language."""

    xp = np

    def __init__(self, language: str) -> None:
        self.language = language


def driver_of(function: Function, language: str, facts: Facts = H200) -> Driver:
    """The host source of a fused program for arrays in C order and numbers. Needs no device."""
    return _for_order(GpuExecutor(function, Shown(language), facts))


def _for_order(executor: GpuExecutor) -> Driver:
    params = executor.function.body.params
    return executor.driver([in_order(p.aval.shape) if p.aval.shape else NUMBER for p in params])
