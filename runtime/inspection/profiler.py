"""The namespace `untraced.profiler`: where the time goes, by the lines of the user's source.

    with untraced.profiler.profile() as p:
        train(params, data)
    print(p)                                 # functions, source lines and operations, the costliest first
    p.save("trace.json")                     # for ui.perfetto.dev or chrome://tracing

Besides it has the names of `jax.profiler`: `trace(log_dir)`, `start_trace`, `stop_trace` (files for TensorBoard and
XProf), `TraceAnnotation`, `StepTraceAnnotation`, `annotate_function`, `device_memory_profile`, `start_server`.

What runs on the processor is seen: the operations of programs that XLA has compiled, and as spans what is annotated and
what NumPy runs, because it is as fast. Kernels on GPUs are not: NVIDIA's tools see those, under the names that
`inspect(...).kernels` shows.
"""

from __future__ import annotations

import functools
import json
import linecache
import os
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ...tpu.client import profile as xla
from ...translator import spans
from ...translator.errors import NOWHERE
from ...translator.records import dataclass
from .seconds import told

__all__ = [
    "LineTime",
    "OperationTime",
    "Profile",
    "ProfileOptions",
    "ProgramTime",
    "SpanTime",
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "device_memory_profile",
    "profile",
    "save_device_memory_profile",
    "start_server",
    "start_trace",
    "stop_server",
    "stop_trace",
    "trace",
]

_F = TypeVar("_F", bound=Callable[..., Any])
_SHOWN = 12  # rows of each table that `str` shows


@dataclass(frozen=True, slots=True)
class ProgramTime:
    """A compiled program: how often it ran, and how long, from the first of its operations to the last. In seconds."""

    name: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LineTime:
    """A line of source. `seconds` is its share of the operations that compute it; several threads' time is added up.

    An operation that is made of several lines is shared out among them by how many of its steps come of each. What XLA
    adds of its own, copies above all, is of no line: line 0 of no file.
    """

    file: str
    line: int
    text: str
    seconds: float


@dataclass(frozen=True, slots=True)
class OperationTime:
    """An operation of an optimised program (`inspect(...).hlo`), how often it ran and for how many seconds."""

    program: str
    name: str
    kind: str
    calls: int
    seconds: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpanTime:
    """The time of one `TraceAnnotation`, or of the translation or compilation of a function."""

    name: str
    calls: int
    seconds: float


class Profile:
    """The result of `profile()`, filled when its block is left. All times in seconds.

    seconds      how long the block took
    programs     `ProgramTime`s, operations `OperationTime`s, lines `LineTime`s, spans `SpanTime`s: the costliest first
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.programs: tuple[ProgramTime, ...] = ()
        self.operations: tuple[OperationTime, ...] = ()
        self.lines: tuple[LineTime, ...] = ()
        self.spans: tuple[SpanTime, ...] = ()
        self._events: Sequence[xla.Event] = ()

    def _fill(self, seconds: float, events: Sequence[xla.Event]) -> None:
        self.seconds = seconds
        self._events = events
        self.programs = _programs(events)
        self.operations = _operations(events)
        self.lines = _lines(events)
        self.spans = _spans(events)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all events in the trace format of Chrome and Perfetto, times in microseconds."""
        threads = {name: k for k, name in enumerate(dict.fromkeys(e.thread for e in self._events))}
        rows: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": k, "args": {"name": n}} for n, k in threads.items()
        ]
        for e in self._events:
            row = {"ph": "X", "name": e.name, "pid": 0, "tid": threads[e.thread], "ts": e.start * 1e6}
            args = {"program": e.module} if e.module else {}
            if e.operation is not None:
                args["lines"] = ", ".join(_places(e.operation))
            rows.append({**row, "dur": e.seconds * 1e6, "args": args})
        out = Path(path)
        out.write_text(json.dumps({"displayTimeUnit": "ms", "traceEvents": rows}), encoding="utf-8")
        return out

    def __str__(self) -> str:
        parts = [f"{told(self.seconds)} in all"]
        parts += _table("programs", [(x.seconds, f"{x.calls:6} x", x.name) for x in self.programs])
        lines = [(x.seconds, _place(x.file, x.line), x.text) for x in self.lines]
        parts += _table("lines of source", lines)
        found = [(x.seconds, f"{x.calls:6} x", f"{x.program}: {x.name}  {', '.join(x.lines)}") for x in self.operations]
        parts += _table("operations", found)
        parts += _table("spans", [(x.seconds, f"{x.calls:6} x", x.name) for x in self.spans])
        return "\n".join(parts)

    def __repr__(self) -> str:
        return f"<profile of {told(self.seconds)}: {len(self.programs)} programs, {len(self.lines)} lines>"


