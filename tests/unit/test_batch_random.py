"""vmap of random programs, branches and loops included, is what a Python loop over the elements gives."""

from typing import Any

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from random_programs import functions

from untraced.tpu.loops.lanes import blocked
from untraced.translator.batch.lanes import LOCKSTEP, Lanes
from untraced.translator.batch.vmap import vmap
from untraced.translator.evaluate import evaluate
from untraced.translator.ir import Function
from untraced.translator.passes.fuse import fuse
from untraced.translator.passes.simplify import simplify
from untraced.translator.verify import verify

SIZE = 5


@given(functions(statements=12), st.lists(st.booleans(), min_size=8, max_size=8), st.integers(0, 99))
def test_vmap(case: tuple[Function, list[Any]], choice: list[bool], seed: int) -> None:
    f, leaves = case
    params = f.body.params
    axes = [0 if chosen and not p.aval.weak else None for p, chosen in zip(params, choice, strict=False)]
    assume(any(axis == 0 for axis in axes) and all(axes[i] == 0 for i in f.mutated))
    factors = np.random.default_rng(seed).normal(size=SIZE)
    batch = [
        x if a is None else np.stack([np.asarray(x) * c for c in factors]) for x, a in zip(leaves, axes, strict=True)
    ]
    each = [[x if a is None else x[k] for x, a in zip(batch, axes, strict=True)] for k in range(SIZE)]
    with np.errstate(all="ignore"):
        want = [np.stack(column) for column in zip(*(evaluate(f, e) for e in each), strict=True)]
        g, of_lanes = (vmap(f, axes, [0] * f.out.leaf_count, SIZE, form) for form in (LOCKSTEP, Lanes("loop")))
        simple = simplify(of_lanes)
        for h in (g, simplify(g), of_lanes, simple, blocked(fuse(simple), most=48).function):
            verify(h)
            for got, w in zip(evaluate(h, batch), want, strict=True):
                assert np.asarray(got).dtype == w.dtype
                np.testing.assert_allclose(got, w, rtol=1e-9, atol=1e-11)  # sums in another order, then exp or /
