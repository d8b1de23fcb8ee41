"""The client beside other packages in one process: JAX imported before or after it, or nothing at all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from xla_programs import program

from untraced.tpu.emit.program import emit
from untraced.translator import make, ops
from untraced.translator.ir import Aval

# ---- other packages in the process ----------------------------------------------------------------

WORK = """
import sys
sys.path.insert(0, {folder!r})
import numpy as np
from xla_programs import program
from untraced.translator import make
from untraced.tpu.client import executable as client, platform
from untraced.tpu.shaping.apart import MARK
from untraced.tpu.emit.program import emit
x = np.arange(40000.0) + 1e-12
executable = client.compile(emit(program(lambda b, x, n: make.multiply(b, x, n), x, 3.0)))
def work():
    for _ in range(3):
        (a,) = executable.run_numpy([x, 3.0])
        assert a.dtype == np.float64 and np.array_equal(a, x * 3), a
        (b,) = executable.run([client.to_device(x), np.float64(3.0)])
        assert np.array_equal(client.view(b), x * 3)
"""
JAX = """
import jax, jax.numpy as jnp
def jax_works():
    y = jax.jit(lambda x: x * 2)(np.arange(3.0))
    assert y.dtype == jnp.float32 and y.tolist() == [0, 2, 4]
    with jax.enable_x64(True):
        assert jax.jit(lambda x: x * 2)(np.arange(3.0)).dtype == jnp.float64
"""


def run_python(code: str) -> None:
    folder = str(Path(__file__).parent)
    code = code.replace("{folder!r}", repr(folder))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]


def test_beside_jax_imported_first() -> None:
    run_python("import numpy as np\n" + JAX + "jax_works()\n" + WORK + "work()\njax_works()\nwork()\n")


def test_beside_jax_imported_last() -> None:
    run_python(WORK + "work()\n" + JAX + "jax_works()\nwork()\njax_works()\nwork()\n")


def test_jax_is_never_imported() -> None:
    code = """
work()
b = client.to_device(x)
import ml_dtypes
client.view(client.to_device(np.ones(50000, ml_dtypes.bfloat16)))
client.view(b), b.block_until_ready(), executable.hlo, executable.memory
assert not [m for m in sys.modules if m.split(".")[0] == "jax"]
"""
    run_python(WORK + code)


def test_importing_the_package_does_not_import_jaxlib() -> None:
    modules = "untraced.tpu.client.executable, untraced.tpu.emit.program"
    run_python(f"import sys, {modules}\nassert 'jaxlib' not in sys.modules")


def test_a_missing_jaxlib_says_what_to_install() -> None:
    code = """
import sys
from untraced.tpu.client import platform
from untraced.translator.errors import TargetError
sys.modules["jaxlib"] = None
try:
    platform.platform()
except TargetError as error:
    assert "pip install" in str(error)
else:
    raise AssertionError
"""
    run_python(code)


def test_an_operation_without_stablehlo_names_itself() -> None:
    assert ops.ADD.stablehlo  # the rows carry their names
    assert emit(program(lambda b, x: make.add(b, x, 1.0), np.ones(2))).args == (Aval((2,), np.dtype(np.float64)),)
