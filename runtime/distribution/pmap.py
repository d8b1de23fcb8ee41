"""`pmap`: a function mapped over an axis of its arguments, one element on each device.

    @functools.partial(pmap, axis_name="i")
    def step(w, x, y):                           w: one copy on each device, x and y: a part of the batch on each
        return w - 0.1 * lax.pmean(grad(loss)(w, x, y), "i")

What runs is one program for one element, with collectives in it (`Replica`); every device runs it, and results stay
where they are computed. Where a pmap is itself transformed, or called inside an accelerated function, it is the batch
that `vmap` makes of it: the same numbers, on one device.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tpu.client import platform
from ...tpu.client.several import Replicated
from ...tpu.emit.program import Emitted, emit
from ...translator.axes import named_axis
from ...translator.batch.spread import batched_variables
from ...translator.errors import Diagnostic, UnsupportedError, errors_at
from ...translator.ir import Aval, may_raise
from ...translator.pipeline import Translation, positions_of, translate
from ...translator.reading.functions.results import Reading
from ...translator.reading.reader import read
from ...translator.reading.text.signature import Signature
from ...translator.tracebacks import trim_traceback
from ...translator.tree import leaf_paths, tree_map
from ..arrays.array import Array, spec_of
from ..arrays.hosted import are_hosted, lifted
from ..arrays.transfer import device_get
from ..calls import strict
from ..calls.accelerated import Accelerated
from ..calls.arguments import Binding, Key, bind_arguments, open_arguments
from ..calls.entries import Entry, donated_places
from ..calls.fallback import HOST_ERRORS
from ..calls.options import Options, check_numbers, numbers_of
from ..calls.uncollected import uncollected
from ..targets.devices import Device
from ..targets.xla import Pieces, XlaDevice, devices_in_step, local_devices, pieces_on
from ..transforms import choices
from ..transforms.transformation import Fun, Transformation, transformed
from ..transforms.transforms import Axes, Batched
from ..trees.assembly import assembler
from ..trees.tree_util import broadcast_prefix

if TYPE_CHECKING:
    from ..inspection.inspection import Inspection


class Replica(Transformation):
    """The function as one of the devices runs it: it knows the axis, and the collectives stay what they are."""

    verb = "pmap"

    def __init__(self, fun: Fun, axis_name: Any, size: int) -> None:
        self.axis_name, self.size = axis_name, size
        super().__init__(fun)

    def __untraced_read__(self, signature: Signature) -> Reading:
        with named_axis(self.axis_name, self.size):
            return read(self.fun, signature, changes="dropped")


class Parallel(Batched):
    """pmap. Read inside another function it is a batch."""

    verb = "pmap"

    def __init__(
        self,
        fun: Fun,
        in_axes: Axes,
        out_axes: Axes,
        axis_name: Any,
        axis_size: int | None,
        devices: tuple[XlaDevice, ...] | None,
        static: tuple[int, ...],
        donated: tuple[int, ...],
    ) -> None:
        super().__init__(fun, in_axes, out_axes, axis_name, axis_size, "auto")
        self.devices = devices
        self.options = Options("cpu", static, (), donated, True, "error")
        check_numbers("static_broadcasted_argnums", static, self.fun)
        self.options.check(self.fun)
        self._forget()

    def _forget(self) -> None:
        self._entries: dict[Key, list[ReplicatedEntry]] = {}
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k not in ("_entries", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._forget()

    def __untraced_read__(self, signature: Signature) -> Reading:
        axes = choices.input_axes(self.fun, signature, self.in_axes, self.verb)
        self.numbers(choices.batch_size(self.fun, signature, axes, self.axis_size, self.verb))
        return super().__untraced_read__(signature)

    def numbers(self, size: int) -> tuple[int, ...]:
        """The devices for an axis of this size. Raises ValueError where there are not so many."""
        if self.devices is not None:
            if len(self.devices) != size:
                raise ValueError(
                    f"pmap of {getattr(self, '__name__', self.fun)} got devices={list(self.devices)}, "
                    f"{len(self.devices)} devices for a mapped axis of size {size}"
                )
            return tuple(d.number for d in self.devices)
        if size > platform.device_count():
            raise ValueError(
                f"pmap: compiling computation that requires {size} logical devices, but only {platform.device_count()} "
                f"XLA devices are available (num_replicas={size}). Each element of the mapped axis has a device of its "
                "own; set untraced.config.cpu_devices first thing in the program, or use vmap"
            )
        return tuple(range(size))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._called(args, kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = args, kwargs
        if self.options.static:
            args, kwargs = self.options.make_static(self.fun, args, kwargs)
        key, leaves = open_arguments(args, kwargs)
        if strict.is_asked() and (strict.DEBUGGED or not any(type(x) is Array for x in leaves)):
            with strict.debugging():
                return self._plain(*device_get(given[0]), **device_get(given[1]))
        for entry in self._entries.get(key, ()):
            if entry.matches(leaves):
                break
        else:
            entry = self._specialise(key, leaves, args, kwargs)
        try:
            return entry.run(leaves)
        except HOST_ERRORS:  # the very exception, of the first element that raises it
            return self._plain(*device_get(given[0]), **device_get(given[1]))

    @uncollected()
    def _specialise(
        self, key: Key, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> ReplicatedEntry:
        with self._lock:
            entries = self._entries.setdefault(key, [])
            for known in entries:
                if known.matches(leaves):
                    return known
            entry = ReplicatedEntry(self, bind_arguments(self.fun, args, kwargs))
            entries[:] = [entry, *(e for e in entries if e.guards_hold())]
            return entry

    def inspect(self, *args: Any, compile: bool = True, **kwargs: Any) -> Inspection:
        """The stages, the source for each device, and StableHLO for these arguments, without running."""
        from ..inspection.inspection import Inspection

        if self.options.static:
            args, kwargs = self.options.make_static(self.fun, args, kwargs)
        plan = Plan(self, bind_arguments(self.fun, args, kwargs))
        replica = Accelerated(plan.replica, self.options.without_arguments())
        made = Inspection(replica, plan.signature, plan.translation, False)
        made.use(plan.emitted(checks=True), (lambda e: Replicated(e, plan.devices)) if compile else None)
        return made

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated NumPy source for each device."""
        return self.inspect(*args, compile=False, **kwargs).source


