"""The targets "cpu": programs and data of XLA's client on this machine's processor."""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..tpu import client
from ..tpu.emit import emit
from ..tpu.memory import large_results
from ..tpu.placement import Placements
from ..tpu.shifted import read_in_place
from ..translator.errors import errors_at
from ..translator.ir import Function


class XlaDevice:
    """XLA's CPU device. Data are its buffers."""

    platform = "cpu"
    id = 0
    dlpack_device = (1, 0)

    def put(self, host: np.ndarray[Any, Any]) -> Any:
        return client.to_device(host)

    def get(self, data: Any) -> np.ndarray[Any, Any]:
        view = client.view(data)
        view.setflags(write=False)
        return view

    def wait(self, data: Any) -> None:
        data.block_until_ready()

    def dlpack(self, data: Any, **options: Any) -> Any:
        return self.get(data).copy().__dlpack__(**options)

    def __repr__(self) -> str:
        return "CpuDevice(0)"


def _compiled(
    function: Function, donated: Sequence[int], checks: bool, shifts: Mapping[int, int], for_numpy: bool = True
) -> client.Executable:
    with errors_at(function.span):
        given = large_results(function) if for_numpy else ()
        return client.compile(emit(function, donate=donated, checks=checks, shifts=shifts, given=given))


class XlaProgram:
    """A compiled program. A program with run-time checks waits for its flag; all others do not wait."""

    def __init__(self, function: Function, donated: Sequence[int], checks: bool) -> None:
        from .devices import device_of_target

        self.device = device_of_target("cpu")
        self._compile = functools.partial(_compiled, function, tuple(donated), checks)
        with errors_at(function.span):
            emitted = emit(function, donate=donated, checks=checks)
            in_place = read_in_place(function, donated)
            special = in_place or large_results(function)
            self._placements = Placements(in_place, self._compile) if special else None
            if not special:
                self.executable = client.compile(emitted)
        self.checked = bool(emitted.checks)
        self.count = len(emitted.results)

    @functools.cached_property
    def executable(self) -> client.Executable:
        """The program for buffers of the device."""
        return self._compile({}, for_numpy=False)

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        executable = self.executable if self._placements is None else self._placements.executable(values)
        return executable.run_numpy(values)

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        outs = self.executable.run(values)
        if self.checked:
            self.executable.check(outs)
        return outs

    def call_text(self, arguments: Sequence[str], arrays_only: bool, names: dict[str, Any]) -> str | None:
        """An expression for the sequence of results, given expressions for the data; None where there are checks, or
        host calls, which are waited for.
        """
        if self.checked or self.executable.hosted:
            return None
        if not arrays_only:  # NumPy arrays and Python numbers are converted in C++
            names |= {"call": self.executable.call, "beside": self.executable.call_beside_jax, "modules": sys.modules}
            given = ", ".join(arguments)
            return f'(call({given}) if "jax" not in modules else beside(({given},)))'
        names["execute"], names["handlers"] = self.executable.launcher()
        return f"execute([{', '.join(arguments)}]).consume_with_handlers(handlers)"
