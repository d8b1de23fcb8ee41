"""The target "cpu" for programs that are native loops and little else: NumPy arrays do not go through XLA."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...kernels.loops.interrupts import alarm_is_set
from ...tpu.loops.at_once import Source, source_of
from ...tpu.loops.direct import Direct, is_whole, without_checks
from ...translator.bounds import Interval
from ...translator.checked import Checked
from ...translator.errors import errors_at
from ...translator.ir import Function
from ...translator.spans import span
from .devices import Device
from .xla import XlaProgram, local_devices


class LoopsProgram:
    """Called by Python on NumPy arrays; for Arrays it is compiled by XLA, when the first comes.

    Where whole numbers among the arguments decide whether indices are in range, the loops are compiled without checks
    for numbers like those of the first call, and with checks when others come.
    """

    def __init__(self, function: Function, grouped: Function, checked: Checked, checks: bool) -> None:
        self.device: Device = local_devices()[0]
        self._function, self._grouped, self._checked, self._checks = function, grouped, checked, checks
        self._shown = f"run {function.name}"
        self._assumed: dict[int, Interval] | None = None  # None before the first call
        if not (checked.block(grouped.body) and any(map(is_whole, grouped.body.params))):
            self._assumed = {}
            self.direct(())

    def direct(self, values: Sequence[Any]) -> Direct:
        """The loops for such arguments."""
        if self._assumed is None:
            self._assumed = without_checks(self._grouped, self._checks, values)
        if self._assumed and all(values[k] in interval for k, interval in self._assumed.items()):
            return self._without_checks
        return self._with_checks

    @functools.cached_property
    def _with_checks(self) -> Direct:
        with errors_at(self._function.span):
            return Direct(self._grouped, self._checked)

    @functools.cached_property
    def _without_checks(self) -> Direct:
        params = self._grouped.body.params
        assumed = {params[k]: interval for k, interval in (self._assumed or {}).items()}
        with errors_at(self._function.span):
            return Direct(self._grouped, Checked(self._grouped, self._checks, assumed))

    @functools.cached_property
    def compiled(self) -> XlaProgram:
        """XLA's program."""
        return XlaProgram(self._function, (), self._checks)

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        with span(self._shown):
            return self.direct(values).host(values)

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        return self.compiled.on_device(values)

    def call_text(self, arguments: Sequence[str], arrays: int, names: dict[str, Any]) -> tuple[str, bool] | None:
        """As `XlaProgram.call_text`."""
        if arrays:
            return self.compiled.call_text(arguments, arrays, names)
        names["direct"] = self._at_once
        return f"direct([{', '.join(arguments)}])", False

    def source(self, arguments: Sequence[str], values: Sequence[Any], known: Mapping[int, Any]) -> Source | None:
        """A call with NumPy arrays and Python numbers like these values, whose expressions these are, as source."""
        direct = self.direct(values)
        assumed = (self._assumed or {}) if direct is not self.__dict__.get("_with_checks") else {}
        return source_of(direct, arguments, known, {arguments[k]: interval for k, interval in assumed.items()})

    def _at_once(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """As `host`, for calls that write no argument. Raises LookupError where the general path has to raise, or to
        hear an alarm.
        """
        if alarm_is_set():
            raise LookupError("there are alarms to be heard")
        try:
            return self.host(values)
        except Exception as error:
            raise LookupError("a loop has failed") from error
