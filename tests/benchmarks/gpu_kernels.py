"""Generated kernels without a GPU: time to plan and to compile, bytes predicted, and what each takes of the device.

    python tests/benchmarks/gpu_kernels.py                                    # all, half a minute
    python tests/benchmarks/gpu_kernels.py softmax causal                     # some
    python tests/benchmarks/gpu_kernels.py --markdown docs/performance.md     # replace the table of kernels there

`moved` is the device memory that all kernels of the function move by the plan, `at least` what no program could avoid.
Registers and stack are the largest of a thread, shared memory the largest of a block, compiled for sm_90.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from kernel_sources import BOTH, CUDA, TRITON
from pages import replace_table

from untraced.kernels.ahead import compile_program
from untraced.kernels.launching.executor import kernels_of
from untraced.kernels.resources import resources_of
from untraced.translator.pipeline import translate
from untraced.translator.reading.text.signature import abstract_with_leaves

ARCHITECTURE = 90
HEAD = ["function", "language", "kernels", "moved", "at least", "plan", "compile", "registers", "stack", "shared"]


def measured(name: str, language: str) -> list[str]:
    """One row of the table. Planning is timed a second time: the first loads the templates."""
    function, args = (BOTH | TRITON | CUDA)[name]
    translated = translate(function, abstract_with_leaves(function, args, {})[0], target=language).function
    kernels_of(translated, language)
    begin = time.perf_counter()
    kernels = kernels_of(translated, language)
    planned = time.perf_counter()
    made = [compile_program(k.program, ARCHITECTURE) for k in kernels]
    compiled = time.perf_counter()
    taken = [resources_of(m.cubin, m.entry, m.shared) for m in made]
    groups = {(k.lines, k.bytes_moved): k for k in kernels}.values()  # the two stages of a reduction are one group
    moved, least = sum(k.bytes_moved for k in groups), sum(k.bytes_minimum for k in groups)
    counts = [max(r.registers for r in taken), max(r.stack for r in taken), max(r.shared for r in taken)]
    times = [f"{1e3 * (planned - begin):.1f} ms", f"{1e3 * (compiled - planned):.0f} ms"]
    return [name, language, str(len(kernels)), f"{moved:,}", f"{least:,}", *times, *(f"{n:,}" for n in counts)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--markdown", metavar="FILE", help="replace the table of kernels between the markers in FILE")
    options = parser.parse_args()
    rows = ["| " + " | ".join(HEAD) + " |", "| --- | --- |" + " ---: |" * (len(HEAD) - 2)]
    for language, known in (("triton", BOTH | TRITON), ("cuda", BOTH | CUDA)):
        for name in options.names or known:
            if name in known:
                rows.append("| " + " | ".join(measured(name, language)) + " |")
                print(rows[-1], flush=True)
    if options.markdown:
        replace_table(options.markdown, "kernels", "\n".join(rows))


if __name__ == "__main__":
    main()
