"""Entries: one translation of a function, made ready for its target, and the ways to call it.

Kind in, kind out. Without Arrays among the arguments results are NumPy's: arrays, NumPy scalars for shape (), Python
numbers for weak results. Programs give fresh writable arrays; where NumPy gives the caller's own ones, or views of
them, `handed_back` puts these in their place. With an Array they are Arrays. Entries know no HostArrays: the call takes
their methods off the arguments, and puts them on the results.
"""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ...translator.checked import fails_half_way
from ...translator.errors import AliasError, Diagnostic
from ...translator.ir import Aval, Function, Param, may_raise
from ...translator.pipeline import LAST, Translation, translate
from ...translator.purpose import purposed
from ...translator.reading.core.guards import default_guards, fetch
from ...translator.reading.facts.changes import apply_changes, found_twice
from ...translator.reading.facts.handed import (
    Ended,
    arguments_themselves,
    hand_back,
    known_leaves,
    needs_arguments,
    owned_parts,
)
from ...translator.reading.facts.streams import stream_of
from ...translator.reading.provided.draws import is_draw
from ...translator.reading.text.signature import Signature, arguments_of, is_swapped, value_key
from ...translator.records import dataclass
from ...translator.routines import runs_in_cpython
from ...translator.spans import span
from ...translator.tree import ARRAY, Kind, Rows, TreeDef, close_node, leaf_nodes, open_node
from ..arrays.array import Array, spec_of
from ..arrays.hosted import LENT, are_hosted, plain
from ..arrays.transfer import device_put
from ..targets.devices import device_of_target
from ..targets.programs import Program, load, runs_in_numpy, seconds_of_compiling
from ..trees.assembly import argument_assembler, assembler
from ..trees.tree import map as tree_map
from .arguments import Binding
from .fastcall import guard_function
from .orders import Orders
from .uncollected import uncollected

if TYPE_CHECKING:
    from .accelerated import Accelerated


