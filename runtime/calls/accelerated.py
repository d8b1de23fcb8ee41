"""Accelerated functions: translated and compiled when they are first called with a new kind of arguments.

A call computes the key of its arguments (structure, shapes, dtypes), tries the entries compiled for that key, and runs
the first one whose specialised values and guards hold. When all arguments are Arrays the key is a tuple of small
integers, and the rest is one call into the backend. The translator and compilers are imported at the first call.
"""

from __future__ import annotations

import inspect
import math
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

from ...kernels.loops.interrupts import alarm_is_set, hearing_alarms, was_interrupted
from ...translator.errors import (
    AliasError,
    CutError,
    LoopsError,
    TargetError,
    UntracedError,
    has_written,
    place_told,
    tell_place,
)
from ...translator.reading.text.signature import Signature, signature_of, unopened
from ...translator.tracebacks import trim_traceback
from .. import above
from ..arrays.adopted import OnGpu, adopted
from ..arrays.array import Array, Spec
from ..arrays.hosted import are_hosted, lifted
from ..arrays.hosted import plain as without_methods
from ..targets.devices import automatic_target
from ..trees.tree import leaves as leaves_of
from . import forking, strict
from .arguments import Key, are_wide, bind_arguments, open_arguments
from .callables import HELD, holding, is_users_object, keep_methods, methods_of
from .fallback import HOST_ERRORS, Fallback, came_by, in_words_of, is_of_arrays, is_of_the_run, on_host
from .fastcall import GONE, of_loops, specialised
from .naming import named, place_of
from .options import Options
from .recompiles import Changing, History
from .uncollected import uncollected
from .worth import Ledger, size_of
from .wrapping import OfFunction, bind, by_name, take_after

if TYPE_CHECKING:
    from ...translator.reading.functions.results import Reading
    from ...translator.reading.reader import Finish
    from ..inspection.inspection import Inspection
    from ..inspection.lowering import Lowered, Traced
    from .entries import Entry, TargetEntry
    from .regions import Driver

Fun = Callable[..., Any]
_KINDS = 32
"""A function is compiled at once for this many kinds of arguments; for further kinds only where that pays."""
_HOLDERS = 16
"""This many objects get programs of their own; a translation takes tens of milliseconds."""
_OBJECTS = 8  # translations for objects of a class that are made at once: further ones when they would pay
_SHORTENED = 6
"""Calls with arguments of this many kinds have generated code, each tried before the next (0.2 us)."""


