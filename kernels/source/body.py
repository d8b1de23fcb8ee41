"""The lines of a kernel: loads, arithmetic, reductions and stores in one language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import DType
from ...translator.records import dataclass
from ..loops.reductions import RUNNING
from ..rows.divisors import Divisors, is_by_one_number
from ..rows.online import gather, online_of
from ..settling.loose import contracted, loose_values, normal_roots
from .dialects import CUDA, MIXED, TRITON, Cuda, Triton, accumulator, bare, call_expression, carrier
from .layout import INT32, Access, Layout, access_of
from .looks import look
from .maps import Strides, Term
from .values import (
    Call,
    Convert,
    Count,
    Fold,
    Inside,
    Load,
    Look,
    Lowered,
    Number,
    Output,
    Position,
    Scalar,
    Scan,
    Value,
)


@dataclass(frozen=True, slots=True)
class Gathered:
    """A reduction under way: its accumulator's name, type and start, and the operand of this step."""

    value: Value
    name: str
    dtype: DType
    type_name: str
    identity: str
    operand: str
    combine: str


@dataclass(slots=True)
class Pass:
    """One walk along the row: what is known before it, what is done for each element, what is known after it."""

    before: list[str] = field(default_factory=list)
    gathered: list[Gathered] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    scans: bool = False  # something runs along the row: all threads take every step together
    after: list[str] = field(default_factory=list)  # results of what was summed against a running maximum or mean
    gathering: int = 0  # bytes of the accumulators of one element (Triton) or thread


@dataclass(slots=True)
class Pointer:
    """An array parameter: `role` is in, out or partial, `index` its place there."""

    name: str
    role: str
    index: int
    dtype: DType


