"""Functions that were cut: a driver, run by CPython, calls regions that are compiled once their arguments are known.

A region is translated like any accelerated function, and its results are what CPython would have made (`exact`). Where
it holds another cut it is cut again; where it is refused its statements run as they are, as NumPy.
"""

from __future__ import annotations

import ast
import math
import types
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...translator.cutting.functions import make_function
from ...translator.cutting.partition import LOOP_WORK, Cuts, Partition, as_definition, cuts_at, partition, work_of
from ...translator.errors import Span, TargetError, UntracedError, has_written
from ...translator.ir import Function
from ...translator.reading.facts.changes import apply_changes
from ...translator.reading.facts.exact import Passed, exact
from ...translator.reading.text.signature import arguments_of, unopened
from ...translator.reading.text.source import source_of
from ...translator.tree import Kind, TreeDef
from . import forking
from .accelerated import Accelerated
from .arguments import Key, are_wide, open_arguments
from .callables import is_users_object
from .entries import Entry
from .fallback import HOST_ERRORS
from .statics import Static
from .worth import SHORT_CALL, Ledger, size_of

if TYPE_CHECKING:
    from .options import Options

AT_ONCE = 2  # translations of a region, lest arguments that are of a new kind at every call cost one each

Shape = tuple[tuple[int, ...], tuple[str, ...], tuple[str, ...]]  # of a region: statements, inputs, outputs


def cut(function: types.FunctionType, error: UntracedError, options: Options) -> Driver:
    """Cut the function at the place that `error` names."""
    return Driver(function, cuts_at(as_definition(source_of(function).node), error), options, {})


class Driver:
    """A function that is cut. `fun` is called like the function itself, with NumPy arrays.

    `called` are the functions called that are cut themselves, shared by all that are cut together. `before` is a driver
    of the function whose regions are known; `whole` one in whose place this is for small arguments; `inside` the region
    whose statements the function is.
    """

    def __init__(
        self,
        function: types.FunctionType,
        cuts: Cuts,
        options: Options,
        called: dict[types.FunctionType, Region],
        before: Driver | None = None,
        whole: Driver | None = None,
        inside: Region | None = None,
    ) -> None:
        self.function, self.cuts, self.options, self.called = function, cuts, options, called
        self.inside = inside
        self.grown: Cuts | None = None  # with what the regions were cut at since
        self._little = Cuts({})  # what it goes without for small arguments
        self._small = 0  # elements of those; 0 for none
        self._size = 0  # of the arguments of the last call
        self._slim: Driver | None = None
        source = source_of(function)
        self.partition: Partition = partition(as_definition(source.node), cuts)
        self.regions: dict[str, Region] = {}
        self._calls: set[types.FunctionType] = set()  # of `called`, by this one
        self._shapes: dict[Shape, Region] = dict(before._shapes) if before else {}
        self._origins: dict[ast.stmt, ast.stmt] = dict(before._origins) if before else {}
        self._origins |= self.partition.origins
        for part in self.partition.regions:
            run = tuple(self._origins.get(s, s) for s in part.run)
            shape = tuple(map(id, run)), part.inputs, part.outputs
            region = self._shapes.get(shape)
            if region is None:
                region = Region(make_function(part.node, function, source, {}), options, called, run, part.back)
            region.owner = whole or self
            self.regions[part.node.name] = self._shapes[shape] = region
        helpers: dict[str, Any] = dict(self.regions)
        if self.partition.wrapper is not None:
            helpers[self.partition.wrapper] = self._callee
        self.fun = make_function(self.partition.node, function, source, helpers)
        self.span: Span = source.span(source.node)
        self.fun.__defaults__, self.fun.__kwdefaults__ = function.__defaults__, function.__kwdefaults__

    def grow(self, cuts: Cuts) -> None:
        """A region was cut at these statements: the next call goes through one driver that knows them all, and so does
        the next call of the function around, which would find them one after the other.
        """
        mine = Cuts({self._origins.get(s, s): why for s, why in cuts.hosts.items()}, cuts.calls)
        self.grown = (self.grown or self.cuts) | mine
        if self.inside is not None and self.inside.owner is not None:
            self.inside.owner.grow(mine)

    def latest(self) -> Driver:
        """This driver, or one in whose place regions that were cut are regions of their own."""
        if self.grown is None:
            return self
        return Driver(self.function, self.grown, self.options, self.called, self, inside=self.inside)

    def dissolve(self, run: tuple[ast.stmt, ...]) -> None:
        """A region of these statements costs more than it can save: calls with as little go without it from now on."""
        inside = (n for s in run for n in ast.walk(s) if isinstance(n, ast.stmt))
        self._little |= Cuts(dict.fromkeys(inside, "it takes less than the call of a region"))
        self._small = max(self._small, self._size)
        self._slim = None

    def of_size(self, size: int) -> Driver:
        """The driver for arguments of so many elements."""
        self._size = size
        if size > self._small:
            return self
        if self._slim is None:
            self._slim = Driver(self.function, self.cuts | self._little, self.options, self.called, self, self)
        return self._slim

    def _callee(self, f: Any) -> Any:
        """A function in which there is a cut, as one that is compiled around it."""
        if isinstance(f, types.MethodType) and isinstance(f.__func__, types.FunctionType):
            return types.MethodType(self._callee(f.__func__), f.__self__)
        if not isinstance(f, types.FunctionType) or f.__closure__:  # a closure is a new function every time
            return f
        region = self.called.get(f)
        if region is None:
            region = self.called[f] = Region(f, self.options, self.called)
        self._calls.add(f)
        return f if region.idle else region

    @property
    def idle(self) -> bool:
        """Whether nothing in it is compiled, as far as calls have shown."""
        others = [self.called[f] for f in tuple(self._calls)]  # another thread may add to them
        return not self.regions and bool(self._calls) and all(r.again is self or r.idle for r in others)

    def text(self) -> str:
        """The regions and the driver as source."""
        parts = []
        for part in self.partition.regions:
            first, last = part.lines
            lines = f"line {first}" if first == last else f"lines {first} to {last}"
            parts.append(f"# {lines}: {self.regions[part.node.name].state()}\n{ast.unparse(part.node)}")
        for f in tuple(self._calls):
            region = self.called[f]
            parts.append(region.again.text().rstrip("\n") if region.again else f"# {f.__name__}: {region.state()}")
        stays = [f"# line {s.lineno} stays with CPython: {why}" for s, why in self.cuts.hosts.items()]
        parts.append("\n".join([*stays, ast.unparse(self.partition.node)]))
        return "\n\n\n".join(parts) + "\n"


