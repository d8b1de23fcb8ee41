"""Memory for large results, in huge pages.

XLA takes fresh memory for each result, and the kernel maps it page by page of 4 kB as it is first written: for large
arrays that takes longer than the arithmetic. NumPy asks for huge pages. So does a small program that has nothing but
results; its results are given to the real one as the memory of its own. What is computed of an argument that is written
goes into the caller's array, and its memory to the next call.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...translator.ir import Apply, Aval, DType, Function, Fused, Shape
from ..emit.program import Emitted
from ..emit.writer import Writer, tensor_type
from . import host_calls

SMALLEST = 1 << 22
"""Bytes of a result, as in NumPy."""
_SETTING = Path("/sys/kernel/mm/transparent_hugepage/enabled")


@cache
def is_advisable() -> bool:
    """Whether the kernel gives huge pages to those who ask, and to them only."""
    return host_calls.AVAILABLE and _SETTING.is_file() and "[madvise]" in _SETTING.read_text()


def large_results(function: Function) -> tuple[int, ...]:
    """Positions of results whose memory is better given. What comes out of a loop XLA would copy there."""
    if not host_calls.AVAILABLE:
        return ()
    results = function.body.results
    made = {t for s in function.body.statements if isinstance(s, Apply | Fused) for t in s.targets}
    large = [k for k, r in enumerate(results) if r in made and results.count(r) == 1 and _is_large(r.aval)]
    return tuple(k for k in large if is_advisable() or k >= function.out.leaf_count)


def _is_large(aval: Aval) -> bool:
    return aval.nbytes >= SMALLEST and aval.dtype.kind in "fciub"


def memory_program(types: tuple[tuple[Shape, DType], ...]) -> Emitted:
    """A program without arguments: its results are memory that nobody has written."""
    w = Writer()
    results = host_calls.calls(w, "advise", [], types)
    made = ", ".join(tensor_type(*t) for t in types)
    w.line(f"return {', '.join(r.name for r in results)} : {made}")
    text = "\n".join(["module @memory {", f"  func.func public @main() -> ({made}) {{", *w.lines, "  }", "}", ""])
    return Emitted("memory", text, (), tuple(Aval(*t) for t in types))
