"""The target "cpu": programs and data of XLA's client on this machine's processor."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...kernels.loops.interrupts import alarm_is_set
from ...tpu.client import executable as client
from ...tpu.client import platform
from ...tpu.client.memory import large_results
from ...tpu.client.placement import Placements
from ...tpu.client.several import Devices
from ...tpu.client.shifted import read_in_place
from ...tpu.emit.program import emit
from ...translator.errors import errors_at
from ...translator.ir import Aval, Function

if TYPE_CHECKING:
    from .devices import Device


def _after_signals(error: RuntimeError) -> RuntimeError:
    """The error of a computation. After Ctrl-C has ended a loop, what Python's own handler raises comes first: Python
    looks for signals at calls. No context manager does this, for that takes a microsecond of each wait.
    """
    str(error)
    return error


def _on_general_path() -> None:
    raise LookupError("there are alarms to be heard")


class Buffers:
    """Operations on buffers of XLA's on the processor, on one device or several."""

    platform = "cpu"
    dlpack_device = (1, 0)

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        """The value on the host, read-only where memory is shared."""
        raise NotImplementedError

    def wait(self, data: Any) -> None:
        try:
            data.block_until_ready()
        except RuntimeError as error:
            raise _after_signals(error) from None

    def is_ready(self, data: Any) -> bool:
        return bool(data.is_ready())

    def is_deleted(self, data: Any) -> bool:
        return bool(data.is_deleted())

    def let_go(self, host: np.ndarray[Any, Any]) -> None:
        """Nobody uses this result of `Program.host` any more."""
        client.let_go(host)

    def dlpack(self, data: Any, **options: Any) -> Any:
        from .exchange import capsule_of

        return capsule_of(self.get(data).copy(), **options)


class XlaDevice(Buffers):
    """A CPU device of XLA's, of this process: the processor, or a part of it. Data are its buffers."""

    def __init__(self, number: int = 0) -> None:
        self.number = number

    @property
    def id(self) -> int:
        """Its number among those of all processes."""
        return int(platform.platform().local[self.number].id) if self.number or platform.linked() else 0

    @property
    def process_index(self) -> int:
        return platform.process_index()

    @property
    def device_kind(self) -> str:
        return self.platform

    def memory_stats(self) -> None:
        """None: the processor's memory is the system's."""

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        return client.to_device(host, number=self.number)

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        try:
            view = client.view(data)
        except RuntimeError as error:
            raise _after_signals(error) from None
        view.setflags(write=False)
        return view

    def __repr__(self) -> str:
        return f"CpuDevice({self.id})"


class Pieces(Buffers):
    """Several CPU devices, each with one piece of an array, along `axis`; with the whole where that is None. Data are
    XLA's buffers of several pieces. Made by `pieces_on`.
    """

    def __init__(self, numbers: tuple[int, ...], axis: int | None) -> None:
        self.numbers, self.axis = numbers, axis
        self.devices = devices_in_step(numbers)

    @property
    def id(self) -> int:
        return self.numbers[0]

    def aval(self, piece: Aval) -> Aval:
        """The type of the array that has such pieces."""
        if self.axis is None:
            return piece
        return Aval((*piece.shape[: self.axis], len(self.numbers), *piece.shape[self.axis :]), piece.dtype)

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        """One piece for each device."""
        if self.axis is None:
            return self.devices.put([host] * len(self.numbers))
        return self.devices.put(list(np.moveaxis(host, self.axis, 0)))

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        pieces = self.devices.pieces(data)
        whole: np.ndarray[Any, Any] = pieces[0] if self.axis is None else np.stack(pieces, self.axis)
        whole.setflags(write=False)
        return whole

    def __repr__(self) -> str:
        where = "all of it" if self.axis is None else f"pieces along axis {self.axis}"
        return f"CpuDevices({', '.join(map(str, self.numbers))}; {where})"


@functools.cache
def pieces_on(numbers: tuple[int, ...], axis: int | None) -> Pieces:
    """The one `Pieces` of these devices and this axis."""
    return Pieces(numbers, axis)


@functools.cache
def devices_in_step(numbers: tuple[int, ...]) -> Devices:
    return Devices(numbers)


@functools.cache
def local_devices() -> list[XlaDevice]:
    """The CPU devices of this process. Starts XLA."""
    return [first_device(), *(XlaDevice(k) for k in range(1, len(platform.platform().local)))]


@functools.cache
def first_device() -> XlaDevice:
    return XlaDevice(0)


Kind = Literal["host", "device"]
"""Whether a program is called with NumPy arrays, and waits, or with Arrays."""


def _compiled(
    function: Function, donated: Sequence[int], checks: bool, kind: Kind, shifts: Mapping[int, int]
) -> client.Executable:
    with errors_at(function.span):
        given = large_results(function) if kind == "host" else ()
        emitted = emit(function, donate=donated, checks=checks, shifts=shifts, given=given)
        return client.compile(emitted, waits=kind == "host")


class XlaProgram:
    """A program compiled for NumPy arrays and for Arrays, each when the first come. With Arrays, a program with
    run-time checks waits for its flag; all others do not wait.
    """

    def __init__(self, function: Function, donated: Sequence[int], checks: bool, first: Kind | None = None) -> None:
        """`first`: what it is compiled for at once."""
        self.device: Device = local_devices()[0]
        self._compile = functools.partial(_compiled, function, tuple(donated), checks)
        with errors_at(function.span):
            emitted = emit(function, donate=donated, checks=checks)
            assert emitted.form is not None
            in_place = read_in_place(emitted.form, donated)
            special = in_place or large_results(function)
            self._placements = Placements(in_place, functools.partial(self._compile, "host")) if special else None
            if first == "device":
                self.on_buffers = client.compile(emitted)
            elif first == "host" and not special:
                self.on_arrays = client.compile(emitted, waits=True)
        self.checked = bool(emitted.checks)
        self.count = len(emitted.results)

    @functools.cached_property
    def on_buffers(self) -> client.Executable:
        """The program for buffers of the device."""
        return self._compile("device", {})

    @functools.cached_property
    def on_arrays(self) -> client.Executable:
        """The program for small NumPy arrays, and for large ones that it would not read elsewhere than they lie."""
        return self._compile("host", {})

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        executable = self.on_arrays if self._placements is None else self._placements.executable(values)
        return executable.run_numpy(values)

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        outs = self.on_buffers.run(values)
        if self.checked:
            self.on_buffers.check(outs)
        return outs

    def call_text(self, arguments: Sequence[str], arrays: int, names: dict[str, Any]) -> tuple[str, bool] | None:
        """An expression for the sequence of results, given expressions for the data, of which so many are XLA's, and
        whether a flag is the last of them, which is not zero where a check has failed. None where there is no such
        expression.
        """
        executable = self.on_buffers if arrays else self.on_arrays
        if not 0 < arrays == len(arguments):  # NumPy arrays and Python numbers are converted in C++
            names |= {"call": executable.call, "beside": executable.call_beside_jax, "modules": sys.modules}
            given = ", ".join(arguments)
            call = f'call({given}) if "jax" not in modules else beside(({given},))'
            if executable.listens:
                names |= {"alarmed": alarm_is_set, "on_general_path": _on_general_path}
                call = f"({call}) if not alarmed() else on_general_path()"
            return f"({call})", self.checked
        if self.checked or executable.hosted:  # the flag, or what NumPy computes, is waited for
            return None
        return executable.launch_text(arguments, names), False
