"""The kernels of a program, to look at: fused groups as NumPy or C++ source, generated kernels with their PTX."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from ...kernels.program import Program
from ...kernels.resources import Resources, resources_of
from ...translator.errors import TargetError
from ...translator.ir import Block, Function, Fused, Param, blocks_of
from ...translator.passes.fuse import report
from ...translator.passes.groups import Group
from ...translator.printing.printer import print_function
from ...translator.records import dataclass
from ...translator.tree import flat_tree

if TYPE_CHECKING:
    from ...kernels.ahead import Compiled

ARCHITECTURE = 90  # for which kernels are shown on a machine without a GPU


@dataclass(frozen=True, slots=True)
class Kernel:
    """One fused group, or one generated kernel.

    language       "numpy" (a group for XLA to compile), "c++", "triton" or "cuda".
    lines          the lines of the user's source that it covers.
    bytes_moved    device memory read and written; `bytes_minimum` is what no program could avoid.
    why_cut        why the group is not larger.
    resources      registers, stack and shared memory of the compiled kernel, for sm_90.
    """

    name: str
    language: str
    source: str = field(repr=False)
    lines: tuple[int, ...]
    bytes_moved: int
    bytes_minimum: int
    why_cut: str
    kind: str = ""
    ptx: str | None = field(default=None, repr=False)
    resources: Resources | None = None


def groups_of(function: Function, target: str) -> list[Kernel]:
    """The fused groups as NumPy source; on the target "cpu" loops that are native code as C++."""
    if target == "cpu":
        from ...tpu.loops.lanes import blocked
        from ...tpu.loops.native import native_loops

        given, blocks = blocked(function)
        grouped = native_loops(given, checks=True, blocks=blocks)
        function = function if grouped is given else grouped
    return [_kernel(s, g, function) for s, g in zip(_groups(function.body), report(function), strict=True)]


def _groups(block: Block) -> Iterator[Fused]:
    """The groups in the order of the report, in which an inner group is part of the outer one."""
    for s in block.statements:
        if isinstance(s, Fused):
            yield s
        else:
            for inner in blocks_of(s):
                yield from _groups(inner)


def _kernel(s: Fused, g: Group, function: Function) -> Kernel:
    if s.kind == "loops":
        from ...tpu.loops.native import source_of

        language, source = "c++", source_of(s, function)
    else:
        language, source = "numpy", _group_source(g.name, s)
    return Kernel(g.name, language, source, g.lines, g.bytes_moved, g.bytes_minimum, g.why_cut, s.kind)


def _group_source(name: str, s: Fused) -> str:
    """The body of a group as a function of its own."""
    hints = [v.hint if v.hint.isidentifier() else f"a{i}" for i, v in enumerate(s.body.params)]
    names = [h if hints.count(h) == 1 else f"{h}_{i}" for i, h in enumerate(hints)]
    out = flat_tree(len(s.targets))
    return print_function(Function(name, tuple(map(Param, names)), s.body, out, span=s.span))


def gpu_kernels_of(function: Function, language: str, compile: bool) -> list[Kernel]:
    """The generated kernels; with `compile` their PTX and resources too, where this machine has the compiler."""
    from ...kernels.launching.executor import kernels_of

    kernels = []
    for k in kernels_of(function, language):
        made = _compiled(k.program) if compile else None
        ptx = made.ptx if made else None
        taken = resources_of(made.cubin, made.entry, made.shared) if made else None
        kernels.append(
            Kernel(k.name, k.language, k.source, k.lines, k.bytes_moved, k.bytes_minimum, k.why_cut, k.kind, ptx, taken)
        )
    return kernels


def _compiled(program: Program) -> Compiled | None:
    from ...kernels.ahead import compile_program

    try:
        return compile_program(program, ARCHITECTURE)
    except TargetError as error:
        if "pip install" in str(error):  # not installed: there is none to show
            return None
        raise
