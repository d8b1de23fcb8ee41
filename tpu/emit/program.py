"""A program as StableHLO text, for XLA on CPUs and TPUs.

    emit(function).text:
        module @f {
          func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
            %t = stablehlo.tanh %x : tensor<4xf64>
            return %t : tensor<4xf64>
          }
        }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, assert_never

from ...translator import make, ops
from ...translator.bounds import divides_python_numbers, is_python_int, is_python_power, refuses_negative
from ...translator.builder import Builder
from ...translator.checked import Checked
from ...translator.errors import NOWHERE, Diagnostic, OtherClassError, RaisedError, Span, UnsupportedError, errors_at
from ...translator.fits import decided, exact_dtypes
from ...translator.ir import (
    Apply,
    Atom,
    Aval,
    Block,
    Const,
    DType,
    For,
    Function,
    Fused,
    If,
    Invoke,
    Raise,
    Shape,
    Statement,
    Var,
    While,
    walk,
)
from ...translator.ops.core import (
    ArgReduce,
    ArgReduceAttrs,
    At,
    AxesAttrs,
    Cast,
    Collective,
    Concatenate,
    ConcatenateAttrs,
    Contract,
    ContractAttrs,
    Create,
    CreateAttrs,
    Cumulative,
    CumulativeAttrs,
    Draw,
    Dyn,
    Elementwise,
    Fourier,
    FourierAttrs,
    Gather,
    Index,
    IndexAttrs,
    Linalg,
    Put,
    Reduce,
    ReduceAttrs,
    Reshape,
    Ruled,
    Sort,
    SortAttrs,
    Tape,
    indexed_shape,
    is_draw,
)
from ...translator.records import dataclass
from ...translator.routines import left_to_cpython
from ...translator.settings import switch
from ...translator.thrown import OTHER_CLASS
from ..client import host_calls
from ..loops.interrupts import listening
from ..shaping.apart import set_apart
from ..shaping.sharing import shared_values
from ..shaping.summands import with_own_summands
from . import hyperbolic, transcendentals
from .across import across
from .checks import SHIFT, Check
from .complex import by_parts, constant_power, magnitude, with_signs
from .control import emit_for, emit_if, emit_while
from .cumulative import cumulative
from .elementwise import (
    COMPARISONS,
    extreme,
    integer_power,
    is_bound,
    is_positive_zero,
    plus_zero,
    power_by_constant,
    power_by_numpy,
    rule_for,
)
from .extremes import unmissed
from .guarded import emit_fused, emit_guarded
from .index import Store, index, put
from .join import joined
from .linalg import linalg
from .moved import moved
from .places import normalisers
from .python import (
    check_divisor,
    check_function,
    check_growth,
    check_int,
    check_negative,
    check_power,
    check_range,
)
from .quotients import corrected_quotients, is_kept_as_quotient, quotient_by_few
from .reduce import arg_reduce, contract, reduce
from .rounding import AsWritten, as_written, hidden
from .scatter import scattered
from .sort import argsort, fourier, sort
from .writer import BOOL, F32, Value, Writer, cast_constant, is_float, tensor_type

if TYPE_CHECKING:
    from ...kernels.loops.native import NativeLoop


@dataclass(frozen=True, slots=True)
class Emitted:
    """A module whose `@main` takes the leaves of the function's parameters in order and returns its results in order.

    Where `checks` is not empty the last result is the flag (int64, see `checks.py`). `donated` are positions of
    arguments whose buffers the program may reuse. Arguments at the positions in `shifts` are flat, with as many
    elements in front that do not count (see `shifted.py`). For each of the results at the positions `given` the caller
    brings the memory, as one more argument behind the others (see `memory.py`). The program calls the `natives`. It is
    for as many devices in step as there are `replicas`; None where it is for one alone. `spans` has the statement that
    each line of the text behind the first two comes of, `form` the program as the text says it, its loops native or
    not; None of what is no program.
    """

    name: str
    text: str
    args: tuple[Aval, ...]
    results: tuple[Aval, ...]
    checks: tuple[Check, ...] = ()
    donated: tuple[int, ...] = ()
    shifts: Mapping[int, int] = field(default_factory=dict)
    given: tuple[int, ...] = ()
    natives: tuple[NativeLoop, ...] = ()
    replicas: int | None = None
    spans: tuple[Span, ...] = ()
    form: Function | None = None


def emit(
    function: Function,
    *,
    donate: Sequence[int] = (),
    target: Literal["cpu", "tpu"] = "cpu",
    checks: bool = True,
    shifts: Mapping[int, int] | None = None,
    given: Sequence[int] = (),
    replicas: int | None = None,
) -> Emitted:
    """The StableHLO of a program, fused or not.

    `donate`: positions of parameters whose buffers may be reused. `target`: TPUs are asked for products in full float32
    and scan in windows, CPUs scan in loops. Without `checks` no index is checked: one that is out of range reads or
    writes another element or none; what the program itself raises is raised all the same. `replicas` devices in step
    make the axis that collectives speak over. Raises DTypeError for dtypes that XLA lacks, UnsupportedError for
    operations without a StableHLO form.
    """
    function = _formed(function, checks, target)
    shifts = shifts or {}
    emitter = Emitter(Checked(function, checks), target, shared_values(function), replicas)
    if target == "cpu":
        emitter.as_written, emitter.unmissed = as_written(function), unmissed(function)
        emitter.corrected, emitter.moved = corrected_quotients(function), moved(function)
    w = emitter.writer
    params = _bound_parameters(emitter, function, shifts, donate)
    emitter.block(function.body)
    results = [emitter.value(r) for r in function.body.results]
    avals = tuple(r.aval for r in function.body.results)
    for k in given:
        memory = tensor_type(avals[k].shape, avals[k].dtype)
        params.append(f"{w.fresh('memory')}: {memory} {{tf.aliasing_output = {k} : i32}}")
    if emitter.checks:
        results.append(emitter.flag_value())
    types = [tensor_type(r.shape, r.dtype) for r in results]
    w.line(f"return {', '.join(r.name for r in results)} : {', '.join(types)}" if results else "return")
    head = f"  func.func public @main({', '.join(params)}) -> ({', '.join(types)}) {{"
    name = function.name if function.name.isidentifier() and function.name.isascii() else "program"
    attributes = "" if replicas is None else f" attributes {{mhlo.num_replicas = {replicas} : i32}}"
    lines, spans = w.lines, w.spans
    if target == "cpu":
        lines, spans = with_own_summands(*set_apart(lines, spans))
    text = "\n".join([f"module @{name}{attributes} {{", head, *lines, "  }", "}", ""])
    args = tuple(_with_front(p.aval, shifts.get(k, 0)) for k, p in enumerate(function.body.params))
    args += tuple(avals[k] for k in given)
    checks_made, donated = tuple(emitter.checks), tuple(sorted(donate))
    natives = tuple(emitter.natives)
    known = checks_made, donated, shifts, tuple(given), natives, replicas, tuple(spans), function
    return Emitted(function.name, text, args, avals, *known)


def _formed(function: Function, checks: bool, target: Literal["cpu", "tpu"]) -> Function:
    """The program as it is emitted: its loops in forms that suit the target, pads of one value that is added to several
    pieces of an array as one."""
    if any(isinstance(s, For | While) or is_draw(s) for s in walk(function.body)):
        from ..loops.forms import in_form

        function = in_form(function, checks, target)
    if target == "cpu" and any(isinstance(s, Apply) and s.op is ops.PUT_ADD for s in walk(function.body)):
        from ..shaping.shared_pads import with_shared_pads

        function = with_shared_pads(function)
    return function


def _bound_parameters(
    emitter: Emitter, function: Function, shifts: Mapping[int, int], donate: Sequence[int]
) -> list[str]:
    """The declarations of the program's parameters, which the emitter knows from now on."""
    w, declared = emitter.writer, []
    for k, p in enumerate(function.body.params):
        aval = _with_front(p.aval, shifts.get(k, 0))
        value = Value(w.fresh(p.hint), aval.shape, aval.dtype)
        argument = w.without_front(value, shifts[k], p.aval.shape) if k in shifts else value
        emitter.bind(p, argument)
        w.arguments.add(argument.name)
        donor = " {jax.buffer_donor = true}" if k in donate else ""
        declared.append(f"{value.name}: {tensor_type(aval.shape, aval.dtype)}{donor}")
    return declared