class Body:
    """Writes the values of a lowered group in `dialect`. Pointers and scalars are collected as they are used."""

    def __init__(
        self,
        lowered: Lowered,
        layout: Layout,
        accesses: dict[int, Access],
        dialect: Triton | Cuda,
        strides: Mapping[int, Strides] | None = None,
    ) -> None:
        self.lowered = lowered
        self.layout = layout
        self.accesses = accesses
        self.strides = strides or {}  # of the arrays that are read or stored into at places given by integers
        self.dialect = dialect
        self.pointers: dict[tuple[str, int], Pointer] = {}
        self.scalars: dict[int, tuple[str, DType]] = {}
        self.counts: dict[str, tuple[Any, DType]] = {}
        self.packed = False  # loads and stores take several neighbouring elements; `neighbour` is one of them (CUDA)
        self.neighbour = "k"
        self.quick = False  # results are rounded to half precision anyway, so faster functions will do
        self.loose = loose_values(lowered)
        self.sums, self.absorbed = contracted(lowered, self.loose)
        self.normal_roots = normal_roots(lowered, self.loose)
        self.counted = self._counted()
        self.alone = False  # each thread walks along a row of its own (CUDA)
        self.carried: dict[int, str] = {}
        self.divisors: Divisors | None = None  # of a row (CUDA)
        self.walks: list[set[int]] = []  # the arrays that each pass reads along the row

    # ---- parameters --------------------------------------------------------------------------------

    def pointer(self, role: str, index: int, hint: str, dtype: DType) -> str:
        key = (role, index)
        if key not in self.pointers:
            self.pointers[key] = Pointer(self.lowered.names.fresh(f"{hint}_ptr"), role, index, dtype)
        return self.pointers[key].name

    # ---- values ------------------------------------------------------------------------------------

    def line(self, v: Value) -> list[str]:
        """The statement that computes a value; nothing for constants."""
        match v.source:
            case Number():
                return []
            case Position() if v in self.counted:
                return []
            case Load():
                return [self.declare(v, self.load(v, v.source))]
            case Look():
                return look(self, v, v.source)
            case Scalar(param=param):
                return self.scalar(v, param)
            case Count(value=value):
                return self.count(v, value)
            case Position(term=term):
                return [self.declare(v, self.position(v, term.axis, term.start, term.step))]
            case Inside(bounds=bounds):
                return [self.declare(v, self.inside(v, bounds))]
            case Convert():
                return [self.declare(v, self.dialect.convert(self.text(v.args[0]), v.args[0].dtype, v.dtype))]
            case Call() if v in self.absorbed:
                return []
            case Call() if (text := self.comparison(v)) is not None:
                return [self.declare(v, text)]
            case Call() if (c := self.sums.get(v)) is not None:
                x, y, z = (self.single(a) for a in (c.x, c.y, c.z))
                fma = "tl.fma" if self.triton else "fmaf"
                return [self.declare(v, f"{fma}({c.signs[0]}{x}, {y}, {c.signs[1]}{z})")]
            case Call() if self.divisors is not None and (quotient := self.divisors.quotient(self, v)):
                return [self.declare(v, quotient)]
            case Call():
                text = call_expression(self.dialect, v, v.source, self.text, self.quick, v in self.loose)
                if v in self.normal_roots:
                    text = text.replace("tl.sqrt(" if self.triton else "quick_sqrt(", "normal_sqrt(")
                if self.triton and (v.along or not self.lowered.axes):
                    text = text.replace("tl.sqrt_rn(", "exact_sqrt(")  # of blocks; of rows it is one number a program
                if self.triton and is_by_one_number(self, v):
                    text = text.replace("tl.div_rn(", "quotient(")
                return [self.declare(v, text)]
            case Fold():
                raise AssertionError("reductions are written by their pass")
            case Scan():
                return self.scan(v, v.source)

    def text(self, v: Value) -> str:
        return self.dialect.literal(v.source.value, v.dtype) if isinstance(v.source, Number) else v.name

    def single(self, v: Value) -> str:
        """A value as float32."""
        number = np.dtype(np.float32)
        if isinstance(v.source, Number):
            return self.dialect.literal(v.source.value, number)
        return self.dialect.convert(self.text(v), v.dtype, number)

    def declare(self, v: Value, expression: str) -> str:
        expression = bare(expression)
        if isinstance(self.dialect, Triton):
            return f"{v.name} = {expression}"
        return f"const {self.dialect.type_name(v.dtype)} {v.name} = {expression};"

    def scalar(self, v: Value, param: int) -> list[str]:
        if param not in self.scalars:
            plain = carrier(v.dtype) == v.dtype
            self.scalars[param] = (v.name if plain else self.lowered.names.fresh(f"{v.name}_value"), v.dtype)
        name, dtype = self.scalars[param]
        if name == v.name:
            return []
        return [self.declare(v, self.dialect.convert(name, carrier(dtype), v.dtype))]

    def count(self, v: Value, value: Any) -> list[str]:
        plain = carrier(v.dtype) == v.dtype
        name = v.name if plain else self.lowered.names.fresh(f"{v.name}_value")
        self.counts.setdefault(name, (value, v.dtype))
        return [] if plain else [self.declare(v, self.dialect.convert(name, carrier(v.dtype), v.dtype))]

    def position(self, v: Value, axis: int, start: int, step: int) -> str:
        variable = self.layout.position(axis) if axis >= 0 else "0"
        wide = np.dtype(np.int64 if self.layout.wide else np.int32)
        names = self.lowered.names
        text = variable if step == 1 else f"{variable} * {self.layout.shared('every', ('step', step), step, names)}"
        if start:
            text = f"{text} + {self.layout.shared('first', ('first', start), start, names)}"
        if variable == "0":
            return self.dialect.literal(start, v.dtype)
        return self.dialect.convert(text, wide, v.dtype)

    def comparison(self, v: Value) -> str | None:
        """A comparison of indices, with each other or with a number, in their own type; None where it is none."""
        name = v.source.op.name if isinstance(v.source, Call) else ""
        if name not in MIXED or not any(isinstance(a.source, Position) for a in v.args):
            return None
        texts = [self.index(a) for a in v.args]
        return None if None in texts else f"{texts[0]} {MIXED[name]} {texts[1]}"

    def index(self, v: Value) -> str | None:
        match v.source:
            case Position(term=Term(axis=axis, start=0, step=1)) if axis >= 0 and v.dtype.kind == "i":
                variable = self.layout.position(axis)
                return variable if variable != "0" else None
            case Number(value=value) if v.dtype.kind == "i" and abs(int(value)) < INT32:
                return str(int(value))
        return None

    def _counted(self) -> set[Value]:
        """The positions that are only compared, and so need no value of their own."""
        seen = {o.value for o in self.lowered.outputs}
        seen.update(self.lowered.place.args if self.lowered.place is not None else ())
        for v in self.lowered.values:
            seen.update(() if self.comparison(v) is not None else v.args)
        return {v for v in self.lowered.values if isinstance(v.source, Position) and v not in seen}

    def load(self, v: Value, source: Load) -> str:
        pointer = self.pointer("in", source.param, v.name, v.dtype)
        access = self.accesses[id(v)]
        if self.packed and self.packs(access):
            return f"{v.name}_pack.at[{self.neighbour}]"
        address = self.layout.address(pointer.removesuffix("_ptr"), source.param, access, self.lowered.names)
        guard = self.text(v.args[0]) if v.args else ""
        if isinstance(self.dialect, Cuda):
            zero = self.dialect.literal(v.dtype.type(0), v.dtype)
            return f"{guard} ? {pointer}[{address}] : {zero}" if guard else f"{pointer}[{address}]"
        mask = self.mask(access)
        if guard:
            address, whole = self.spread(v, address, mask == f", mask={self.whole(v)}"), self.whole(v)
            mask = f", mask={whole} & {guard}, other=0"
        return f"tl.load({pointer}{'' if address == '0' else f' + {address}'}{mask})"

    def whole(self, v: Value) -> str:
        """The mask of the shape that a value may have (Triton)."""
        return "mask" if v.along or not self.lowered.axes else "row_mask"

    def spread(self, v: Value, address: str, is_whole: bool) -> str:
        """An address of that shape, which a mask of that shape asks for (Triton)."""
        if is_whole:
            return address
        zeros = f"tl.zeros_like({self.whole(v)}).to(tl.int32)"
        return zeros if address == "0" else f"{address} + {zeros}"

    def inside(self, v: Value, bounds: Sequence[tuple[int, int, int]]) -> str:
        """The test that the indices are within bounds; a bound that is the end of the axis is not tested."""
        tests = [self.text(a) for a in v.args]
        for axis, first, behind in bounds:
            variable, extent = self.layout.position(axis), self.lowered.domain[axis]
            if behind == first + 1:
                tests.append(f"{variable} == {self.bound(axis, first)}")
                continue
            tests += [f"{variable} >= {self.bound(axis, first)}"] if first else []
            tests += [f"{variable} < {self.bound(axis, behind)}"] if behind < extent else []
        if not self.triton:
            return " && ".join(tests)
        return " & ".join(t if t.isidentifier() else f"({t})" for t in tests)

    def bound(self, axis: int, n: int) -> str:
        """A bound as text: 0 and 1, mostly the width of an edge, as literals; others follow from the extents."""
        return str(n) if n in (0, 1) else self.layout.shared("edge", ("edge", axis, n), n, self.lowered.names)

    @property
    def triton(self) -> bool:
        return isinstance(self.dialect, Triton)

    def mask(self, access: Access) -> str:
        outer = any(access.strides[a.members[-1]] for a in self.layout.outer)
        inner = any(access.strides[a.members[-1]] for a in self.layout.inner)
        if (outer and inner) or ((outer or inner) and not self.lowered.axes):
            return ", mask=mask"
        return ", mask=row_mask" if outer else ", mask=column_mask" if inner else ""

    # ---- stores ------------------------------------------------------------------------------------

    def store(self, index: int, out: Output) -> str:
        pointer = self.pointer("out", index, out.value.name or "out", out.dtype)
        access = self.stored_at(out)
        if self.packed and self.packs(access):
            return f"{self.output_pack(index)}.at[{self.neighbour}] = {self.text(out.value)};"
        address = self.layout.address(out.value.name or "out", ("out", index), access, self.lowered.names)
        if isinstance(self.dialect, Cuda):
            return f"{pointer}[{address}] = {self.text(out.value)};"
        if self.lowered.axes:
            # The address must have the shape of the value, even where an axis has only one element.
            extra = [] if self.layout.outer or (out.along and self.layout.inner) else ["row"]
            extra += ["column"] if out.along and not self.layout.inner else []
            address = " + ".join(([] if address == "0" else [address]) + extra)
            mask = "mask" if out.along else "row_mask"
        else:
            address, mask = ("i" if address == "0" else address), "mask"
        return f"tl.store({pointer} + {address}, {self.text(out.value)}, mask={mask})"

    def stored_at(self, out: Output) -> Access:
        return access_of(out.map, out.strides, len(self.lowered.domain))

    def packs(self, access: Access) -> bool:
        """Whether the elements that a thread takes together lie side by side in this array."""
        return access.strides[self.layout.outer[-1].members[-1]] == 1

    def output_pack(self, index: int) -> str:
        return f"{self.pointers['out', index].name.removesuffix('_ptr')}_out_pack"

    # ---- reductions --------------------------------------------------------------------------------

    def gathered(self, v: Value) -> Gathered:
        assert isinstance(v.source, Fold)
        (arg,) = v.args
        op = v.source.op.name
        if op in ("max", "min") and arg.dtype.kind == "c":
            raise UnsupportedError(Diagnostic("kernels do not support extremes of complex numbers", v.span))
        logical = op in ("any", "all")
        dtype = accumulator(v.dtype if op in ("sum", "prod") else arg.dtype)
        dtype = np.dtype(np.int32) if logical else dtype
        operand = self.text(arg)
        if logical:
            operand = self.dialect.convert(
                self.dialect.convert(operand, arg.dtype, np.dtype(bool)), np.dtype(bool), dtype
            )
        else:
            operand = self.dialect.convert(operand, arg.dtype, dtype)
        name = self.lowered.names.fresh(f"{v.name}_sofar")
        identity = self.dialect.literal(identity_of(op, dtype), dtype)
        combine = _COMBINE["triton"][op] if self.triton else self.combine(op, dtype)
        if isinstance(self.dialect, Triton) and dtype.kind != "f":
            combine = combine.replace(", propagate_nan=tl.PropagateNan.ALL", "")
        return Gathered(v, name, dtype, self.dialect.type_name(dtype), identity, operand, combine)

    def fold(self, g: Gathered, gathered: str) -> str:
        """A Triton accumulator, one a column, folded to one value a row."""
        assert isinstance(g.value.source, Fold)
        op = g.value.source.op.name
        return _TRITON_FOLD[op if g.dtype.kind == "f" else _PLAIN_FOLD.get(op, op)].format(gathered)

    def extreme(self, largest: bool, g: Gathered, gathered: str, known: str) -> str:
        """The extreme of what is known of a Triton accumulator, one value a row."""
        op = "max" if largest else "min"
        identity = self.dialect.literal(identity_of(op, g.dtype), g.dtype)
        return _TRITON_FOLD[op if g.dtype.kind == "f" else _PLAIN_FOLD[op]].format(
            f"tl.where({known}, {gathered}, {identity})"
        )

    def finish(self, g: Gathered, gathered: str) -> str:
        """The statement that makes the finished reduction from the accumulator (for Triton: one a column)."""
        folded = self.fold(g, gathered) if isinstance(self.dialect, Triton) else gathered
        return self.declare(g.value, self.dialect.convert(folded, g.dtype, g.value.dtype))

    # ---- running reductions ------------------------------------------------------------------------

    def scan(self, v: Value, source: Scan) -> list[str]:
        """A running reduction along the whole row, or along one block of it, from the result of those before."""
        dtype, (arg,), fold = accumulator(v.dtype), v.args, RUNNING[source.op.name]
        operand = self.dialect.convert(self.text(arg), arg.dtype, dtype)
        start = self.start(source, dtype)
        if not self.triton:
            sofar, combine, kind = self.carried[id(v)], self.combine(fold, dtype), self.dialect.type_name(dtype)
            if self.alone:
                reached = [f"{sofar} = {combine}()({sofar}, {operand});"]
                return [*reached, self.declare(v, self.dialect.convert(sofar, dtype, v.dtype))]
            found = f"block_scan<{combine}, {kind}>(inside ? {operand} : {start}, {sofar})"
            return [self.declare(v, self.dialect.convert(found, dtype, v.dtype))]
        scanned = _TRITON_SCAN.get(source.op.name, f"tl.{source.op.name}({{0}}, axis=1)")
        given = f"tl.where(mask, {operand}, {start})"
        if id(v) not in self.carried:
            return [self.declare(v, self.dialect.convert(scanned.format(given), dtype, v.dtype))]
        sofar, block = self.carried[id(v)], self.lowered.names.fresh(f"{v.name}_block")
        whole = _TRITON_FOLD[fold].format(block)
        return [
            f"{block} = {given}",
            self.declare(v, self.dialect.convert(self.joined(fold, sofar, scanned.format(block)), dtype, v.dtype)),
            f"{sofar} = {bare(self.joined(fold, sofar, whole))}",
        ]

    def start(self, source: Scan, dtype: DType) -> str:
        """The neutral element of a reduction; for sums -0.0, since -0.0 + -0.0 must stay -0.0."""
        fold = RUNNING[source.op.name]
        number = dtype.type(-0.0) if fold == "sum" and dtype.kind == "f" else identity_of(fold, dtype)
        return self.dialect.literal(number, dtype)

    def combine(self, fold: str, dtype: DType) -> str:
        """The function object of a reduction (CUDA)."""
        name = _COMBINE["cuda"][fold]
        return f"Wrapping{name}" if dtype in (np.int32, np.int64) and fold in ("sum", "prod") else name

    def folded(self, fold: str, x: str) -> str:
        """A block of values as one value a row (Triton)."""
        return _TRITON_FOLD[fold].format(x)

    def joined(self, fold: str, x: str, y: str) -> str:
        """Two values of a reduction as one (Triton)."""
        return f"{_HELPER[fold]}({x}, {y})" if fold in _HELPER else f"({_COMBINE['triton'][fold].format(x, y)})"

    def carry(self, v: Value, source: Scan) -> list[str]:
        """The variable that carries a running reduction from block to block, set for the first block of a row."""
        dtype = accumulator(v.dtype)
        sofar = self.carried[id(v)] = self.lowered.names.fresh(f"{v.name}_sofar")
        start = self.start(source, dtype)
        if not self.triton:
            return [f"{self.dialect.type_name(dtype)} {sofar} = {start};"]
        return [f"{sofar} = tl.full([ROWS, 1], {start}, {self.dialect.type_name(dtype)})"]

    # ---- the whole ---------------------------------------------------------------------------------

    def straight(self) -> list[str]:
        """All values of a pointwise kernel, then its stores."""
        lines = [text for v in self.lowered.values for text in self.line(v)]
        return lines + [self.store(i, o) for i, o in enumerate(self.lowered.outputs)]

    def tile(self) -> list[str]:
        """A row kernel that holds its rows in registers (Triton): each value is computed once."""
        lines: list[str] = []
        for v in self.lowered.values:
            if isinstance(v.source, Fold):
                g = self.gathered(v)
                lines.append(self.finish(g, f"tl.where(mask, {g.operand}, {g.identity})"))
            else:
                lines += self.line(v)
        return lines + [self.store(i, o) for i, o in enumerate(self.lowered.outputs)]

    def passes(self) -> list[Pass]:
        """A row kernel that walks along the row once for each stage of reductions, and once more for what follows."""
        values, outputs = self.lowered.values, self.lowered.outputs
        online = online_of(values) if self.layout.columns else []
        own = {id(v) for o in online for v in o.folds}
        last = max((v.stage for v in values), default=0)
        result = []
        totals: dict[int, list[str]] = {}  # lines that finish the sums of earlier passes
        self.divisors = None if self.triton else Divisors()
        for p in range(last + 1):
            step = Pass()
            for v in values:
                if not v.along and v.stage == p and not isinstance(v.source, Fold):
                    step.before += self.line(v)
                step.before += totals.get(id(v), []) if v.stage == p else []
            folds = [v for v in values if isinstance(v.source, Fold) and v.stage == p + 1 and id(v) not in own]
            walked = [o for o in online if o.x.stage == p]
            stored = [(i, o) for i, o in enumerate(outputs) if o.along and o.value.stage == p]
            needed = self.along([f.args[0] for f in folds] + [o.x for o in walked] + [o.value for _, o in stored])
            for v in needed:
                step.before += self.carry(v, v.source) if isinstance(v.source, Scan) else []
            self.walks.append({v.source.param for v in needed if isinstance(v.source, Load)})
            step.scans = any(isinstance(v.source, Scan) for v in needed)
            step.inside = [text for v in needed for text in self.line(v)]
            step.before += self.divisors.made() if self.divisors else []
            for o in walked:
                totals[id(o.total)] = gather(self, step, o)
            step.gathered = [self.gathered(f) for f in folds]
            step.gathering += sum(g.dtype.itemsize for g in step.gathered)
            step.stores = [self.store(i, o) for i, o in stored]
            result.append(step)
        return result

    def along(self, roots: Sequence[Value]) -> list[Value]:
        """The values that vary along the row and that `roots` need, in order of computation."""
        found: set[int] = set()
        todo = [v for v in roots if v.along]
        while todo:
            v = todo.pop()
            if id(v) not in found:
                found.add(id(v))
                todo += [a for a in v.args if a.along]
        return [v for v in self.lowered.values if id(v) in found]

    def row_stores(self) -> list[str]:
        return [self.store(i, o) for i, o in enumerate(self.lowered.outputs) if not o.along]


