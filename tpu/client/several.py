"""Programs that several devices run in step, and arrays that lie on them in pieces.

    devices = Devices([0, 1, 2, 3])
    program = Replicated(emit(function, replicas=4), devices)
    pieces = devices.put([x0, x1, x2, x3])         one array, a piece on each device
    y, = program.run([pieces])                     computed, and left, where the pieces are
    y0, y1, y2, y3 = devices.pieces(y)

With several processes each has its own devices; the replicas are those of all.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...translator.ir import Aval
from ..emit.checks import SHIFT, raise_failed
from ..emit.program import Emitted
from . import executable as client
from . import host_calls, platform
from .host_abi import running


@functools.cache
def _sharding_class() -> Any:
    p = platform.platform()

    class Pieces(p.jaxlib.Sharding):  # type: ignore[misc, name-defined]  # jaxlib is imported late
        """An array of one piece on each device. XLA takes the pieces for copies: what they are of the whole it need not
        know, and pieces have its type.
        """

        memory_kind = None

        def __init__(self, devices: tuple[Any, ...]) -> None:
            self.devices, self._list = devices, p.jaxlib.DeviceList(devices)

        @property
        def _internal_device_list(self) -> Any:  # a property, since jax gives its own to the base class
            return self._list

        @property
        def device_set(self) -> set[Any]:
            return set(self.devices)

        @property
        def _device_assignment(self) -> tuple[Any, ...]:
            return self.devices

        def _to_xla_hlo_sharding(self, ndim: int) -> Any:
            return p.xla_client.HloSharding.replicate()

    return Pieces


@contextmanager
def _without_jax() -> Iterator[None]:
    """jaxlib imports jax, where it is installed, to say what a piece is, and does without where it cannot."""
    if "jax" in sys.modules:
        yield
        return
    sys.modules["jax"] = None  # type: ignore[assignment]  # Python's way to say that it cannot be imported
    try:
        yield
    finally:
        del sys.modules["jax"]


class Devices:
    """Devices of this process, by their numbers, that work in step, together with as many of every other process."""

    def __init__(self, numbers: Sequence[int]) -> None:
        p = platform.platform()
        self.numbers = tuple(numbers)
        self.own = tuple(p.local[k] for k in numbers)
        self.sharding = _sharding_class()(self.own)
        by_process: dict[int, list[Any]] = {}
        for d in p.client.devices():
            by_process.setdefault(d.process_index, []).append(d)
        everybody = [by_process[k][n] for k in sorted(by_process) for n in self.numbers]
        self.count = len(everybody)
        self.devices = p.jaxlib.DeviceList(tuple(everybody))
        ids = np.array([d.id for d in everybody]).reshape(-1, 1)
        self._assignment = p.xla_client.DeviceAssignment.create(ids)

    def put_into(self, options: Any) -> None:
        """Have XLA compile for these devices."""
        for o in (options, options.executable_build_options):
            o.num_replicas, o.num_partitions, o.device_assignment = self.count, 1, self._assignment

    def put(self, pieces: Sequence[np.ndarray[Any, Any]]) -> client.Buffer:
        """An array with a copy of one piece on each device of this process."""
        p = platform.platform()
        single = [client.to_device(x, number=k) for k, x in zip(self.numbers, pieces, strict=True)]
        return p.buffer_type(single[0].aval, self.sharding, single, committed=True, _skip_checks=True)

    @staticmethod
    def pieces(array: client.Buffer) -> list[np.ndarray[Any, Any]]:
        """Read-only views of the pieces of this process. Waits for them."""
        with _without_jax():
            single = array._arrays
        return [client.view(piece, array.aval) for piece in single]


# Each device needs a thread while it waits for the others. Two programs at a time could share XLA's threads so that
# neither has enough of them, and wait for ever: the next is started when this one is done.
_launching = threading.Lock()
_in_flight: list[client.Buffer] = []


class Replicated(client.Loaded):
    """A program of which every device runs a replica."""

    def __init__(self, program: Emitted, devices: Devices) -> None:
        super().__init__(program, *client.loaded(program, assignment=devices))
        p = platform.platform()
        results = [*program.results, *([Aval((), np.dtype(np.int64))] if program.checks else [])]
        avals = [client.DeviceAval(a.shape, a.dtype) for a in results]
        make = p.jaxlib.array_result_handler
        self._handlers = [make(a, devices.sharding, committed=True, _skip_checks=True) for a in avals]
        self._hosted = f"@{host_calls.TARGET}" in program.text

    def run(self, arrays: Sequence[client.Buffer]) -> list[client.Buffer]:
        """The results. Waits only where the program checks what it does, or calls NumPy; raises what failed first."""
        if self._hosted:
            with running():
                outs = self._run(arrays)
                for out in outs:
                    out.block_until_ready()
        else:
            outs = self._run(arrays)
        if self.program.checks:
            flags = [int(flag) for flag in Devices.pieces(outs.pop())]
            own = [flag for flag in flags if flag & ((1 << SHIFT) - 1)]
            raise_failed(self.program.checks, own[0] if own else 0)
            if any(flags):
                raise RuntimeError("a check of the program has failed in another process")
        return outs

    def _run(self, arrays: Sequence[client.Buffer]) -> list[client.Buffer]:
        with _launching:
            if _in_flight:
                _in_flight.pop().block_until_ready()
            outs: list[client.Buffer] = self.loaded.execute_sharded(arrays).consume_with_handlers(self._handlers)
            _in_flight.extend(outs[-1:])
            platform.platform().jaxlib.collect_garbage()  # jaxlib keeps something of every call until then
        return outs