class Call:
    """One call that no entry serves, with its arguments in all the forms that are needed.

    given    as the caller gave them: (args, kwargs).
    args, kwargs   with those that are declared static marked.
    read     as the reader sees them: (args, kwargs).
    key, leaves    their kind, and what holds data.
    """

    __slots__ = ("args", "given", "key", "kwargs", "leaves", "read", "size")

    def __init__(
        self,
        given: tuple[Any, Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        read: tuple[tuple[Any, ...], dict[str, Any]],
        key: Key,
        leaves: list[Any],
    ) -> None:
        self.given, self.args, self.kwargs, self.read, self.key, self.leaves = given, args, kwargs, read, key, leaves
        self.size = size_of(leaves)

    def on_host(self, fun: Fun) -> Any:
        """The result of `fun` in CPython."""
        return on_host(fun, *self.given, self.leaves)


class Accelerated:
    """The result of `accelerate`. Called, inspected, transformed and used as a method like the function it wraps."""

    __name__: str
    __code__ = OfFunction()
    __globals__ = OfFunction()
    __closure__ = OfFunction()
    __defaults__ = OfFunction()
    __kwdefaults__ = OfFunction()
    finish: Finish | None = None
    shortened: ClassVar[int] = 0  # for how many entries' arguments there is a `__call__` of generated code
    takes: ClassVar[int | None] = None  # the number of arguments of the generated `__call__`

    def __init__(self, fun: Fun, options: Options) -> None:
        take_after(self, fun)
        self.fun = fun
        self.options = options
        self._entries: dict[Key, list[Entry]] = {}
        self._fast: dict[tuple[Spec | None, ...], TargetEntry] = {}
        self._history = History(self.__name__)
        self._lock = threading.RLock()
        self._numbers = Changing()
        self._ledger = Ledger(math.inf, _KINDS)
        self._refused: set[Key] = set()  # kinds of arguments for which CPython runs the plain function
        self._fallback = Fallback(fun, self._history.name)
        self._drivers: dict[Any, Driver] = {}  # by the place of a cut
        self._cut: dict[Key, Any] = {}  # for kinds of arguments for which the function is cut: the key of its driver
        self._methods: dict[Any, Accelerated] = {}  # bound to objects that have no __dict__ to keep them in
        self._holders = 0
        self._ledger_of_objects = Ledger(math.inf, _OBJECTS)
        forking.known.add(self)

    @property
    def target(self) -> str:
        """The target with "auto" decided."""
        target = automatic_target() if self.options.target == "auto" else self.options.target
        return "numpy" if target == "cpu" and forking.without_xla() else target

    # ---- the call --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if args and not kwargs and type(args[0]) is Array:
                entry = self._fast.get(tuple([a._spec if type(a) is Array else None for a in args]))
                if entry is not None and entry.guards_hold():
                    try:
                        return entry.run_arrays(args)
                    except HOST_ERRORS:
                        return on_host(self.fun, args, kwargs)
                    except (RuntimeError, ValueError) as error:
                        if GONE not in str(error):
                            raise  # the general path says which Array has been deleted
            return self._general(args, kwargs)
        except LoopsError as error:
            return self._without_compiler(error, args, kwargs)
        except Exception as error:
            trim_traceback(error)
            raise

    def _without_compiler(self, error: LoopsError, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call for which loops could not be compiled, by programs that have none. Nothing has run: what a call needs
        is compiled before, some of it when a call first needs it.
        """
        from ...tpu.compiler import give_up

        give_up(error)
        with self._lock:
            self.forget_programs()
        return self._general(args, kwargs)

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Any call: by the entry that serves it, if there is one."""
        given = args, kwargs
        if strict.is_asked() and self._is_numpys(given):
            return self._strictly(given)
        if self.options.static:
            args, kwargs = self.options.make_static(self.fun, args, kwargs)
        try:
            read = self._as_read(args, kwargs)
            key, leaves = open_arguments(*read)
            entries = self._entries.get(key, ())
        except TypeError as error:
            return self._unreadable(error, given, args, kwargs)
        except RecursionError:
            return self._fallback.run_unread("an argument holds itself, or lies thousands of containers deep", *given)
        if are_wide(leaves):
            return on_host(self.fun, *given)
        for entry in entries:
            if entry.matches(leaves):
                return self._run(entry, leaves, given)
        return self._unserved(Call(given, args, kwargs, read, key, leaves))

    def _is_numpys(self, given: tuple[Any, Any]) -> bool:
        """Whether NumPy's settings of floating-point errors, or those for debugging, ask CPython to make the call."""
        return bool(strict.DEBUGGED) or not any(type(x) is Array for x in leaves_of(given))

    def _strictly(self, given: tuple[Any, Any]) -> Any:
        if not strict.DEBUGGED:
            return self._fallback.run(strict.reason(), *given)
        with strict.debugging():
            return on_host(self.fun, *given)

    def _unserved(self, call: Call) -> Any:
        """A call that no entry serves: by CPython where that was decided before or pays, else translated."""
        if call.key in self._refused:
            return call.on_host(self.fun)
        objects = self._objects(call.args, call.kwargs)
        if objects:
            return self._with_objects(objects, call)
        driver = self._latest(self._cut.get(call.key))
        if driver is not None:
            return call.on_host(driver.of_size(call.size).fun)
        if self.target == "cpu" and not self._ledger.allows(call.size):
            return self._untranslated(call)
        try:
            entry = self._ledger.translate(call.size, lambda: self._specialise(call.key, call.leaves, *call.read))
        except TargetError as error:
            raise self._placed(error) from error.__cause__
        except (CutError, AliasError) as error:
            return self._in_pieces(error, call)
        except Exception as error:
            return self._as_is(call.key, error, call.given)
        return self._run(entry, call.leaves, call.given)

    def _with_objects(self, objects: dict[int | str, Any], call: Call) -> Any:
        """Run the function that has these arguments, objects of the user's classes, bound."""
        rest = [x for i, x in enumerate(call.args) if i not in objects]
        return self._holding(objects)(*rest, **{k: x for k, x in call.kwargs.items() if k not in objects})

    def _untranslated(self, call: Call) -> Any:
        """Let CPython run a call for which a translation would not pay, in the pieces that others were cut into."""
        self._history.is_often_new()
        driver = self._latest(next(reversed(tuple(self._cut.values())), None))
        fun = driver.of_size(call.size).fun if driver else self.fun
        return self._ledger.run(call.size, on_host, (fun, *call.given, call.leaves), {})

    def _in_pieces(self, error: CutError | AliasError, call: Call) -> Any:
        """Let CPython run the call, with the regions around the place that `error` names compiled."""
        if self._cuttable() is None or (isinstance(error, AliasError) and error.place is None):
            return self._as_is(call.key, error, call.given)
        driver = self.driver(error)
        self._cut[call.key] = error.place
        return call.on_host(driver.of_size(call.size).fun)

    def _as_read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as the reader sees them. Long lists of numbers stay opaque, except in transformations, which
        CPython cannot run.
        """
        if hasattr(self.fun, "__untraced_read__"):
            return args, kwargs
        return tuple([unopened(x) for x in args]), {k: unopened(x) for k, x in kwargs.items()} if kwargs else kwargs

    def _run(self, entry: Entry, leaves: list[Any], given: tuple[Any, Any], again: bool = False) -> Any:
        """The result of a call; what the function changed in the caller's containers is stored there. `again`: a signal
        has ended the call before.
        """
        changes, returned = entry.translation.changes, entry.translation.returned
        if changes and entry.changes_one_of_two(self.fun, given):
            return on_host(self.fun, *given)
        try:
            if alarm_is_set() and not again and self._is_numpys(given):
                with hearing_alarms():
                    result = self._ran(entry, leaves, given, HOST_ERRORS)
            else:
                result = self._ran(entry, leaves, given, HOST_ERRORS)
        except HOST_ERRORS as error:  # nothing has been written yet, where it is not a handler of a signal that raises
            if has_written(error):
                raise
            return on_host(self.fun, *given)
        except Exception as error:
            if was_interrupted(error):  # and Python's handler of the signal has raised nothing: the call goes on
                return self._run(entry, leaves, given, again=True)
            if not is_of_the_run(error):
                raise
            return self._last_word(error, given)
        return entry.handed_back(self.fun, leaves, given, result) if changes or returned else result

    def _ran(
        self, entry: Entry, leaves: list[Any], given: tuple[Any, Any], repeats: tuple[type[Exception], ...] = ()
    ) -> Any:
        """The result of one run. After an exception listed in `repeats` CPython makes the call again."""
        hosted = entry.hosted or are_hosted(leaves)
        if hosted:
            leaves = [without_methods(x) for x in leaves]
        if entry.streams or entry.draws:
            with self._drawing(entry, given, repeats):
                result = entry.run(leaves)
        else:
            result = entry.run(leaves)
        return lifted(result) if hosted else result

    def _drawing(
        self, entry: Entry, given: tuple[Any, Any], repeats: tuple[type[Exception], ...] = ()
    ) -> AbstractContextManager[None]:
        """What a run of an entry that draws random numbers is made in."""
        if entry.streams:
            from ...translator.reading.facts.streams import streaming

            return streaming(entry.streams, self.fun, *given)
        from ...translator.reading.provided.draws import drawing

        return drawing(self.fun, *given, repeats)

    def _as_is(self, key: Key, error: Exception, given: tuple[Any, Any]) -> Any:
        """Run under CPython a call that was refused with `error`; raises the error unless `fallback` allows that."""
        from ...translator.reading.paths.raising import CERTAIN

        if hasattr(error, CERTAIN):
            return on_host(self.fun, *given)
        if self.options.fallback != "numpy":
            result = self._last_word(error, given)
            self._refused.add(key)
            self._history.refuse(str(error))
            return result
        self._refused.add(key)
        self._history.refuse(str(error))
        return self._fallback.run(error, *given)

    def _last_word(self, error: Exception, given: tuple[Any, Any]) -> Any:
        """Let CPython make a call in which NumPy, as it seems, would raise `error`: its exception, or its result.

        Where `error` has the type of NumPy's exception it is raised instead, with NumPy's words added, since it shows
        the place. An `error` that refuses a construct is raised as it is.
        """
        if not self._asks_numpy(error, given):
            raise self._placed(error) from None
        try:
            return self._fallback.run(error, *given)
        except Exception as theirs:
            placed = isinstance(error, UntracedError) or place_told(error) is not None
            if not (placed and isinstance(error, type(theirs))) and not is_of_arrays(theirs):
                if isinstance(error, UntracedError) and came_by(theirs, error.diagnostic.span):
                    tell_place(theirs, error.diagnostic.span)
                raise
            error = in_words_of(theirs, error)
        raise self._placed(error)

    def _placed(self, error: Exception) -> Exception:
        """The error; one that names no place names the function."""
        if isinstance(error, UntracedError):
            error.name_place(place_of(self.fun))
        elif isinstance(error, TypeError | ValueError):
            tell_place(error, place_of(self.fun), own_words=True)
        return error

    def _asks_numpy(self, error: Exception, given: tuple[Any, Any]) -> bool:
        """Whether CPython can run the call: the user's own function, with NumPy arguments as they were."""
        if has_written(error) or (isinstance(error, UntracedError) and error.refuses):
            return False
        if self.options.donate_argnums or not isinstance(self.fun, types.FunctionType):
            return False
        return not hasattr(self.fun, "__untraced_read__") and not any(type(x) is Array for x in leaves_of(given))

    def _cuttable(self) -> types.FunctionType | None:
        """The function, or that with which a rule of the user's goes, where it has source."""
        fun: Any = self.fun
        while not isinstance(fun, types.FunctionType) and fun is not None:
            fun = getattr(fun, "__untraced_original__", None)
        return fun

    def driver(self, error: CutError | AliasError) -> Driver:
        """The function cut where `error` says."""
        function = self._cuttable()
        if function is None:
            raise error
        with self._lock:
            if error.place not in self._drivers:
                self._drivers[error.place] = above.cut(function, error, self.options.without_arguments())
                self._history.cut(str(error))
            found = self._drivers[error.place] = self._drivers[error.place].latest()
            return found

    def _latest(self, place: Any) -> Driver | None:
        """The driver of a cut; None where it is not made, or forgotten."""
        found = self._drivers.get(place)
        if found is None or found.grown is None:
            return found
        with self._lock:
            latest = self._drivers[place] = self._drivers.get(place, found).latest()
            return latest

    def _unreadable(
        self, error: TypeError, given: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call with arguments of an unknown kind, or with another library's arrays on a GPU."""
        if isinstance(error, OnGpu):
            return self(*adopted(given[0]), **adopted(given[1]))
        try:
            bind_arguments(self.fun, args, kwargs)  # says what is wrong with them
        except Exception as explained:
            if self.options.fallback != "numpy":
                raise
            return self._fallback.run(explained, *given)
        raise error

    @uncollected()
    def _specialise(self, key: Key, leaves: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry:
        from .entries import EitherEntry, TargetEntry, make_entry  # imports the translator

        with self._lock:
            entries = self._entries.setdefault(key, [])
            for entry in entries:
                if entry.matches(leaves):
                    return entry
            binding = bind_arguments(self.fun, args, kwargs)
            stale = [e for e in entries if not e.guards_hold()]
            with self._numbers.read_at_calls(stale):
                entry = make_entry(self, binding, leaves)
            self._history.add(entry.binding.signature, entry.translation, leaves, stale, tuple(kwargs))
            entries[:] = [entry, *(e for e in entries if e.guards_hold())]
            short = entry.holds(leaves) if isinstance(entry, TargetEntry) else type(entry) is EitherEntry
            if type(self).shortened and (stale or type(self).shortened >= _SHORTENED):
                self.__class__ = Accelerated
            if short and not kwargs:
                self.__class__ = self._shorter(entry, args, leaves) or type(self)
            return entry

    def _shorter(self, entry: Entry, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """The subclass whose calls with arguments of this kind go straight to the entry, if there is one."""
        from .entries import EitherEntry, TargetEntry

        arrays = [type(a) is Array for a in args]
        if isinstance(entry, EitherEntry) and not any(arrays):
            from .numpycall import of_numpy

            kinds = [p.kind for p in signature_of(self.fun).parameters.values()]
            if inspect.Parameter.VAR_POSITIONAL in kinds:  # the program takes `*args` as one tuple
                return None
            return of_numpy(type(self), entry, args)
        served = entry.compiled if isinstance(entry, EitherEntry) else entry
        assert isinstance(served, TargetEntry)
        if not served.holds(leaves):
            return None
        if all(arrays) and served.direct and served.places == list(range(len(args))):
            self._fast[tuple([a._spec for a in args])] = served
        made = of_loops(type(self), served, args, leaves)
        handed = served.translation.returned and not (any(arrays) and _are_unchanging(args))
        if made is None and served.direct and not handed:
            made = specialised(type(self), served, args)
        return made

    def _objects(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[int | str, Any]:
        """The arguments, by position or name, that are objects of the user's classes.

        What they hold is read as if it were found outside the function, so each object has a program of its own. Where
        those would be too many the result is empty, and CPython does what is done with the objects.
        """
        places: Iterable[tuple[int | str, Any]] = (*enumerate(args), *kwargs.items())
        found = {place: x for place, x in places if is_users_object(x)}
        if not found or self._held(found) is not None:
            return found
        if self._holders >= _HOLDERS or not _are_named(signature_of(self.fun), found):
            return {}  # what goes into *args or **kwargs stands in a container
        return found

    def _held(self, objects: dict[Any, Any]) -> Accelerated | None:
        """The function with these arguments bound, if there is one already."""
        first, *others = objects.values()
        methods = methods_of(first)
        kept = self._methods if methods is None else methods.get(self, {})
        found = kept.get((*objects, *map(id, others)))
        return found if found is not None and found.fun.__globals__[HELD][0] is first else None

    def _holding(self, objects: dict[Any, Any]) -> Accelerated:
        """The function with these arguments bound."""
        found = self._held(objects)
        if found is None:
            self._holders += 1
            first, *others = objects.values()
            methods = keep_methods(first)
            found = accelerated(holding(self.fun, objects), self.options.without(self.fun, objects))
            found._ledger = found._ledger_of_objects = self._ledger_of_objects
            kept = self._methods if methods is None else methods.setdefault(self, {})
            kept[(*objects, *map(id, others))] = found
        return found

    # ---- what else can be done with it -----------------------------------------------------------

    @property
    def __untraced_function__(self) -> Fun:
        """The function that the reader reads where another function calls this one."""
        return self.fun

    def __untraced_read__(self, signature: Signature) -> Reading:
        """Inside another function it is read like plain code of that function."""
        from ...translator.reading.reader import read

        return read(self.fun, signature)

    def inspect(self, *args: Any, compile: bool = True, **kwargs: Any) -> Inspection:
        """Translate and compile for these arguments (or ShapeDtypeStructs in their place) without running.

        `compile=False` stops at the backend's input text. See `Inspection` for what the result holds.
        """
        from ..inspection.inspection import inspect_call
        from .shapes import abstracted

        args, kwargs = abstracted((adopted(args), adopted(kwargs)))
        try:
            if self.options.static:
                args, kwargs = self.options.make_static(self.fun, args, kwargs)
            return inspect_call(self, bind_arguments(self.fun, *self._as_read(args, kwargs)), compile)
        except Exception as error:
            trim_traceback(error)
            raise

    def source(self, *args: Any, **kwargs: Any) -> str:
        """The generated NumPy source for these arguments."""
        return self.inspect(*args, compile=False, **kwargs).source

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Translate for these arguments, or ShapeDtypeStructs in their place, without compiling or running, as JAX's
        `jit(f).lower(...)`; its `compile()` gives a function of arguments of these types.
        """
        from ..inspection.lowering import Lowered

        return Lowered(self, (args, kwargs))

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """As JAX's `jit(f).trace(...)`: what `lower` takes, before it is translated."""
        from ..inspection.lowering import Traced

        return Traced(self, (args, kwargs))

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The result for these arguments with a ShapeDtypeStruct for each array or number, as of `eval_shape`."""
        from .shapes import eval_shape

        return eval_shape(self, *args, **kwargs)

    def explain_recompiles(self) -> str:
        """Say, for each translation, why the programs before it did not apply, and what would avoid it."""
        return self._history.explain()

    def clear_cache(self) -> None:
        """Forget all compiled programs."""
        with self._lock:
            self.forget_programs()
            self._refused.clear()
            self._cut.clear()
            self._drivers.clear()

    def forget_programs(self) -> None:
        """Drop the compiled programs; the next call compiles anew."""
        self._entries = {}
        self._fast = {}
        if type(self).shortened:
            self.__class__ = Accelerated

    def replaced(self, fun: Fun) -> Accelerated:
        """Another function accelerated with the same options, except those that name arguments."""
        return accelerated(fun, self.options.without_arguments())

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        method = self._holding({0: instance})
        if not hasattr(method, "__self__"):  # not at other calls: they keep nothing of functions that come and go
            bind(method, self, instance)
        return method

    def __reduce__(self) -> Any:
        """Pickle by name, if that leads to this object (a decorated function, a bound method); else the function and
        options.
        """
        return by_name(self) or (accelerated, (self.fun, self.options))

    def __repr__(self) -> str:
        return f"<accelerated {named(self.fun)} for {self.options.target}>"


def _are_named(signature: inspect.Signature, places: Iterable[int | str]) -> bool:
    """Whether each of these arguments, by position or name, has a parameter of its own; `self` may stand in *args."""
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    ordered = [k for k in kinds.values() if k in (_KIND.POSITIONAL_ONLY, _KIND.POSITIONAL_OR_KEYWORD)]
    by_name = (_KIND.POSITIONAL_OR_KEYWORD, _KIND.KEYWORD_ONLY)
    return all(p < max(len(ordered), 1) if isinstance(p, int) else kinds.get(p) in by_name for p in places)


_KIND = inspect.Parameter


def _are_unchanging(values: Sequence[Any]) -> bool:
    """Whether nobody can tell these values, where they are handed back, from others that are equal."""
    return all(_are_unchanging(x) if type(x) is tuple else type(x) in _UNCHANGING for x in values)


_UNCHANGING = frozenset({Array, int, float, complex, bool, str, slice, type, type(None)})


def accelerated(fun: Fun, options: Options) -> Accelerated:
    return (Checked if options.check_grads else Accelerated)(fun, options)


class Checked(Accelerated):
    """An accelerated function whose derivatives are checked at some of its calls; calls take no short path."""

    def __init__(self, fun: Fun, options: Options) -> None:
        super().__init__(fun, options)
        self._sampler = above.sampler(fun)

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._sampler.check(args, kwargs)
        return super()._general(args, kwargs)

    def _shorter(self, entry: Entry, args: tuple[Any, ...], leaves: Sequence[Any]) -> Any:
        """Every call must pass `_general`, so that it can be checked."""
        return None
