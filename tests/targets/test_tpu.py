"""Programs compiled by the real TPU compiler for v5e and v6e, on a machine without a TPU."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from xla_programs import check, program

from untraced.tpu.emit.program import emit
from untraced.translator import make, ops
from untraced.translator.errors import TargetError
from untraced.translator.ir import Aval, For, Range, Var, const
from untraced.translator.ops.core import At, Dyn

pytest.importorskip("libtpu")
TOPOLOGIES = ["v5e:2x2", "v6e:2x2"]


def layer(b: Any, x: Any, w: Any) -> Any:
    h = make.elementwise(b, ops.TANH, make.matmul(b, x, w))
    return make.divide(b, h, make.sum(b, h, (1,), keepdims=True))


def recurrence(b: Any, x: Any) -> Any:
    state, index = Var("s", Aval((), np.dtype(np.float32))), Var("i", Aval((), np.dtype(np.int64), weak=True))
    inner = type(b)()
    next_state = make.add(
        inner, make.multiply(inner, state, 0.5), make.index(inner, x, (At(Dyn(0)),), (index,))
    )
    init = make.lift(np.float32(0.0))
    body = inner.block((index, state), (next_state,))
    return b.append(For((Var("s", state.aval),), Range(const(0), const(8), const(1)), (init,), body))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_memory_cost_and_text_are_readable(topology: str) -> None:
    from untraced.tpu.client.topology import compile_tpu

    x, w = np.ones((128, 64), np.float32), np.ones((64, 32), np.float32)
    compiled = compile_tpu(emit(program(layer, x, w), target="tpu"), topology)
    assert compiled.topology == topology
    assert "HloModule" in compiled.hlo
    assert compiled.memory["argument"] >= x.nbytes + w.nbytes
    assert compiled.memory["output"] >= 128 * 32 * 4
    assert compiled.cost["flops"] >= 2 * 128 * 64 * 32
    assert len(compiled.serialized) > 1000


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex64, np.float16, np.int32], ids=lambda d: d.__name__)
def test_dtypes_that_the_compiler_takes(topology: str, dtype: Any) -> None:
    from untraced.tpu.client.topology import compile_tpu

    x = np.ones((16, 8), dtype)
    assert compile_tpu(emit(program(lambda b, x: make.matmul(b, x, make.transpose(b, x, (1, 0))), x)), topology).hlo


def test_loops_compile_and_the_cpu_client_lives_beside() -> None:
    from untraced.tpu.client.topology import compile_tpu

    x = np.arange(8, dtype=np.float32)
    check(recurrence, x)
    assert "while" in compile_tpu(emit(program(recurrence, x))).hlo
    check(recurrence, x)


def test_an_unknown_topology_is_refused_by_name() -> None:
    from untraced.tpu.client.topology import compile_tpu

    with pytest.raises(TargetError, match="v99"):
        compile_tpu(emit(program(layer, np.ones((2, 2)), np.ones((2, 2)))), "v99:2x2")


def test_a_missing_libtpu_says_what_to_install() -> None:
    code = """
import sys
sys.modules["libtpu"] = None
from untraced.tpu.client.topology import _load
from untraced.translator.errors import TargetError
try:
    _load()
except TargetError as error:
    assert "pip install 'untraced[tpu]'" in str(error)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)