def _programs(events: Sequence[xla.Event]) -> tuple[ProgramTime, ...]:
    runs: dict[tuple[str, int], tuple[float, float]] = {}
    for e in events:
        if e.module:
            first, last = runs.get((e.module, e.run), (e.start, e.start))
            runs[e.module, e.run] = min(first, e.start), max(last, e.start + e.seconds)
    seconds: dict[str, list[float]] = defaultdict(list)
    for (module, _), (first, last) in runs.items():
        seconds[module].append(last - first)
    return _costliest([ProgramTime(name, len(found), sum(found)) for name, found in seconds.items()])


def _operations(events: Sequence[xla.Event]) -> tuple[OperationTime, ...]:
    found: dict[tuple[str, str], list[xla.Event]] = defaultdict(list)
    for e in events:
        if e.operation is not None:
            found[e.module, e.name].append(e)
    rows = []
    for (module, name), several in found.items():
        operation = several[0].operation
        assert operation is not None
        seconds = sum(e.seconds for e in several)
        rows.append(OperationTime(module, name, operation.kind, len(several), seconds, _places(operation)))
    return _costliest(rows)


def _lines(events: Sequence[xla.Event]) -> tuple[LineTime, ...]:
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    for e in events:
        if e.operation is not None:
            for span, share in e.operation.shares.items() or [(NOWHERE, 1.0)]:
                seconds[("", 0) if span is NOWHERE else (span.file, span.line)] += share * e.seconds
    return _costliest([LineTime(f, n, linecache.getline(f, n).strip(), s) for (f, n), s in seconds.items()])


def _spans(events: Sequence[xla.Event]) -> tuple[SpanTime, ...]:
    seconds: dict[str, list[float]] = defaultdict(list)
    for e in events:
        if not e.module and (e.name in _marked or e.name.startswith(spans.OURS)):
            seconds[e.name].append(e.seconds)
    return _costliest([SpanTime(name, len(found), sum(found)) for name, found in seconds.items()])


_Row = TypeVar("_Row", ProgramTime, LineTime, OperationTime, SpanTime)


def _costliest(rows: Sequence[_Row]) -> tuple[_Row, ...]:
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _places(operation: xla.Operation) -> tuple[str, ...]:
    """`file.py:12` for each line that an operation is made of, in order."""
    lines = sorted({(span.file, span.line) for span in operation.shares if span is not NOWHERE})
    return tuple(_place(file, line) for file, line in lines)


def _place(file: str, line: int) -> str:
    return f"{Path(file).name}:{line}" if file else "XLA's own"


def _table(title: str, rows: Sequence[tuple[float, str, str]]) -> list[str]:
    if not rows:
        return []
    width = max(len(where) for _, where, _ in rows[:_SHOWN])
    total = sum(seconds for seconds, _, _ in rows) or 1.0
    shown = [f"  {told(s):>9} {100 * s / total:5.1f}%  {where:<{width}}  {what}" for s, where, what in rows[:_SHOWN]]
    more = [f"  ... and {len(rows) - _SHOWN} more"] if len(rows) > _SHOWN else []
    return ["", f"{title}:", *(row[:150] for row in shown), *more]


# ---- profiling -----------------------------------------------------------------------------------

_marked: set[str] = set()  # the names of annotations since the last profile began
_started: tuple[xla.Session, str | os.PathLike[str], bool] | None = None  # where its trace goes, whether for Perfetto


