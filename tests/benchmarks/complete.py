"""Complete programs of tests/programs at sizes where NumPy takes some milliseconds: NumPy against the cpu target.

    python tests/benchmarks/complete.py                                   # all, a minute or two
    python tests/benchmarks/complete.py spmv viterbi                      # some
    python tests/benchmarks/complete.py --markdown docs/performance.md    # replace the table of programs there

Times are the best of interleaved repetitions on NumPy arrays; untraced's include copying them in and out. `first` is
translation and compilation, with nothing kept from earlier processes: the first call less a later one.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "programs"))
import kernels_applied
import kernels_dense
import kernels_discrete
import kernels_fields
import kernels_flows
import kernels_signals
from pages import replace_table
from run import pretty

import untraced
from kernels import PROGRAMS

FILES = (kernels_applied, kernels_dense, kernels_discrete, kernels_fields, kernels_flows, kernels_signals)

SIZES = {
    "cholesky_cols": 300,
    "lu_rank1": 400,
    "gauss_elim": 150,
    "householder_qr": 200,
    "mgs_vec": 150,
    "levinson": 600,
    "k_symm": 120,
    "k_trmm": 150,
    "block_matmul": 128,
    "gauss_seidel_solver": 400,
    "inv_gauss_jordan": 150,
    "k_gemver": 2000,
    "spmv": 4000,
    "coo_mv": 300_000,
    "pagerank": 1000,
    "adi": 100,
    "tridiag3d": 300,
    "gray_scott": 300,
    "life_slices": 500,
    "lattice_boltzmann": 64,
    "kdv_spectral": 8192,
    "shallow_water": 500,
    "sor_redblack": 300,
    "azimint_mask": 500_000,
    "azimint_hist": 1_000_000,
    "md_lj": 300,
    "mandel_break": 80,
    "newton_fractal": 300,
    "stockham": 16,
    "nussinov": 60,
    "smith_waterman": 120,
    "levenshtein_rows": 1000,
    "matrix_chain": 50,
    "lcs": 150,
    "insertion_sort": 1000,
    "crc16": 10_000,
    "collatz": 3000,
    "deriche": 800,
    "iir": 20_000,
    "hist_eq": 700,
    "bilateral": 300,
    "median3": 40,
    "rotate_nn": 800,
    "bilinear_resize": 1500,
    "kmeans": 20_000,
    "mc_asian": 50_000,
    "kalman": 2000,
    "viterbi": 3000,
    "ray_sphere": 300_000,
    "cubic_spline": 10_000,
    "solve_system": 300,
    "boids": 150,
    "em_mixture": 20_000,
    "gray_scott_views": 300,
    "train_mlp": 500,
    "portfolio": 1000,
    "driven_channel": 60,
    "implicit_columns": 100,
    "residual_block": 14,
    "small_network": 300,
    "escape_times": 250,
    "orbits": 250,
}


def measured(f: Callable[..., Any], maker: Callable[..., Any], size: int, repeats: int) -> tuple[float, float, float]:
    """Microseconds of NumPy, of untraced, and of its translation and compilation."""
    arguments = maker(np.random.default_rng(0), size)
    ours = untraced.accelerate(f, target="cpu")
    first = timed(ours, arguments)
    theirs = [(timed(f, arguments), timed(ours, arguments)) for _ in range(repeats)]
    plain, fast = (min(times) for times in zip(*theirs, strict=True))
    return plain, fast, first - fast


def timed(f: Callable[..., Any], arguments: Any) -> float:
    own = copy.deepcopy(arguments)
    time.sleep(0.02)  # until the threads of whoever ran before have stopped spinning
    start = time.perf_counter()
    f(*own)
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--markdown", metavar="FILE", help="replace the table of programs between the markers in FILE")
    options = parser.parse_args()
    untraced.config.compilation_cache_dir = None
    np.seterr(all="ignore")
    rows = ["| program | size | numpy | untraced | untraced / numpy | first |", "| --- |" + " ---: |" * 5]
    for f, maker in PROGRAMS:
        if f.__name__ not in SIZES or (options.names and f.__name__ not in options.names):
            continue
        size = SIZES[f.__name__]
        plain, fast, first = measured(f, maker, size, options.repeats)
        cells = (f.__name__, size, pretty(plain), pretty(fast), f"{fast / plain:.2f}", pretty(first))
        rows.append("| " + " | ".join(map(str, cells)) + " |")
        print(rows[-1], flush=True)
    if options.markdown:
        replace_table(options.markdown, "programs", "\n".join(rows))


if __name__ == "__main__":
    main()