class Region(Accelerated):
    """Statements of a cut function, or a function called by one.

    `run` are the user's statements; `back` is the generated statement that returns their outputs.
    """

    finish = staticmethod(exact)

    def __init__(
        self,
        fun: types.FunctionType,
        options: Options,
        called: dict[types.FunctionType, Region],
        run: tuple[ast.stmt, ...] = (),
        back: ast.Return | None = None,
    ) -> None:
        super().__init__(fun, options)
        self._called = called
        self._function = fun
        self.again: Driver | None = None  # where it was cut itself
        self.owner: Driver | None = None  # of which the statements are
        self._statements, self._back = run, back
        self._small = 0  # elements of arguments up to which a call is too little to be looked at
        self._hosted: dict[Key, str] = {}  # kinds of arguments for which it runs as it is, and why
        self._always = "" if self.target != "numpy" else "this target compiles nothing"
        work = work_of(as_definition(source_of(fun).node))
        longest = math.inf if work < LOOP_WORK else SHORT_CALL  # Python's loops could take any time
        self._ledger = Ledger(work, AT_ONCE, longest)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.again is not None:
            self.again = self.again.latest()
            return self.again.of_size(size_of(args)).fun(*args, **kwargs)
        if self._always:
            return self.fun(*args, **kwargs)
        size = size_of(args)
        if size <= self._small:
            return self.fun(*args, **kwargs)
        if not (self._ledger.looks(size) if self._entries else self._ledger.allows(size)):
            if self._ledger.is_little():
                self._dissolve(size)
            return self._ledger.run(size, self.fun, args, kwargs)
        try:
            key, leaves = open_arguments([_held(a) for a in args], {k: _held(a) for k, a in kwargs.items()})
            known = self._entries.get(key, ())
        except TypeError:  # an argument that cannot be part of a signature
            return self.fun(*args, **kwargs)
        if key in self._hosted or are_wide(leaves):
            return self.fun(*args, **kwargs)
        for entry in known:
            if entry.matches(leaves):
                self._ledger.met()
                if self._ledger.asks_numpy(size):
                    return self._ledger.run(size, self.fun, args, kwargs)
                if not self._ledger.on_trial(size):
                    return self._finished(entry, leaves, args, kwargs)
                result = self._ledger.try_out(size, partial(self._finished, entry, leaves, args, kwargs))
                if self._ledger.is_slower(size):
                    self._hosted[key] = "NumPy is faster for these arguments"
                    self._entries.pop(key, None)  # another thread may have come to the same
                return result
        self._ledger.missed()
        if not self._ledger.allows(size):
            return self._ledger.run(size, self.fun, args, kwargs)
        return self._first(size, key, leaves, args, kwargs)

    def _dissolve(self, size: int) -> None:
        self._small = size
        if self.owner is not None:
            self.owner.dissolve(self._statements)

    def _first(
        self, size: int, key: Key, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call with arguments of a new kind."""
        held = tuple(_held(a) for a in args), {k: _held(a) for k, a in kwargs.items()}
        try:
            entry = self._ledger.translate(size, lambda: self._specialise(key, leaves, *held))
        except TargetError:
            raise
        except UntracedError as error:
            cuts = cuts_at(as_definition(source_of(self.fun).node), error)
            if any(s is not self._back for s in cuts.hosts):
                self.again = Driver(self._function, cuts, self.options, self._called, inside=self)
                if self.owner is not None:
                    self.owner.grow(cuts)
                return self.again.fun(*args, **kwargs)
            self._hosted[key] = str(error)
        except Exception as error:  # what NumPy would raise too it raises now, where it would have
            self._hosted[key] = str(error)
        else:
            return self._finished(entry, leaves, args, kwargs)
        return self.fun(*args, **kwargs)

    def _finished(self, entry: Entry, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        changes = entry.translation.changes
        if changes and entry.changes_one_of_two(self.fun, (args, kwargs)):
            return self.fun(*args, **kwargs)
        try:
            if entry.streams or entry.draws:
                with self._drawing(entry, (args, kwargs)):
                    result = entry.run(leaves)
            else:
                result = entry.run(leaves)
        except HOST_ERRORS as error:  # raised before anything was written, if not by a handler of a signal
            if has_written(error):
                raise
            return self.fun(*args, **kwargs)
        except Exception as error:
            return self._last_word(error, (args, kwargs))
        if not changes and not _has_passed(entry.function.out):
            return result
        arguments = arguments_of(self.fun, args, kwargs)
        if changes:
            apply_changes(changes, arguments, result)
            result = result[0]
        if type(result) is tuple:
            return tuple(arguments[r.name] if type(r) is Passed else r for r in result)
        return arguments[result.name] if type(result) is Passed else result

    def forget_programs(self) -> None:
        super().forget_programs()
        if forking.without_xla():
            self._always = "XLA does not run in a forked process"

    @property
    def idle(self) -> bool:
        """Whether it always runs as it is."""
        return bool(self._always) or (self.again is not None and self.again.idle)

    def _shorter(self, entry: Entry, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """Results are put together here, so no call goes past this class."""
        return None

    def functions(self) -> list[Function]:
        """The programs that were compiled for it."""
        return [e.function for entries in self._entries.values() for e in entries]

    def state(self) -> str:
        """A phrase for reports: what became of the region so far."""
        if self.again is not None:
            return "cut again"
        if self._entries and any(self._entries.values()):
            return "compiled"
        if self._small:
            return "runs as it is: it takes less than a call of what is compiled"
        reason = self._always or next(iter(self._hosted.values()), "")
        return f"runs as NumPy: {reason.splitlines()[0]}" if reason else "compiled when its arguments are known"


def _held(x: Any) -> Any:
    """An object of a class of the user's is part of the signature; what is read of it is guarded."""
    return Static(x) if is_users_object(x) and isinstance(x, Hashable) else unopened(x)


def _has_passed(out: TreeDef) -> bool:
    parts = out.children if out.kind is Kind.TUPLE else (out,)
    return any(p.kind is Kind.STATIC and type(p.aux) is Passed for p in parts)