def identity_of(op: str, dtype: DType) -> object:
    match op:
        case "sum" | "any":
            return dtype.type(0)
        case "prod" | "all":
            return dtype.type(1)
    if dtype.kind == "f":
        return dtype.type(-np.inf if op == "max" else np.inf)
    info = np.iinfo(dtype)
    return dtype.type(info.min if op == "max" else info.max)


_COMBINE = {
    "triton": {
        "sum": "{0} + {1}",
        "prod": "{0} * {1}",
        "max": "tl.maximum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
        "min": "tl.minimum({0}, {1}, propagate_nan=tl.PropagateNan.ALL)",
        "any": "tl.maximum({0}, {1})",
        "all": "tl.minimum({0}, {1})",
    },
    "cuda": {"sum": "Sum", "prod": "Product", "max": "Largest", "min": "Smallest", "any": "Largest", "all": "Smallest"},
}
_TRITON_FOLD = {
    "sum": "tl.sum({0}, axis=1, keep_dims=True)",
    "prod": "tl.reduce({0}, 1, product_of, keep_dims=True)",
    "max": "tl.reduce({0}, 1, larger_of, keep_dims=True)",
    "min": "tl.reduce({0}, 1, smaller_of, keep_dims=True)",
    "any": "tl.max({0}, axis=1, keep_dims=True)",
    "all": "tl.min({0}, axis=1, keep_dims=True)",
}
_TRITON_SCAN = {  # sums and products have functions of their own
    "cummax": "tl.associative_scan({0}, 1, larger_of)",
    "cummin": "tl.associative_scan({0}, 1, smaller_of)",
}
_HELPER = {"max": "larger_of", "min": "smaller_of"}
_PLAIN_FOLD = {"max": "any", "min": "all"}  # integers have no NaN
DIALECTS: dict[str, Triton | Cuda] = {"triton": TRITON, "cuda": CUDA}