def _with_front(aval: Aval, shift: int) -> Aval:
    return Aval((aval.size + shift,), aval.dtype) if shift else aval


class Emitter:
    """Writes the statements of one program, and knows the StableHLO value of each variable."""

    def __init__(
        self, checked: Checked, target: Literal["cpu", "tpu"], shared: frozenset[Var], replicas: int | None = None
    ) -> None:
        self.writer = Writer()
        self.writer.host = target == "cpu" and host_calls.AVAILABLE
        self.writer.loses_nan = target == "cpu"
        self.target = target
        self.replicas = replicas
        self.checked = checked
        self.checks: list[Check] = []
        self.natives: list[NativeLoop] = []
        self.flag: Value | None = None
        self.begun: Value | None = None  # the count of SIGINTs when the enclosing loop began to listen (`interrupts`)
        self.quiet = False
        self.values: dict[Var, Value] = {}
        self.bounded: bool | None = None  # in a group that `emit/guarded` writes: whether sines' arguments are small
        self._shared = shared
        self.as_written = AsWritten()
        self.corrected: frozenset[Var] = frozenset()  # quotients by `quotients.quotient_by_few`
        self.moved: frozenset[Var] = frozenset()  # transposes that are native code
        self.unmissed: frozenset[Var] = frozenset()  # extremes that need no check for NaN (`extremes`)
        self.spliced: list[Block] = []  # blocks of rules, kept alive because `checked` knows blocks by their ids
        self._fills: dict[Var, Any] = {}
        self._origins: dict[Var, tuple[Atom, ...]] = {}

    def bind(self, var: Var, value: Value) -> None:
        self.values[var] = value

    def value(self, atom: Atom) -> Value:
        if isinstance(atom, Var):
            return self.values[atom]
        return self.writer.constant(atom.value, atom.aval.shape, atom.aval.dtype)

    def result(self, atom: Atom, target: Var) -> Value:
        """A value that leaves a block, in the type that it is bound to outside."""
        w = self.writer
        return w.broadcast(w.convert(self.value(atom), target.aval.dtype), target.aval.shape)

    def flag_value(self) -> Value:
        return self.writer.integer(0) if self.flag is None else self.flag

    def block(self, block: Block) -> None:
        outer = self.writer.span
        for s in block.statements:
            self.writer.span = outer if s.span is NOWHERE else s.span
            with errors_at(s.span):
                self.statement(s)
        self.writer.span = outer

    def statement(self, s: Statement) -> None:
        match s:
            case Apply():
                self._origins[s.targets[0]] = () if isinstance(s.op, Put) else s.args
                alone = Block((), (s,), s.targets)
                if not (isinstance(s.op, Elementwise) and emit_guarded(self, alone, s.targets)):
                    result = self.apply(s)
                    known = s.targets[0] not in self.as_written.values
                    self.bind(s.targets[0], result if known else self.writer.op("optimization_barrier", result))
            case If():
                emit_if(self, s)
            case For():
                with listening(self, s):
                    emit_for(self, s)
            case While():
                with listening(self, s):
                    emit_while(self, s)
            case Fused(kind="loops"):
                from ..loops.native import emit_native

                emit_native(self, s)
            case Fused():
                emit_fused(self, s)
            case Invoke():
                raise left_to_cpython(s)
            case Raise():
                what = f"{s.error.error.__name__}, which CPython was to raise"
                raised = OtherClassError if s.error == OTHER_CLASS else RaisedError
                self.fail_where(self.value(s.condition), self.writer.integer(0), raised, what, s)
            case _:
                assert_never(s)

    # ---- operations -----------------------------------------------------------------------------

    def apply(self, s: Apply) -> Value:
        w, out, args, attrs = self.writer, s.targets[0].aval, s.args, s.attrs
        for operand, dtype in self.checked.too_large(s) if self.checked.enabled else ():
            check_range(self, s, operand, dtype)
        match s.op:
            case Elementwise():
                return self.elementwise(s, s.op)
            case Cast():
                if self.checked.enabled and is_python_int(s):
                    check_int(self, s)
                return w.convert(self.value(args[0]), out.dtype)
            case Reduce(name=name):
                assert isinstance(attrs, ReduceAttrs)
                return reduce(w, name, self.rounded(s, 0), attrs, out.dtype, s.targets[0] not in self.unmissed)
            case ArgReduce(name=name):
                assert isinstance(attrs, ArgReduceAttrs)
                return arg_reduce(w, name, self.value(args[0]), attrs)
            case Cumulative(name=name):
                assert isinstance(attrs, CumulativeAttrs)
                return cumulative(w, name, self.value(args[0]), attrs.axis, out.dtype, self.target == "cpu")
            case Sort(name=name):
                assert isinstance(attrs, SortAttrs)
                return (sort if name == "sort" else argsort)(w, self.value(args[0]), attrs, self.target)
            case Fourier(name=name):
                assert isinstance(attrs, FourierAttrs)
                return fourier(w, name, self.value(args[0]), attrs, out.shape, out.dtype)
            case Linalg():
                return linalg(self, s)
            case Contract():
                assert isinstance(attrs, ContractAttrs)
                made = self._small_products(s) if self.target == "cpu" else None
                return made or contract(w, self.rounded(s, 0), self.rounded(s, 1), attrs, out.dtype, self.target)
            case Reshape(name=name):
                return self.reshape(name, self.value(args[0]), s)
            case Concatenate():
                assert isinstance(attrs, ConcatenateAttrs)
                pieces = [w.convert(self.value(a), out.dtype) for a in args]
                return joined(w, pieces, attrs.axis, self.target == "cpu")
            case Create(name=name):
                assert isinstance(attrs, CreateAttrs)
                return self.create(name, s, attrs)
            case Index():
                assert isinstance(attrs, IndexAttrs)
                if 0 in args[0].aval.shape and out.size:
                    self._fail_of_nothing(s, attrs)
                    return w.constant(0, out.shape, out.dtype)
                return index(w, self.value(args[0]), attrs, out.shape, *normalisers(self, s, 0))
            case Put(name=name):
                return self.put(name, s)
            case Collective():
                return across(self, s, s.op)
            case Draw():
                assert s.op.result is not None, "draws are native"
                first = index(w, self.value(args[0]), IndexAttrs((At(0),)), (), *normalisers(self, s, 0))
                return w.op("bitcast_convert", first, dtype=s.op.result.dtype)
            case Tape():
                raise AssertionError("programs for XLA keep windows")
            case Ruled():
                return w.op("optimization_barrier", self.value(args[0]))
            case _:
                assert_never(s.op)

    def _small_products(self, s: Apply) -> Value | None:
        from ..loops.native import emit_products

        return emit_products(self, s)

    def elementwise(self, s: Apply, op: Elementwise) -> Value:
        if not self.checked.statement(s):
            return self._computed(s, op)
        if divides_python_numbers(s):
            check_divisor(self, s)
        if refuses_negative(s):
            check_negative(self, s)
        result = self._computed(s, op)
        if self.checked.outgrows(s):
            check_growth(self, s, result)
        if op.plain is not None:
            check_function(self, s, result)
        if is_python_power(s):
            check_power(self, s, result)
        return result

    def _computed(self, s: Apply, op: Elementwise) -> Value:
        w, out = self.writer, s.targets[0].aval
        avals = [a.aval for a in s.args]
        dtypes, loop_result = exact_dtypes(op, avals, s.args), op.loop_dtypes(avals)[1]
        answer = decided(op, s.args, dtypes)
        if answer is not None:
            return w.constant(answer, out.shape, BOOL)
        if op.name in ("power", "float_power"):
            known = self._constant_power(op.name, s.args, dtypes, out.shape)
            if known is not None:
                return known
            if loop_result.kind in "iu" and not self.checked.interval(s.args[1]).within(0, 63):
                return w.convert(integer_power(w, *(self.spread(a, loop_result, out.shape) for a in s.args)), out.dtype)
        if w.host and set(dtypes) == {loop_result} and host_calls.computes(op.name, loop_result, out.size):
            given = [w.convert(self.value(a), d) for a, d in zip(s.args, dtypes, strict=True)]
            if op.name == "power":
                return w.convert(power_by_numpy(w, s.args, given, out.shape), out.dtype)
            return w.convert(host_calls.call(w, op.name, given, out.shape, loop_result), out.dtype)
        expanded = self._expansion(op.name, loop_result, out.size)
        if expanded is not None:
            result = w.convert(expanded(w, self.spread(s.args[0], dtypes[0], out.shape)), out.dtype)
            return w.op("optimization_barrier", result) if s.targets[0] in self._shared else result
        rule = rule_for(op.name, op.primitive("stablehlo", avals), loop_result)
        if loop_result.kind == "c":
            rule = by_parts(op.name) or (rule and with_signs(op.name, rule))
        elif op.name == "absolute" and dtypes[0].kind == "c":
            rule = magnitude
        elif op.name in ("maximum", "minimum"):
            rule = extreme(op.name, loop_result, s.args[1]) or rule
        if rule is None:
            return self.decomposed(s, op, dtypes)
        values = self._operands(s, dtypes)
        if is_bound(op.name, s.args, dtypes):
            result = rule(w, *values)
            w.bounded[result.name] = COMPARISONS[op.name], values[0], self.spread(s.args[1], dtypes[1], ())
            return result
        if op.name == "divide" and self.target == "cpu" and is_kept_as_quotient(s.args[1], out.dtype):
            if s.targets[0] in self.corrected:
                by = s.args[1]
                divisor = out.dtype.type(by.value) if isinstance(by, Const) else w.convert(self.values[by], out.dtype)
                return quotient_by_few(w, values[0], divisor)
            values[1] = w.op("optimization_barrier", values[1])
        if op.name == "add" and loop_result.kind in "fc":
            for a, other in zip(s.args, reversed(values), strict=True):
                if is_positive_zero(a):
                    return w.convert(plus_zero(w, other), out.dtype)
        return w.convert(rule(w, *values), out.dtype)

    def _operands(self, s: Apply, dtypes: Sequence[DType]) -> list[Value]:
        """The operands in the dtypes and shape that the operation computes in, hidden as `as_written` says."""
        w, (target,) = self.writer, s.targets
        values = [self.spread(a, d, target.aval.shape) for a, d in zip(s.args, dtypes, strict=True)]
        for k, a in enumerate(s.args):
            if (target, k) in self.as_written.rounded:
                values[k] = hidden(w, values[k])
            if target in self.as_written.constants and isinstance(a, Const):
                values[k] = w.op("optimization_barrier", values[k])
        return values

    def _expansion(self, name: str, dtype: DType, size: int) -> transcendentals.Rule | None:
        """The value by vectorised arithmetic, instead of a call of the C library for each element."""
        if self.target != "cpu":
            return None
        if self.bounded and size >= transcendentals.SMALLEST:
            bounded = transcendentals.bounded_rule_for(name, dtype)
            if bounded is not None:
                return bounded
        gradual = transcendentals.gradual_rule_for(name, dtype) if switch("UNTRACED_SUBNORMALS", False) else None
        return gradual or hyperbolic.rule_for(name, dtype) or transcendentals.rule_for(name, dtype, size)

    def rounded(self, s: Apply, place: int) -> Value:
        """An argument, hidden from LLVM where `as_written` says so."""
        x = self.value(s.args[place])
        return hidden(self.writer, x) if (s.targets[0], place) in self.as_written.rounded else x

    def spread(self, atom: Atom, dtype: DType, shape: Shape) -> Value:
        """An argument in the dtype and shape in which the operation computes."""
        w = self.writer
        if isinstance(atom, Const):
            return w.constant(atom.value, shape, dtype)
        return w.broadcast(w.convert(self.values[atom], dtype), shape)

    def decomposed(self, s: Apply, op: Elementwise, dtypes: Sequence[DType]) -> Value:
        """The row's own definition in simpler operations, on arguments of the loop's dtypes.

        What computes in half precision does so in float32 and is rounded once, as in NumPy.
        """
        if op.decompose is None:
            raise UnsupportedError(
                Diagnostic(f"{op.numpy} has no StableHLO form", s.span, "the operation names no primitive of XLA")
            )
        from ...translator.reading.splicing import splice

        b = Builder(s.span)
        wide = [F32 if is_float(d) and d.itemsize == 2 else d for d in dtypes]
        result = splice(b, op.decompose, [make.astype(b, a, d) for a, d in zip(s.args, wide, strict=True)])
        assert isinstance(result, Var | Const)
        self.block(b.block((), (result,)))
        return self.result(result, s.targets[0])

    def _constant_power(self, name: str, args: Sequence[Atom], dtypes: Sequence[DType], shape: Shape) -> Value | None:
        exponent = args[1]
        if not isinstance(exponent, Const) or exponent.aval.shape != () or exponent.aval.dtype.kind == "c":
            return None
        x = self.spread(args[0], dtypes[0], shape)
        if x.dtype.kind == "c":
            return constant_power(self.writer, x, float(exponent.value))
        wide = F32 if is_float(x.dtype) and x.dtype.itemsize == 2 else x.dtype  # products of halves stay unrounded
        rooted = name == "power" and shape != ()
        found = power_by_constant(self.writer, self.writer.convert(x, wide), float(exponent.value), rooted)
        return found and self.writer.convert(found, x.dtype)

    def reshape(self, name: str, x: Value, s: Apply) -> Value:
        w, shape = self.writer, s.targets[0].aval.shape
        if name == "transpose":
            assert isinstance(s.attrs, AxesAttrs)
            if s.targets[0] in self.moved:
                from ..loops.native import emit_transpose

                return emit_transpose(self, x, s.attrs.axes)
            return w.transpose(x, s.attrs.axes)
        return w.broadcast(x, shape) if name == "broadcast_to" else w.reshape(x, shape)

    def create(self, name: str, s: Apply, attrs: CreateAttrs) -> Value:
        w = self.writer
        if name == "iota":
            return w.iota(attrs.shape, attrs.dtype, 0)
        if name == "empty":
            return w.constant(0, attrs.shape, attrs.dtype)
        fill = s.args[0]
        if isinstance(fill, Const):
            if fill.aval.shape == ():
                self._fills[s.targets[0]] = cast_constant(fill.value, attrs.dtype)[()]
            return w.constant(fill.value, attrs.shape, attrs.dtype)
        return w.broadcast(w.convert(self.value(fill), attrs.dtype), attrs.shape)

    def put(self, name: str, s: Apply) -> Value:
        assert isinstance(s.attrs, IndexAttrs)
        x, value = s.args[:2]
        shape = indexed_shape(s.attrs, [a.aval for a in s.args])
        if 0 in x.aval.shape:
            if 0 not in shape:
                self._fail_of_nothing(s, s.attrs)
            return self.value(x)
        done = scattered(self, s, self._fill(value), *normalisers(self, s, 0))
        if done is not None:
            return done
        zero = name == "put_add" and x.aval.dtype.kind in "fc" and is_positive_zero(value)
        store = Store(name == "put_add", self._fill(x), self._reads(value, x), zero)
        return put(
            self.writer, self.value(x), self.value(value), s.attrs, shape, store, *normalisers(self, s, 0)
        )

    def _fill(self, a: Atom) -> Any:
        """The number that every element of an array is; None where that is not known."""
        if isinstance(a, Var):
            return self._fills.get(a)
        return None if a.aval.shape else a.value

    def alias(self, var: Var, atom: Atom) -> None:
        """`var` is another name of `atom`: a parameter or a result of a group that is written in line."""
        self._origins[var] = (atom,)

    def _reads(self, value: Atom, x: Atom) -> bool:
        """Whether a value is computed from elements of x, as they were before the store."""
        todo, seen = [value], {value}
        while todo and len(seen) < 200:
            a = todo.pop()
            if a is x:
                return True
            fresh = [o for o in self._origins.get(a, ()) if o not in seen] if isinstance(a, Var) else []
            seen.update(fresh)
            todo += fresh
        return bool(todo)

    # ---- run-time checks ------------------------------------------------------------------------

    def _fail_of_nothing(self, s: Apply, attrs: IndexAttrs) -> None:
        """The checks of indices into an empty axis, which fail: what is read there, or stored, does not matter."""
        one, several = normalisers(self, s, 0)
        for axis, (d, n) in enumerate(zip(attrs.dims, s.args[0].aval.shape, strict=True)):
            if n == 0 and isinstance(d, At) and isinstance(d.index, Dyn):
                one(d.index.arg, axis, 0, -1)
            elif n == 0 and isinstance(d, Gather):
                several(d.arg, axis, 0)

    def fail_where(
        self, bad: Value, index: Value, error: type[Exception], message: str, s: Apply | For | Raise | None
    ) -> None:
        """Set the flag if `bad` (a bool scalar) is true and no earlier check has failed."""
        w = self.writer
        number = len(self.checks) + 1
        span = s.span if s is not None else Builder().span
        self.checks.append(Check(number, error, message, span))
        code = w.op("or", w.op("shift_left", index, w.integer(SHIFT)), w.integer(number))
        # In this order XLA emits the earlier flag once; with a reduction in `bad`, it would do so twice per check.
        flag, zero = self.flag_value(), w.integer(0)
        self.flag = w.select(w.compare("NE", flag, zero), flag, w.select(bad, code, zero))