class Entry:
    """The base of all targets' entries: when a translation is valid, and where its parameters come from."""

    def __init__(self, translation: Translation, binding: Binding) -> None:
        self.translation = translation
        self.binding = binding
        self.function: Function = translation.source
        self.guards_hold: Callable[[], bool] = guard_function(translation.guards)
        sources = binding.sources
        self.values = [
            (s, value_key(binding.signature.values[i]))
            for i in sorted(translation.statics)
            if isinstance(s := sources[i], int)
        ]
        self.layouts = translation.layouts
        self.captures: tuple[Param, ...] = tuple(p for p in self.function.params if p.capture is not None)
        self.draws = any(map(is_draw, self.captures))
        self.streams = [found for p in self.captures if (found := stream_of(p)) is not None]
        self.known = known_leaves(translation)
        read = translation.guards[: len(translation.guards) - translation.defaults]
        self.containers_outside = [g for g in read if g.of_container]
        self.needs_arguments = bool(translation.changes) or needs_arguments(translation.returned)
        kept = [i for i in range(len(sources)) if i not in translation.statics]
        self.sources = [sources[i] for i in kept]
        self.mutated = _mutated_leaves(self.function, binding.signature, translation.statics)
        made = {p.name for p in self.captures if is_draw(p) or stream_of(p) is not None}
        outside = (fetch(p.capture) for p in self.captures if p.capture is not None and p.name not in made)
        self.hosted = are_hosted(outside)  # of what is found outside, which a JAX script need not hand over

    def matches(self, leaves: Sequence[Any]) -> bool:
        """Whether the entry serves a call with its key and these leaves: specialised values and guards hold."""
        return all(value_key(leaves[i]) == v for i, v in self.values) and self.guards_hold()

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run with `leaves` in call order; returns the user's result."""
        raise TypeError(f"{type(self).__name__} cannot run")

    def knows(self, leaves: Sequence[Any]) -> bool:
        """Whether in a call with these leaves there are results that need not be computed: the caller gets his own."""
        return bool(self.known) and all(isinstance(x, _NUMPYS) for x in leaves)

    def given(self, leaves: Sequence[Any]) -> list[Any]:
        """The arguments' leaves that are parameters of the program, in its order."""
        return [leaves[s] if type(s) is int else s.value for s in self.sources]  # type: ignore[union-attr]

    def arguments(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves of the signature, then the captured arrays; `mutated` indexes these."""
        return [*self.binding.gather(leaves), *self.standing()]

    def captured(self) -> list[Any]:
        """The values of the captures for a call; asking for them draws the call's random numbers."""
        return [plain(fetch(p.capture)) for p in self.captures if p.capture is not None]

    def standing(self) -> list[Any]:
        """The values of the captures, with None for random numbers, so that nothing is drawn."""
        return [None if is_draw(p) else plain(fetch(p.capture)) for p in self.captures if p.capture is not None]

    def name_of(self, place: int) -> str:
        """The name of one of `arguments` in the user's terms."""
        count = len(self.binding.signature.avals)
        if place < count:
            return self.binding.signature.leaf_name(place)
        capture = self.captures[place - count].capture
        assert capture is not None
        path = (f".{key}" if how == "attr" else f"[{key!r}]" for how, key in capture.path)
        return f"{capture.name or 'an object'}{''.join(path)}"

    def changes_one_of_two(self, fun: Callable[..., Any], given: tuple[Any, Any]) -> bool:
        """Whether a container that a call of `fun` may change is read at two places, as if there were two."""
        return found_twice(list(arguments_of(fun, *given).values()), (g.container() for g in self.containers_outside))

    def handed_back(
        self, fun: Callable[..., Any], leaves: Sequence[Any], given: tuple[Any, Any], made: Any
    ) -> Any:
        """The result of a call of `fun`, of which the program has `made` this; the caller's containers have their new
        contents.
        """
        changes = self.translation.changes
        arguments = arguments_of(fun, *given) if self.needs_arguments else None
        result, beside = made, ()
        if changes or self.translation.beside:
            result, contents, beside = made[0], made[1 : len(changes) + 1], made[len(changes) + 1 :]
        is_numpys = not any(type(x) is Array for x in leaves)
        parts = owned_parts(self.translation.returned, Ended(arguments, self.given(leaves), beside, is_numpys))
        if changes:
            apply_changes(changes, arguments or {}, (result, *contents))
        return hand_back(parts, result)

    def check_writes(self, arguments: Sequence[Any]) -> None:
        """Refuse, before anything runs, writes that NumPy would refuse, and writes to memory that is passed twice."""
        for layout in self.layouts:
            if not layout.holds(arguments[layout.leaf]):
                where = self.binding.signature.leaf_name(layout.leaf)
                raise _strided(self, where)
        for i in self.mutated:
            x = arguments[i]
            where = self.name_of(i)
            if type(x) is Array:
                raise TypeError(
                    f"{self.function.name} writes into its argument {where}, and an Array is immutable: pass a "
                    "NumPy array or a copy, "
                    f"np.array({where}), or write {where} = {where}.at[index].set(value) in the function"
                )
            if not isinstance(x, np.ndarray):
                raise TypeError(
                    f"'{type(x).__name__}' object does not support item assignment (argument {where} of "
                    f"{self.function.name})"
                )
            if not x.flags.writeable:
                raise ValueError("assignment destination is read-only")
            for j, y in enumerate(arguments):
                if j != i and isinstance(y, np.ndarray) and np.may_share_memory(x, y) and np.shares_memory(x, y):
                    raise _overlap(self, where, self.name_of(j))
            if not x.flags.contiguous and _meets_itself(x):
                raise _overlap(self, where, "itself")


_NUMBERS = (bool, int, float, complex)
_NUMPYS = (np.ndarray, np.generic, int, float, complex)


def _meets_itself(x: np.ndarray[Any, Any]) -> bool:
    """Whether elements of x may share memory with each other, as after np.lib.stride_tricks.as_strided: some axis does
    not step over all that the axes with smaller steps reach. True of some arrays whose elements interlace.
    """
    reach = x.itemsize
    for step, length in sorted((abs(step), length) for step, length in zip(x.strides, x.shape, strict=True)):
        if length > 1 and step < reach:
            return x.size > 0
        reach += step * (length - 1)
    return False


def _overlap(entry: Entry, where: str, other: str) -> AliasError:
    return AliasError(
        Diagnostic(
            f"{entry.function.name} writes into {where}, which shares memory with {other}",
            entry.function.span,
            why="the function was read with elements that do not overlap: a write to one would not be seen "
            "through the other",
            instead=f"pass a copy: {where if other == 'itself' else other}.copy()",
        )
    )


def _strided(entry: Entry, where: str) -> AliasError:
    return AliasError(
        Diagnostic(
            f"{entry.function.name} relies on C order in memory, and its argument {where} is not in C order",
            entry.function.span,
            why="the order decides what the strides are, whether a reshape is a view, which shows writes, or a copy",
            instead=f"pass np.ascontiguousarray({where}), or take a .copy() in the function",
        )
    )


def _mutated_leaves(function: Function, signature: Signature, statics: frozenset[int]) -> tuple[int, ...]:
    """The positions in `Entry.arguments` that the function writes in place."""
    count = len(signature.avals)
    kept = [i for i in range(count) if i not in statics]
    return tuple(kept[m] if m < len(kept) else count + m - len(kept) for m in function.mutated)


def make_entry(accelerated: Accelerated, binding: Binding, leaves: Sequence[Any]) -> Entry:
    """Translate for the signature, and compile for the target. Raises UntracedError."""
    draws = accelerated.target == "cpu" and not accelerated.options.static  # generators are counted among arguments
    hands_back = accelerated.finish is None
    with span(f"translate {accelerated.__name__}"), purposed(draws=draws, hands_back=hands_back):
        translation = translate(accelerated.fun, binding.signature, accelerated.finish, accelerated.target)
    given = binding.signature.given
    defaults = default_guards(accelerated.fun, given.names) if given else ()
    if defaults:
        guards = (*translation.guards, *defaults)
        translation = dataclasses.replace(translation, guards=guards, defaults=len(defaults))
    if accelerated.target == "numpy" or runs_in_cpython(translation.source.body):
        return HostEntry(translation, binding)
    if accelerated.target == "cpu":
        known = known_leaves(translation)
        stages = translation.stages.without(known)
        function = stages[LAST]
        chosen = accelerated.options.target != "auto"
        by_numpy = runs_in_numpy(function, printed=stages.unfused, chosen=chosen)
        if by_numpy or (known and not function.body.statements):
            return EitherEntry(translation, binding, accelerated)
        if price := seconds_of_compiling(function):
            return LaterEntry(translation, binding, accelerated, price)
    return TargetEntry(translation, binding, accelerated, leaves)


# ---- numpy ---------------------------------------------------------------------------------------


class HostEntry(Entry):
    """The printed source, run by CPython on the user's trees."""

    def __init__(self, translation: Translation, binding: Binding) -> None:
        super().__init__(translation, binding)
        self.assemble = argument_assembler(tuple(tree for _, tree in binding.signature.params))
        self.swapped = binding.signature.swapped

    @functools.cached_property
    def call(self) -> Callable[..., Any]:
        from ...translator.printing.executable import executable

        with uncollected():
            return executable(self.function, comments=True)

    @functools.cached_property
    def may_fail(self) -> bool:
        """Whether a run may raise after it has begun to write."""
        return fails_half_way(self.function)

    def run(self, leaves: Sequence[Any]) -> Any:
        arguments = self.binding.gather(leaves)
        if self.mutated or self.layouts:
            self.check_writes([*arguments, *self.standing()])
        known = self.known if self.knows(leaves) else frozenset()
        if not (self.mutated and (self.may_fail or _stumbles())):
            return self._result(arguments, known)
        with _undone([x for i, x in enumerate([*arguments, *self.standing()]) if i in self.mutated]):
            return self._result(arguments, known)

    def _result(self, arguments: Sequence[Any], known: frozenset[int]) -> Any:
        if any(type(x) is Array for x in arguments):
            host = [np.array(x) if type(x) is Array else x for x in arguments]
            device = next(x.device for x in arguments if type(x) is Array)
            result = self._called(host)
            return tree_map(lambda x: device_put(x, device) if isinstance(x, np.ndarray | np.generic) else x, result)
        return self.finished(self._called(arguments), arguments, known)

    def finished(self, result: Any, arguments: Sequence[Any], known: frozenset[int] = frozenset()) -> Any:
        """What the user gets of what CPython has computed of these arguments."""
        given = [x for x in (*arguments, *self.standing()) if isinstance(x, np.ndarray)]
        ordered = self.translation.ordered if any(map(_is_turned, given)) else ()
        avals = [r.aval for r in self.function.body.results]
        return _Owner(given, avals, ordered, known).owned(self.function.out, result)

    def _called(self, arguments: Sequence[Any]) -> Any:
        """The program's result. It knows numbers, not the order of their bytes: it is given the processor's."""
        native = [_native(x) if i in self.swapped else x for i, x in enumerate(arguments)]
        try:
            result = self.call(*self.assemble(native))
            for i in self.swapped.intersection(self.mutated):
                arguments[i][...] = native[i]
            return result
        except Exception as error:
            from ...translator.printing.executable import tell_origin

            tell_origin(error, self.call)
            raise


def _stumbles() -> bool:
    """Whether arithmetic may raise here, because of np.errstate or of warning filters."""
    errors = np.geterr().values()
    return "raise" in errors or "call" in errors or any(action == "error" for action, *_ in warnings.filters)


@contextmanager
def _undone(written: Sequence[np.ndarray[Any, Any]]) -> Iterator[None]:
    """Restore the arrays when an exception leaves the block, so that CPython can run the call from its start."""
    before = [x.copy() for x in written]
    try:
        yield
    except Exception:
        for x, old in zip(written, before, strict=True):
            x[...] = old
        raise


def _native(x: Any) -> Any:
    return x.astype(x.dtype.newbyteorder("=")) if is_swapped(x) else x


def _is_turned(x: np.ndarray[Any, Any]) -> bool:
    return not x.flags.c_contiguous


@dataclass(frozen=True, slots=True)
class _Owner:
    """Gives results memory of their own, as on compiled targets. `held`: arrays whose memory is taken.

    `avals` are the types of the leaves: where CPython has computed with Python's numbers, NumPy would give its own.
    Leaves that are `ordered` lie in C's order; those that are `known` stay what they are, and are not given to anybody.
    """

    given: Sequence[np.ndarray[Any, Any]]
    avals: Sequence[Aval]
    ordered: Container[int]
    known: Container[int]
    held: set[int] = dataclasses.field(default_factory=set)

    def owned(self, tree: TreeDef, x: Any, first: int = 0) -> Any:
        """The result; `first` is the number of the first leaf here."""
        if tree.kind is Kind.LEAF:
            if first in self.known:
                return x
            own = self._own(x, tree == ARRAY, self.avals[first])
            return np.ascontiguousarray(own) if first in self.ordered else own
        if tree.type is Rows:
            return [v.copy() if isinstance(v, np.ndarray) else v for v in x]
        opened = open_node(x) if tree.children else None
        if opened is None:
            return x
        children, shell = opened
        made = []
        for t, child in zip(tree.children, children, strict=True):
            made.append(self.owned(t, child, first))
            first += t.leaf_count
        return close_node(shell, made)

    def _own(self, x: Any, is_array: bool, aval: Aval) -> Any:
        """A result leaf that is no argument's memory, nor an earlier leaf's, and keeps none alive that is much larger;
        without axes a NumPy scalar, unless it is an array in NumPy."""
        x = plain(x)  # printed programs call the namespaces
        if not is_array and isinstance(x, np.ndarray) and not x.shape:
            return x[()]
        if not isinstance(x, np.ndarray):
            if isinstance(x, np.generic) and aval.weak:
                return x.item()
            return aval.dtype.type(x) if type(x) in _NUMBERS and not aval.weak else x
        owner = x
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        shared = id(owner) in self.held or owner.nbytes > 2 * x.nbytes
        if shared or not x.flags.writeable or any(np.may_share_memory(x, g) for g in self.given):
            return x.copy()
        self.held.add(id(owner))
        return x


# ---- compiled targets ----------------------------------------------------------------------------


class TargetEntry(Entry):
    """A compiled program on a device. It is compiled at once where the first call, with `leaves`, will need that."""

    def __init__(
        self, translation: Translation, binding: Binding, accelerated: Accelerated, leaves: Sequence[Any] = ()
    ) -> None:
        super().__init__(translation, binding)
        self.device = device_of_target(accelerated.target)
        donated = donated_places(
            accelerated.options.donate_argnums, accelerated.fun, binding.signature, translation.statics
        )
        if self.streams or any(map(may_raise, self.function.body.statements)):  # CPython may have to run the call again
            donated = ()
        self.donated = donated
        stages = translation.stages.without(self.known if accelerated.target == "cpu" else frozenset())
        f = self.function = stages[LAST]
        checks = accelerated.options.checks
        turns = accelerated.target == "cpu" and not (donated or self.draws or self.streams)
        self.orders = Orders(stages.unfused, translation.ordered, checks) if turns else None
        first = self._first_way(leaves)
        first = None if first == "device" and stages is not translation.stages else first
        self.program: Program = load(accelerated.target, f, donated=donated, checks=checks, first=first)
        self.assemble = assembler(f.out)
        self.result = f.out.children[0] if translation.beside else f.out  # the tree of what the user gets
        self.assemble_result = assembler(self.result)
        self._accelerated = accelerated
        self.leaf_count = f.out.leaf_count
        results = [r.aval for r in translation.source.body.results[: self.leaf_count]]
        self.outs = [spec_of(a, self.device) for a in results]
        self.finish = [_finisher(a, t == ARRAY) for a, t in zip(results, leaf_nodes(f.out), strict=True)]
        # the positions, in call order, of the program's parameters, where a call can skip all but the guards
        self.places = [s for s in self.sources if type(s) is int]
        unseen = not (self.captures or self.mutated or self.layouts)
        self.direct = len(self.places) == len(self.sources) and unseen and not translation.changes
        beside = translation.changes or translation.beside or self.captures or self.layouts
        self.alone = not (beside or donated or self.hosted)  # what a call is given and gives is arguments and results

    @functools.cached_property
    def full(self) -> Program:
        """The program that computes what is `known`, too: for Arrays, and other arrays that are not NumPy's."""
        if self.function is self.translation.function:
            return self.program
        target, checks = self._accelerated.target, self._accelerated.options.checks
        return load(target, self.translation.function, donated=self.donated, checks=checks, first=None)

    @functools.cached_property
    def handed(self) -> dict[int, int] | None:
        """The leaves of the result that are arguments, where nothing else is handed back."""
        return arguments_themselves(self.translation)

    def _first_way(self, leaves: Sequence[Any]) -> Literal["host", "device"] | None:
        if any(type(x) is Array for x in leaves):
            return "device"
        turned = self.orders is not None and any(
            type(x) is np.ndarray and not x.flags.c_contiguous for x in leaves
        )
        return None if turned or not leaves else "host"

    def holds(self, leaves: Sequence[Any]) -> bool:
        """Whether the Arrays are on the device where the program runs."""
        return all(x.device is self.device for x in leaves if type(x) is Array)

    def run_arrays(self, args: Sequence[Any]) -> Any:
        """Run for arguments that are all Arrays of this device, in the order of the parameters."""
        outs = self.full.on_device(self._kept([a._data for a in args]))
        return self.assemble_result(self._arrays(outs))

    def _kept(self, data: list[Any]) -> list[Any]:
        """Copies for what the program would take the memory of, where that is not the caller's to give."""
        if not (self.donated and LENT.get()):
            return data
        return [self.device.put(self.device.get(x)) if i in self.donated else x for i, x in enumerate(data)]

    def _arrays(self, outs: Sequence[Any]) -> list[Array]:
        return [Array(o, spec) for o, spec in zip(outs, self.outs, strict=False)]

    def run(self, leaves: Sequence[Any]) -> Any:
        values = self.given(leaves)
        if self.mutated or self.layouts:
            self.check_writes(self.arguments(leaves))
        if self.captures:
            values += self.captured()
        if any(type(x) is Array for x in leaves):
            return self._run_on_device(values, leaves)
        host = [np.asarray(x) if type(x) is Array else x for x in values]
        program = self.program if self.knows(leaves) else self.full
        orders = self.orders if program is self.program else None
        lying = orders.lying(host) if orders is not None and orders.large else ()
        way = orders.way(lying) if orders is not None and lying else None
        if way == "numpy":
            return self._in_numpy.run(leaves)
        outs = (way or program).host(host)
        if self.mutated:
            arguments = self.arguments(leaves)
            for i, final in zip(self.mutated, outs[self.leaf_count :], strict=True):
                if final is not arguments[i]:  # native loops may have worked in it
                    arguments[i][...] = final
                    self.device.let_go(final)
        if self.function.out.kind is Kind.LEAF:
            return self.finish[0](outs[0])
        return self.assemble([f(o) for f, o in zip(self.finish, outs, strict=False)])

    @functools.cached_property
    def _in_numpy(self) -> EitherEntry:
        return EitherEntry(self.translation, self.binding, self._accelerated)

    def _run_on_device(self, values: list[Any], leaves: Sequence[Any]) -> Any:
        if self.donated and not LENT.get():
            self._check_donated(values)
        data = [self._data(x) if type(x) is Array else x for x in values]
        outs = self.full.on_device(self._kept(data))
        if self.mutated:
            arguments = self.arguments(leaves)
            for i, final in zip(self.mutated, outs[self.leaf_count :], strict=False):
                arguments[i][...] = self.device.get(final)
        return self.assemble(self._arrays(outs))

    def _check_donated(self, values: Sequence[Any]) -> None:
        for i in self.donated:
            if type(values[i]) is Array and any(values[i] is x for j, x in enumerate(values) if j != i):
                name = self.function.body.params[i].hint
                raise ValueError(
                    f"{self.function.name} is given one Array twice, and its memory is to be reused (donate_argnums): "
                    f"pass a copy, or do not donate {name}"
                )

    def _data(self, x: Array) -> Any:
        if x.device is self.device:
            return x.data()
        if x.device.platform == self.device.platform == "cpu":
            return self.device.put(x.device.get(x.data()))
        raise ValueError(
            f"an Array on {x.device} was passed to {self.function.name}, which runs on {self.device}: move it "
            "with device_put"
        )


class EitherEntry(HostEntry):
    """A program that NumPy runs at least as fast on NumPy arrays, with warnings off as in compiled programs; for Arrays
    it is compiled.
    """

    def __init__(self, translation: Translation, binding: Binding, accelerated: Accelerated) -> None:
        super().__init__(translation, binding)
        self._compile = functools.partial(TargetEntry, translation, binding, accelerated)
        beside = translation.changes or translation.returned or self.captures or self.layouts or self.mutated
        straight = binding.sources == tuple(range(len(binding.sources)))
        # whether a call is given and gives arguments and results alone, in order
        self.alone = straight and not (beside or self.known or self.hosted)
        self._shown = f"{accelerated.__name__} by NumPy"

    @functools.cached_property
    def compiled(self) -> TargetEntry:
        return self._compile()

    def run(self, leaves: Sequence[Any]) -> Any:
        if any(type(x) is Array for x in leaves):
            return self.compiled.run(leaves)
        with np.errstate(all="ignore"), span(self._shown):
            try:
                return super().run(leaves)
            except Exception as error:
                error.__traceback__ = None  # of a source that nobody asked for: the error names the user's line
                raise


class LaterEntry(EitherEntry):
    """A program that takes far longer to compile than to run: NumPy runs it until it has spent what compiling takes.

    When it is compiled, the last digits of sums and of functions such as exp may change.
    """

    def __init__(self, translation: Translation, binding: Binding, accelerated: Accelerated, price: float) -> None:
        super().__init__(translation, binding, accelerated)
        self._left = price

    def run(self, leaves: Sequence[Any]) -> Any:
        if self._left <= 0.0:
            return self.compiled.run(leaves)
        start = perf_counter()
        try:
            return super().run(leaves)
        finally:
            self._left -= perf_counter() - start


def _finisher(aval: Aval, is_array: bool) -> Callable[[np.ndarray[Any, Any]], Any]:
    """The function that turns a result leaf into what NumPy would return."""
    if aval.weak and not is_array:
        return lambda x: x.item()
    if aval.shape == () and not is_array:
        return lambda x: x[()]
    return lambda x: x


def donated_places(
    argnums: Sequence[int], fun: Callable[..., Any], signature: Signature, statics: frozenset[int]
) -> tuple[int, ...]:
    """The places in the body of the donated arguments' leaves."""
    if not argnums:
        return ()
    from ..transforms.choices import positional

    arguments = positional(fun, signature)
    leaves = {
        leaf for i in argnums for first, tree in (arguments[i],) for leaf in range(first, first + tree.leaf_count)
    }
    kept = [i for i in range(len(signature.avals)) if i not in statics]
    return tuple(place for place, leaf in enumerate(kept) if leaf in leaves)