class Plan:
    """A call of a pmap, translated: which axes are mapped, on which devices, and the program of each."""

    def __init__(self, parallel: Parallel, binding: Binding) -> None:
        fun, whole = parallel.fun, binding.signature
        self.axes = choices.input_axes(fun, whole, parallel.in_axes, parallel.verb)
        self.numbers = parallel.numbers(choices.batch_size(fun, whole, self.axes, parallel.axis_size, parallel.verb))
        self.devices = devices_in_step(self.numbers)
        self.signature = choices.without_batch(whole, self.axes)
        self.replica = Replica(fun, parallel.axis_name, self.devices.count)
        self.translation: Translation = translate(self.replica, self.signature, None, "cpu")
        function = self.function = self.translation.function
        if function.mutated:
            raise UnsupportedError(
                Diagnostic(
                    f"{function.name} writes into an argument",
                    function.span,
                    why="the elements of a pmap are on devices of their own",
                    instead="return a changed copy",
                )
            )
        self.plain = self.translation.source
        places = positions_of(whole, self.translation.statics)
        mapped = [p for p, axis in zip(places, self.axes, strict=True) if p is not None and axis is not None]
        self.varying = batched_variables(self.plain, [self.plain.body.params[p] for p in mapped], parallel.axis_name)

    def emitted(self, checks: bool, donated: Sequence[int] = ()) -> Emitted:
        with errors_at(self.function.span):
            return emit(self.function, donate=donated, checks=checks, replicas=self.devices.count)


class ReplicatedEntry(Entry):
    """The program of a call, compiled for its devices."""

    def __init__(self, parallel: Parallel, binding: Binding) -> None:
        plan = Plan(parallel, binding)
        translation, f, numbers = plan.translation, plan.function, plan.numbers
        super().__init__(translation, binding)
        donated = donated_places(parallel.options.donate_argnums, parallel.fun, binding.signature, translation.statics)
        if any(map(may_raise, f.body.statements)):  # the call may have to run again
            donated = ()
        with errors_at(f.span):
            self.program = Replicated(plan.emitted(parallel.options.checks, donated), plan.devices)
        kept = [i for i in range(len(binding.sources)) if i not in translation.statics]
        self.sources = [binding.sources[i] for i in kept]
        given: list[Device] = [pieces_on(numbers, plan.axes[i]) for i in kept]
        self.places = given + [pieces_on(numbers, None)] * (len(f.body.params) - len(kept))  # captured ones: the whole
        self.dtypes = [p.aval.dtype for p in f.body.params]
        count = f.out.leaf_count
        self.assemble = assembler(f.out)
        out_axes = broadcast_prefix(parallel.out_axes, f.out, "pmap out_axes", is_leaf=lambda x: x is None)
        self.outs = []
        paths = leaf_paths(f.out, "result")
        rows = zip(out_axes, f.body.results[:count], plan.plain.body.results[:count], paths, strict=True)
        for axis, result, told, path in rows:
            if axis is None and told in plan.varying:
                raise ValueError(
                    f"pmap has mapped output of {f.name} but out_axes is None: the devices have different values"
                )
            place = pieces_on(numbers, choices.output_axis(parallel.fun, axis, result.aval.ndim, path, parallel.verb))
            self.outs.append(spec_of(place.aval(Aval(result.aval.shape, result.aval.dtype)), place))

    def run(self, leaves: Sequence[Any]) -> Any:
        values = [leaves[s] if type(s) is int else s.value for s in self.sources]  # type: ignore[union-attr]
        if self.captures:
            values += self.captured()
        if self.layouts:
            self.check_writes(self.arguments(leaves))
        data = [
            x._data if type(x) is Array and x.device is place else place.put(np.asarray(x, dtype))
            for x, place, dtype in zip(values, self.places, self.dtypes, strict=True)
        ]
        results = [Array(o, spec) for o, spec in zip(self.program.run(data), self.outs, strict=True)]
        if any(type(x) is Array for x in leaves):
            return self.assemble(results)
        made = self.assemble([_of_numpy(r) for r in results])
        return lifted(made) if self.hosted or are_hosted(leaves) else made


