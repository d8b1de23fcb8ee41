"""XLA's profile of compiled programs, attributed to the lines of their source.

XLA names the operation of its optimised program that each event is about, and says there of which lines of the
StableHLO it is made; `Emitted.spans` says of which statement of the user each of those comes. Operations that hold
others (loops, branches, calls) are left out: what is inside has events of its own.
"""

from __future__ import annotations

import gzip
import importlib
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ...translator.errors import Span
from ...translator.patterns import pattern
from ...translator.records import dataclass
from ...translator.spans import span
from . import names

if TYPE_CHECKING:
    from .executable import Loaded

_HEAD = 2  # lines of a module in front of those that `Emitted.spans` counts
_HOLDING = frozenset({"while", "conditional", "call", "async-start", "async-done", "async-update"})
_FREE = frozenset({"parameter", "constant", "broadcast", "tuple", "get-tuple-element", "bitcast", "iota"})
_COMPUTATION = pattern(r"^(?:ENTRY )?%?([\w.-]+) \(.*\{$")
_INSTRUCTION = pattern(r"^\s+(?:ROOT )?%?([\w.-]+) = .*? ([a-z][\w-]*)\(")
_CALLED = pattern(r"(?:calls|to_apply)=%?([\w.-]+)")
_LINE = pattern(r"source_line=(\d+)")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of an optimised program: what it is, and which share of it comes of which statement."""

    kind: str
    shares: Mapping[Span, float]


def operations(hlo: str, spans: tuple[Span, ...]) -> dict[str, Operation]:
    """The operations that do something themselves, by name. A fusion is shared out by the operations inside it."""
    weights: dict[str, Counter[Span]] = {}  # of computations
    rows: list[tuple[str, str, str | None, Span | None]] = []
    weight: Counter[Span] = Counter()
    for row in hlo.splitlines():
        if opened := _COMPUTATION.match(row):
            weight = weights[opened[1]] = Counter()
        elif found := _INSTRUCTION.match(row):
            instruction, opcode = found.groups()
            line, called = _LINE.search(row), _CALLED.search(row)
            span = _at(spans, int(line[1])) if line else None
            if span is not None and opcode not in _FREE:
                weight[span] += 1
            if opcode not in _HOLDING:
                rows.append((instruction, opcode, called[1] if called and opcode == "fusion" else None, span))
    made = {}
    for name, kind, fused, span in rows:
        inside = weights.get(fused or "", Counter()) or Counter([span] if span is not None else [])
        total = sum(inside.values())
        made[name] = Operation(kind, {s: n / total for s, n in inside.items()})
    return made


def _at(spans: tuple[Span, ...], line: int) -> Span | None:
    k = line - 1 - _HEAD
    return spans[k] if 0 <= k < len(spans) else None


class Step:
    """What Python runs of the program `module`, and profiles show as an operation of it: of the statement at `span`."""

    __slots__ = ("__weakref__", "_number", "module", "name", "span")

    def __init__(self, module: str, name: str, span: Span) -> None:
        self.module, self.name, self.span = module, name, span
        self._number = next(_numbers)
        _steps[self._number] = self

    def running(self, run: int) -> AbstractContextManager[Any]:
        """Around the step, in the `run`-th run of its program."""
        return span(self.name, hlo_module=self.module, run_id=run, step=self._number)


_numbers = itertools.count(1)
_steps: WeakValueDictionary[int, Step] = WeakValueDictionary()


# ---- events --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Event:
    """Something that took time: `start` and `seconds` in seconds, since the profile began. `operation` and `run` are
    None for what is no operation of one of our programs."""

    name: str
    thread: str
    start: float
    seconds: float
    module: str = ""
    run: int = 0
    operation: Operation | None = None


def _events(data: Any, programs: Mapping[str, Loaded]) -> Iterator[Event]:
    """The events of this process in XLA's `ProfileData`, without marks of zero length."""
    known: dict[str, dict[str, Operation]] = {}
    for plane in data.planes:
        for line in plane.lines:
            for event in line.events:
                if event.duration_ns <= 0 or event.name.startswith("end: "):
                    continue
                stats = dict(event.stats)
                module = str(stats.get("hlo_module", ""))
                if module and module not in known:
                    known[module] = _operations_of(programs.get(module))
                operation = known[module].get(event.name) if module else None
                step = _steps.get(int(stats.get("step", 0))) if module else None
                if step is not None:
                    operation = Operation("loop", {step.span: 1.0})
                run = int(stats.get("run_id", 0))
                start, seconds = event.start_ns * 1e-9, event.duration_ns * 1e-9
                name = event.name if step is None else step.name
                yield Event(name, line.name, start, seconds, module, run, operation)


def _operations_of(program: Loaded | None) -> dict[str, Operation]:
    return {} if program is None else operations(program.hlo, program.program.spans)


# ---- sessions ------------------------------------------------------------------------------------


def profiler() -> Any:
    """jaxlib's module of that name."""
    return importlib.import_module("jaxlib._profiler")


class Session:
    """XLA's profiler, on from now until `stop()`. One at a time: RuntimeError for a second."""

    def __init__(self, host_level: int, python_level: int) -> None:
        options = profiler().ProfileOptions()
        options.host_tracer_level = host_level
        options.python_tracer_level = python_level
        names.watch()
        try:
            self._session = profiler().ProfilerSession(options)
        except BaseException:
            names.watched()
            raise

    def stop(self) -> tuple[bytes, list[Event]]:
        """The profile, as a serialised `XSpace` and as events."""
        try:
            xspace = bytes(self._session.stop())
        finally:
            programs = names.watched()
        data = importlib.import_module("jaxlib._profile_data").ProfileData.from_serialized_xspace(xspace)
        return xspace, list(_events(data, programs))


def heap() -> bytes:
    """The buffers that live on the devices, as a compressed protocol buffer for `pprof`."""
    from .platform import platform

    return gzip.compress(platform().client.heap_profile())
