"""A translated function made ready to run on a target: the one interface that dispatch uses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from ...translator import purpose, randomness
from ...translator.ir import For, Function, While, walk
from ...translator.ops.core import is_draw
from .devices import Device, device_of_target

if TYPE_CHECKING:
    from ...translator.checked import Checked


class Program(Protocol):
    """`values` has one entry for each parameter of the body: NumPy arrays and numbers, or the device's own data.

    The results are those of the body: the leaves of the result, then the final values of mutated parameters.
    """

    device: Device

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """NumPy in, NumPy out: fresh, writable arrays."""
        ...

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        """Device data in (NumPy arrays among it are copied there), device data out, without waiting for it."""
        ...


def load(
    target: str,
    function: Function,
    *,
    donated: Sequence[int] = (),
    checks: bool = True,
    first: Literal["host", "device"] | None = "host",
) -> Program:
    """Compile for the target. Raises TargetError where the device or its toolchain is missing.

    `first`: the method that will be called first; on the processor the program is compiled for that alone.
    """
    match target:
        case "cpu":
            from .xla import XlaProgram

            loops = None if donated else _loops_alone(function, checks)
            if loops is not None:
                from .loops import LoopsProgram

                return LoopsProgram(function, *loops, checks)
            return XlaProgram(function, donated, checks, first)
        case "triton" | "cuda":
            from .gpu import GpuProgram

            return GpuProgram(device_of_target(target), function, target, checks)
        case _:
            device_of_target(target)  # raises
            raise AssertionError(f"no programs for {target}")


def _loops_alone(function: Function, checks: bool) -> tuple[Function, Checked] | None:
    if not any(isinstance(s, For | While) or is_draw(s) for s in walk(function.body)):
        return None
    from ...tpu.loops.direct import loops_alone

    return loops_alone(function, checks)


def runs_in_loops(function: Function) -> bool:
    """Whether the fused program for "cpu" is native loops and little else, when called with NumPy arrays."""
    return _loops_alone(function, checks=True) is not None


def runs_in_numpy(
    function: Function, copied: Collection[int] = (), printed: Function | None = None, chosen: bool = True
) -> bool:
    """Whether the fused program for "cpu" runs faster as its source, `printed` before fusion, when called with NumPy
    arrays, of which those at the places `copied` do not lie as XLA wants them. Where nobody has `chosen` the target,
    tiny programs do, too.
    """
    from ...tpu.by_cpython import is_tiny
    from ...tpu.by_numpy import by_numpy

    return (not chosen and printed is not None and is_tiny(printed)) or by_numpy(function, copied, printed)


def seconds_of_compiling(function: Function) -> float:
    """How many seconds NumPy should spend on the fused program for "cpu" before it is compiled; mostly 0.0."""
    from ...tpu import by_numpy

    return by_numpy.seconds_of_compiling(function)


def _loops_draw() -> bool:
    from ...tpu.compiler import can_draw
    from ...tpu.loops.native import wanted

    return wanted() and can_draw()


def _compiles_loops() -> bool:
    from ...tpu.loops.native import wanted

    return wanted()


purpose.compiles_loops = _compiles_loops
randomness.loops_draw = _loops_draw