def _of_numpy(result: Array) -> Any:
    host = np.array(result)
    return host if host.shape else host[()]


def pmap(
    fun: Fun,
    axis_name: Any = None,
    *,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Sequence[int] = (),
) -> Any:
    """A function that maps `fun` over an axis of its arguments, each element on a device of its own, in parallel.

    axis_name  a name for the axis, over which `lax.psum`, `lax.all_gather` and the other collectives in `fun` work,
               between devices.
    in_axes, out_axes, axis_size   as in `vmap`; an output whose axis is None must be the same on all devices.
    static_broadcasted_argnums     positional arguments on whose values the function is specialised.
    devices    the devices to use, one for each element; by default the first of `local_devices()`.
    backend    None or "cpu".
    donate_argnums                 Arrays whose memory the results may reuse; they cannot be used afterwards.

    NumPy arrays in give NumPy arrays out. With Arrays among the arguments the results are Arrays that stay on the
    devices in pieces; `np.asarray` gathers one. With several processes each maps its own part, and the axis has as many
    elements as all parts together. Raises ValueError where sizes differ or there are more elements than devices.
    """
    if backend not in (None, "cpu"):
        raise ValueError(f'pmap runs on the devices of the processor: backend must be None or "cpu", not {backend!r}')
    static = numbers_of("static_broadcasted_argnums", static_broadcasted_argnums)
    donated = numbers_of("donate_argnums", donate_argnums)
    chosen = None if devices is None else _of_the_processor(devices)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    rest = (in_axes, out_axes, axis_name, axis_size, chosen, static, donated)
    if isinstance(fun, Accelerated) and fun.target == "cpu":
        fun = fun.fun
    return transformed(fun, Parallel, *rest)


def _of_the_processor(devices: Sequence[Device]) -> tuple[XlaDevice, ...]:
    own: list[Device] = list(local_devices())
    for d in devices:
        if d not in own:
            raise ValueError(f"pmap: {d!r} is none of local_devices(), which are {own}")
    if not devices or len(set(devices)) < len(devices):
        raise ValueError(f"pmap: devices must be one or more different ones, got {list(devices)}")
    return tuple(local_devices()[own.index(d)] for d in devices)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Device]) -> Any:
    """One tree for each device: the Array of each leaf has a new first axis, with one tree's leaf on each device."""
    if len(shards) != len(devices):
        raise ValueError(f"len(shards) = {len(shards)} must equal len(devices) = {len(devices)}.")
    place = pieces_on(tuple(d.number for d in _of_the_processor(devices)), 0)
    return tree_map(lambda *leaves: _put(place, [np.asarray(x) for x in leaves]), *shards)


def device_put_replicated(x: Any, devices: Sequence[Device]) -> Any:
    """A copy of each leaf on each device: the Array has a new first axis, along which all elements are the same."""
    place = pieces_on(tuple(d.number for d in _of_the_processor(devices)), 0)
    return tree_map(lambda leaf: _put(place, [np.asarray(leaf)] * len(devices)), x)


def _put(place: Pieces, pieces: list[np.ndarray[Any, Any]]) -> Array:
    kinds = {(p.shape, p.dtype) for p in pieces}
    if len(kinds) > 1:
        raise ValueError(f"the shards must have one shape and dtype, got {sorted(map(str, kinds))}")
    piece = pieces[0]
    if piece.dtype.kind not in "biufcV" or piece.dtype.names is not None:
        raise TypeError(f"an array of dtype {piece.dtype} cannot be put on a device: only numbers and bool can")
    return Array(place.devices.put(pieces), spec_of(place.aval(Aval(piece.shape, piece.dtype)), place))


pmap.__dict__["__untraced_static__"] = True
