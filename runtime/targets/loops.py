"""The target "cpu" for programs that are native loops and little else: NumPy arrays do not go through XLA."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...tpu.at_once import Source, source_of
from ...tpu.direct import Direct
from ...translator.checked import Checked
from ...translator.errors import errors_at
from ...translator.ir import Function
from ...translator.spans import span
from .devices import Device
from .xla import XlaProgram, local_devices


class LoopsProgram:
    """Called by Python on NumPy arrays; for Arrays it is compiled by XLA, when the first comes."""

    def __init__(self, function: Function, grouped: Function, checked: Checked, checks: bool) -> None:
        self.device: Device = local_devices()[0]
        with errors_at(function.span):
            self._direct = Direct(grouped, checked)
        self._shown = f"run {function.name}"
        self._compile = functools.partial(XlaProgram, function, (), checks)

    @functools.cached_property
    def compiled(self) -> XlaProgram:
        """XLA's program."""
        return self._compile()

    def host(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        with span(self._shown):
            return self._direct.host(values)

    def on_device(self, values: Sequence[Any]) -> Sequence[Any]:
        return self.compiled.on_device(values)

    def call_text(self, arguments: Sequence[str], arrays: int, names: dict[str, Any]) -> tuple[str, bool] | None:
        """As `XlaProgram.call_text`."""
        if arrays:
            return self.compiled.call_text(arguments, arrays, names)
        names["direct"] = self._at_once
        return f"direct([{', '.join(arguments)}])", False

    def source(self, arguments: Sequence[str], known: Mapping[int, Any]) -> Source | None:
        """A call with NumPy arrays and Python numbers, whose expressions these are, as source."""
        return source_of(self._direct, arguments, known)

    def _at_once(self, values: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """As `host`, for calls that write no argument. Raises LookupError where the general path has to raise."""
        try:
            return self.host(values)
        except Exception as error:
            raise LookupError("a loop has failed") from error