def _begin(host_level: int = 2, python_level: int = 0) -> xla.Session:
    session = xla.Session(host_level, python_level)
    _marked.clear()
    return session


@contextmanager
def profile() -> Iterator[Profile]:
    """A block whose time is told by programs, lines of source, operations and annotations; see `Profile`.

    Arrays that are still being computed when the block ends are not waited for: call `block_until_ready` inside.
    RuntimeError within another profile or trace.
    """
    made = Profile()
    session = _begin()
    start = time.perf_counter()
    try:
        yield made
    finally:
        seconds = time.perf_counter() - start
        made._fill(seconds, session.stop()[1])


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Begin to record; `stop_trace` writes it below `log_dir`, for TensorBoard and XProf.

    `create_perfetto_trace` writes `perfetto_trace.json` beside it. A link needs a server of its own and is refused:
    load that file into ui.perfetto.dev instead. RuntimeError where something is being recorded.
    """
    global _started
    if create_perfetto_link:
        raise ValueError("create_perfetto_link is not supported: load the file of create_perfetto_trace=True")
    options = profiler_options or ProfileOptions()
    session = _begin(options.host_tracer_level, options.python_tracer_level)
    _started = session, log_dir, create_perfetto_trace


def stop_trace() -> None:
    """End what `start_trace` began, and write it. RuntimeError where nothing is being recorded."""
    global _started
    if _started is None:
        raise RuntimeError("no trace is being made: call start_trace first")
    (session, log_dir, perfetto), _started = _started, None
    xspace, events = session.stop()
    folder = Path(log_dir) / "plugins" / "profile" / time.strftime("%Y_%m_%d_%H_%M_%S")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{socket.gethostname()}.xplane.pb").write_bytes(xspace)
    if perfetto:
        made = Profile()
        made._fill(0.0, events)
        made.save(folder / "perfetto_trace.json")


@contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """`start_trace` and `stop_trace` around a block."""
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


@dataclass
class ProfileOptions:
    """How much is recorded: of XLA's own steps 0 to 3 (`host_tracer_level`), of Python's calls 0 or 1."""

    host_tracer_level: int = 2
    python_tracer_level: int = 0


# ---- annotations ---------------------------------------------------------------------------------


class TraceAnnotation:
    """A block by its own name in profiles and traces, keywords kept with it: `with TraceAnnotation("load"): ...`."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self.name, self.kept = name, kwargs

    def __enter__(self) -> TraceAnnotation:
        _marked.add(self.name)
        self._mark = xla.profiler().TraceMe(self.name, **self.kept)
        self._mark.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._mark.__exit__(*error)


class StepTraceAnnotation(TraceAnnotation):
    """A step of a training loop: `with StepTraceAnnotation("train", step_num=i): ...`."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: _F, name: str | None = None, **decorator_kwargs: Any) -> _F:
    """The function, each of whose calls is a `TraceAnnotation` of its name."""
    shown = name or getattr(func, "__qualname__", None) or repr(func)

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return wrapped  # type: ignore[return-value]


# ---- memory, servers -----------------------------------------------------------------------------


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays and programs that live on XLA's devices, as a compressed protocol buffer for `pprof`."""
    if backend not in (None, "cpu"):
        raise ValueError(f"the devices whose memory is known are those of 'cpu', not of {backend!r}")
    return xla.heap()


def save_device_memory_profile(filename: str | os.PathLike[str], backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file."""
    Path(filename).write_bytes(device_memory_profile(backend))


_server: Any = None


def start_server(port: int) -> Any:
    """A server from which TensorBoard or XProf can ask for profiles while the program runs. One a process."""
    global _server
    if _server is not None:
        raise ValueError("a profiler server runs already: only one a process")
    _server = xla.profiler().start_server(port)
    return _server


def stop_server() -> None:
    """End the server. ValueError where none runs."""
    global _server
    if _server is None:
        raise ValueError("no profiler server runs")
    _server = None
