"""From a group to kernels ready to be launched: sources, arguments and grids."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..translator.errors import Diagnostic, UnsupportedError
from ..translator.ir import Apply, Aval, Block, DType, Fused, Shape, Var
from ..translator.ops.core import Cast, CastAttrs, Reduce, ReduceAttrs, Reshape, ShapeAttrs
from ..translator.passes.alignment import nbytes
from ..translator.passes.groups import close, kernel_name
from .attention.forward import plan_attention, reach_groups
from .contract import plan_contract
from .loops.device import plan_loop
from .loops.lane_blocks import plan_lane_block
from .program import Argument, GroupPlan, Launch, header, make_launch, prepare, walks_neighbours
from .rows.beside import BESIDE, FEWEST_ROWS, LONGEST_ROW, is_near, lies_beside, plan_beside
from .rows.firsts import First
from .rows.held import plan_held
from .rows.parts import MANY_BLOCKS, Parted, chunks_of, first_stage, own_parted
from .rows.scans import plan_scan
from .settling.decompose import language_of
from .settling.scatter import plan_scatter
from .settling.turned import fetched_again, plan_turned, turn_of
from .source.body import Body, Pass
from .source.dialects import accumulator
from .source.helpers import HELPERS
from .source.layout import Access
from .source.lower import lower
from .source.maps import Strides
from .source.names import RESERVED, Names
from .source.values import Call, Fold, Inside, Load, Look, Lowered, Position, Scan

TILE = 1 << 16  # bytes of the longest row that a Triton program holds in registers, for each value along it
BUCKETS = (4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384)  # few: a new row length seldom compiles anew
CUDA_BLOCK = 256
FEW_ROWS, LONG_ROW = 512, 1 << 14  # a block for each leaves multiprocessors with a few warps, so these are large
CACHED = 1 << 17  # bytes of a row that caches keep from one pass to the next, with all multiprocessors on rows
FEW_COLUMNS, ELEMENTS = 64, 1024  # of a row that one thread takes; of a Triton program that takes such rows
MOST_GATHERED = 64  # bytes of accumulators of a Triton program's thread, which has up to eight elements
MOST_SHARED = 227 << 10  # bytes of shared memory that a block may have, from sm_90 on
ALIGNED = 16  # what Triton is promised of extents that are multiples of it
UNROLLED = 50  # values of a pointwise kernel that are computed for eight neighbours; of longer ones for four
OURS = RESERVED.union(*HELPERS.values())  # names that no kernel may have


def plan(
    fused: Fused,
    language: str,
    function: str = "kernel",
    strides: Mapping[int, Strides] | None = None,
    scalars: frozenset[int] | None = None,
    shared: int = MOST_SHARED,
) -> GroupPlan:
    """Kernels for a group whose body needs no decomposition (see `decompose`). `shared`: bytes that a block may have.

    `strides`, in elements, of arguments (and, by `~k`, of results) that are not in C order; `scalars`: arguments passed
    by value (default: all 0-d ones). Raises UnsupportedError for what the kernels cannot express.
    """
    by_value = (
        scalars if scalars is not None else frozenset(i for i, p in enumerate(fused.body.params) if not p.aval.shape)
    )
    name, language = Names(reserved=OURS).fresh(kernel_name(function, fused)), language_of(fused, language)
    if fused.kind == "contract":
        return plan_contract(fused, language, name, strides or {}, by_value)
    if fused.kind == "attention":
        attention = plan_attention(fused, language, name, strides or {}, by_value)
        asked = reach_groups(fused, language)
        return _asking(attention, asked, fused, language, function, strides or {}, by_value) if asked else attention
    if fused.kind == "scatter":
        return plan_scatter(fused, language, name, strides or {}, by_value)
    if fused.kind == "lanes" and language == "triton":
        try:
            return plan_lane_block(fused, name, by_value)
        except UnsupportedError:  # an `if` around stores, an error to report, elements looked up: CUDA has lanes for it
            return plan_loop(fused, name, by_value)
    if fused.kind in ("lanes", "loops"):
        return plan_loop(fused, name, by_value)
    lowered = lower(fused, by_value)
    if language == "triton" and _reads_apart(prepare(fused, lower(fused, by_value), language, strides or {})):
        try:
            return plan(fused, "cuda", function, strides, scalars, shared)
        except UnsupportedError:  # an operation that only Triton has a form for
            pass
    few = _few_beside(fused, prepare(fused, lower(fused, by_value), language, strides or {}))
    if fused.kind == "reduce" and not few:
        return _plan_reduce(fused, lowered, language, name, strides or {}, by_value)
    if fused.kind == "scan":
        body = prepare(fused, lower(fused, by_value), language, strides or {})
        walks = walks_neighbours(body) or not _fits_tile(body)
        found = plan_scan(fused, body, name, strides or {}, by_value) if walks else None
        if found is not None:
            return found
    if few:
        launch = _plan_few_beside(prepare(fused, lowered, language, strides or {}), header(fused), name)
    else:
        launch = _plan_one(fused, lowered, language, name, strides or {}, shared)
    if any(a.role == "partial" for a in launch.arguments):
        return GroupPlan(name, (launch,), (((1,), np.dtype(np.int32)),), looks=True, zeros=1)
    return GroupPlan(name, (launch,))


def _asking(
    found: GroupPlan,
    asked: Sequence[Fused],
    fused: Fused,
    language: str,
    function: str,
    strides: Mapping[int, Strides],
    scalars: frozenset[int],
) -> GroupPlan:
    """The plan of a group whose last partial results are what other groups, of some of its arguments, give."""
    before: list[Launch] = []
    known = len(found.partials)
    partials = [*found.partials, *((g.targets[0].aval.shape, g.targets[0].aval.dtype) for g in asked)]
    for place, group in enumerate(asked):
        own = [fused.body.params.index(a) for a in group.args if isinstance(a, Var)]
        assert len(own) == len(group.args)
        places = {i: k for k, i in enumerate(own)}
        within = {places[i]: s for i, s in strides.items() if i in places}
        first = plan(group, language, function, within, frozenset(places[i] for i in scalars if i in places))
        roles = {"out": [known + place], "partial": range(len(partials), len(partials) + len(first.partials))}
        for s in first.launches:
            placed = [_placed(a, own, roles) for a in s.arguments]
            before.append(replace(s, arguments=tuple(placed)))
        partials += first.partials
    return replace(found, launches=(*before, *found.launches), partials=tuple(partials))


def _placed(a: Argument, own: Sequence[int], roles: Mapping[str, Sequence[int]]) -> Argument:
    """An argument of a group that is asked first, among those of the group that asks: its result is a partial one."""
    if a.role == "number":
        return a
    index = roles.get(a.role, own)[a.index]
    return replace(a, role="partial" if a.role == "out" else a.role, index=index)


def _reads_apart(body: Body) -> bool:
    """Whether Triton does not see that rows lie beside each other, and would have neighbouring threads read far apart:
    where a row's place is a remainder, by an extent of which nothing is promised.
    """
    outer = body.layout.outer
    hidden = len(outer) > 1 and outer[-1].extent % ALIGNED != 0
    return bool(body.lowered.axes) and hidden and walks_neighbours(body)


# ---- pointwise and row ---------------------------------------------------------------------------


def _plan_one(
    fused: Fused, lowered: Lowered, language: str, name: str, strides: Mapping[int, Strides], shared: int = MOST_SHARED
) -> Launch:
    body = prepare(fused, lowered, language, strides)
    layout = body.layout
    heading = header(fused)
    if not lowered.axes:
        return _plan_pointwise(body, heading, name, language)
    if any(isinstance(v.source, Scan) for v in lowered.values) and walks_neighbours(body):
        return _plan_neighbours(body, heading, name, language)
    beside = lies_beside(body)
    if beside and language == "cuda":
        return plan_beside(body, heading, name)
    if beside and not (_fits_tile(body) and layout.columns <= LONGEST_ROW):
        raise UnsupportedError(Diagnostic("kernels do not support such long rows beside each other", fused.span))
    if _fits_tile(body):
        block = next(b for b in BUCKETS if b >= layout.columns)
        rows = (BESIDE if beside else max(1, 1024 // block)) if layout.outer else 1
        sections: dict[str, object] = {"tile": body.tile()}
    elif (held := _held(fused, body, heading, name, strides, shared)) is not None:
        return held
    else:
        threads = 1024 if layout.rows < FEW_ROWS and layout.columns >= LONG_ROW else _threads_for(layout.columns)
        walks, rows = body.passes(), 1
        sections = {**_sections(body, walks), "most": threads if threads > 512 else 0}  # whose registers would not do
        gathering = max(w.gathering for w in walks)
        each = next(n for n in (8, 4, 2) if n * gathering <= MOST_GATHERED or n == 2)
        block = each * max(threads, 256) if language == "triton" else threads
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    grid = (_ceil(layout.rows, rows), 1) if language == "triton" else (min(layout.rows, 1 << 20), 1)
    constants = (("ROWS", rows), ("BLOCK", block)) if language == "triton" else ()
    warps = min(32, max(4, block * (rows if beside else 1) // 512)) if "tile" in sections else max(8, threads // 32)
    template = f"row.{language}.j2"
    launch = make_launch(body, template, name, heading, sections, extents, grid, block, constants, warps)
    return replace(launch, reread=_reread(fused, body), choices=_choices(language, warps))


def _fits_tile(body: Body) -> bool:
    """Whether a Triton program holds whole rows in registers."""
    widest = max((v.dtype.itemsize for v in body.lowered.values if v.along), default=4)
    return body.triton and body.layout.columns <= min(TILE // max(widest, 4), BUCKETS[-1])


def _held(
    fused: Fused, body: Body, heading: list[str], name: str, strides: Mapping[int, Strides], shared: int
) -> Launch | None:
    """A CUDA kernel that keeps rows on the chip. So it is on both targets: Triton's kernels keep shorter ones."""
    if not body.triton:
        return plan_held(body, heading, name, shared)
    try:
        own = prepare(fused, lower(fused, body.lowered.scalars), "cuda", strides)
        return plan_held(own, heading, name, shared)
    except UnsupportedError:  # an operation that only Triton has a form for
        return None


def _choices(language: str, warps: int) -> tuple[int, ...]:
    """The choices that autotuning tries: half and twice as many warps, or other numbers of threads."""
    if language == "cuda":
        return (128, 256, 512)
    return tuple(n for n in (warps // 2, warps, 2 * warps) if 1 <= n <= 32)


def _plan_neighbours(body: Body, heading: list[str], name: str, language: str) -> Launch:
    """Rows that lie beside each other: threads beside each other walk along one each."""
    layout, triton = body.layout, language == "triton"
    body.alone = not triton
    sections = {**_sections(body, body.passes()), "alone": True}
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    rows = 64 if triton else 128
    constants = (("ROWS", rows), ("BLOCK", 32)) if triton else ()
    grid = (_ceil(layout.rows, rows), 1)
    return make_launch(body, f"row.{language}.j2", name, heading, sections, extents, grid, rows, constants, 4)


def _few_beside(fused: Fused, body: Body) -> bool:
    """Whether so many rows lie beside each other, and are so short, that each is one thread's, or few threads'."""
    few = body.layout.columns <= FEW_COLUMNS and body.layout.rows >= FEWEST_ROWS
    near = any(is_near(body, a) for a in body.accesses.values())
    return fused.kind == "reduce" and few and near and not own_parted(fused)


def _plan_few_beside(body: Body, heading: list[str], name: str) -> Launch:
    if not body.triton:
        return _plan_neighbours(body, heading, name, "cuda")
    layout = body.layout
    block = 1 << (layout.columns - 1).bit_length() if layout.columns else 1
    extents = [("rows", layout.rows), ("columns", layout.columns)]
    rows = max(BESIDE, ELEMENTS // block)
    constants, grid = (("ROWS", rows), ("BLOCK", block)), (_ceil(layout.rows, rows), 1)
    sections: dict[str, object] = {"tile": body.tile()}
    return make_launch(body, "row.triton.j2", name, heading, sections, extents, grid, block, constants, 4)


def _reread(fused: Fused, body: Body) -> int:
    """Bytes of the arrays that passes after their first one read, where rows are longer than caches hold."""
    found, seen = 0, set[int]()
    for walk in body.walks:
        arrays = [fused.body.params[p] for p in walk & seen]
        found += sum(nbytes(a) for a in arrays if body.layout.columns * a.aval.dtype.itemsize > CACHED)
        seen |= walk
    return found


def _sections(body: Body, walks: Sequence[Pass]) -> dict[str, object]:
    return {"passes": walks, "row_stores": body.row_stores(), "finish": body.finish}


def _plan_pointwise(body: Body, heading: list[str], name: str, language: str) -> Launch:
    if (turn := turn_of(body)) is not None:
        return plan_turned(body, turn, heading, name)
    layout, again = body.layout, fetched_again(body)
    sections: dict[str, object] = {"lines": body.straight()}
    extents = [("n", layout.rows)]
    if language == "triton":
        calls = sum(isinstance(v.source, Call) and "libdevice" in v.source.op.triton for v in body.lowered.values)
        block = 1024 if calls <= 8 else 256  # long chains of transcendental functions compile slowly in large blocks
        grid = (_ceil(layout.rows, block), 1)
        launch = make_launch(
            body, "pointwise.triton.j2", name, heading, sections, extents, grid, block, (("BLOCK", block),), 4
        )
        return replace(launch, reread=again, choices=_choices(language, 4))
    pack = _pack_of(body)
    if pack:
        sections["packed"], sections["pack"] = _packed(body), pack
    grid = (max(1, min(_ceil(layout.rows, CUDA_BLOCK), 4 * MANY_BLOCKS)), 1)
    launch = make_launch(body, "pointwise.cuda.j2", name, heading, sections, extents, grid, CUDA_BLOCK, (), 4)
    packed = layout.rows if pack and _packs_align(body, pack) else 0
    return replace(launch, packed=packed, pack=pack, reread=again, choices=_choices(language, 4))


def _pack_of(body: Body) -> int:
    """How many neighbours a thread takes at a time: 16 bytes of the widest array, four at least; 0 where it cannot.

    It can where every array is walked from its start, along the last axis in steps of 0 or 1.
    """
    layout = body.layout
    if not layout.outer or not body.accesses or len(body.lowered.values) > 200:
        return 0
    if any(isinstance(v.source, Position | Inside | Look) for v in body.lowered.values):
        return 0
    axis = layout.outer[-1].members[-1]
    steps = {a.strides[axis] for a in body.accesses.values()}
    if 1 not in steps or not steps <= {0, 1} or any(a.offset for a in body.accesses.values()):
        return 0
    if not all(body.packs(body.stored_at(o)) for o in body.lowered.outputs):
        return 0
    loads = [v for v in body.lowered.values if isinstance(v.source, Load) and body.packs(body.accesses[id(v)])]
    widest = max(d.itemsize for d in (*(v.dtype for v in loads), *(o.dtype for o in body.lowered.outputs)))
    return 8 if widest <= 2 and len(body.lowered.values) <= UNROLLED else 4


def _packs_align(body: Body, pack: int) -> bool:
    """Whether packs stay within the last axis and are aligned to their width, if the arrays are."""
    *others, last = body.layout.outer
    every = [*body.accesses.values(), *map(body.stored_at, body.lowered.outputs)]
    strides = [a.strides[axis.members[-1]] for a in every if body.packs(a) for axis in others]
    return not (others and last.extent % pack) and not any(n % pack for n in strides)


def _packed(body: Body) -> dict[str, object]:
    """The lines of the packed twin: loads and stores of neighbours around a loop over them."""
    body.packed = True
    lines = body.straight()
    body.packed = False
    loads, stores = [], []
    for v in body.lowered.values:
        if isinstance(v.source, Load) and body.packs(access := body.accesses[id(v)]):
            pointer = body.pointers["in", v.source.param].name
            loads.append(_pack(body, f"{v.name}_pack", v.dtype, pointer, v.source.param, access))
    for i, o in enumerate(body.lowered.outputs):
        pointer = body.pointers["out", i].name
        stores.append(_pack(body, body.output_pack(i), o.dtype, pointer, ("out", i), body.stored_at(o)))
    return {"lines": lines, "loads": loads, "stores": stores}


def _pack(body: Body, name: str, dtype: DType, pointer: str, array: object, access: Access) -> dict[str, str]:
    address = body.layout.address(pointer.removesuffix("_ptr"), array, access, body.lowered.names)
    return {"name": name, "type": body.dialect.type_name(dtype), "address": f"{pointer} + {address}"}


def _threads_for(columns: int) -> int:
    return next((t for t in (32, 64, 128) if columns <= 4 * t), 256)


# ---- reduce: two stages --------------------------------------------------------------------------


def _plan_reduce(
    fused: Fused, whole: Lowered, language: str, name: str, strides: Mapping[int, Strides], scalars: frozenset[int]
) -> GroupPlan:
    """Partial results of chunks of each row, then a row kernel over the partial results with the work that follows.

    total = np.sum(x * y)        part[k] = np.sum(x[k] * y[k]) for chunks k;   total = np.sum(part)
    """
    along = [o.along for o in whole.outputs]
    parted = own_parted(fused)
    totals = {id(s) for p in parted for s in (p.total, p.extreme if isinstance(p, First) else None)}
    folds = [s for s in fused.body.statements if isinstance(s, Apply) and isinstance(s.op, Reduce)]
    reduces = [s for s in folds if id(s) not in totals]
    _can_be_two_stages(fused, whole, parted, along)
    stored = [t for t, a in zip(fused.targets, along, strict=True) if a]
    results = [r for r, a in zip(fused.body.results, along, strict=True) if a]
    gathered = tuple(s for p in parted for s in p.gathered())
    inner = tuple(s.targets[0] for s in (*reduces, *gathered) if isinstance(s.op, Reduce))
    within = replace(fused.body, statements=(*fused.body.statements, *gathered), results=(*inner, *results))
    first = Fused((*inner, *stored), fused.args, within, "reduce", fused.span)
    body = prepare(first, lower(first, scalars), language, strides)
    kinds = [*map(_partial_dtype, reduces), *(dtype for p in parted for _, dtype in p.parts)]
    gathering = sum(kind.itemsize for kind in kinds)
    chunks = chunks_of(body.layout, walks_neighbours(body), language, gathering)
    outer = tuple(n for i, n in enumerate(whole.domain) if i not in whole.axes)
    partials = tuple(((*outer, chunks.count), kind) for kind in kinds)
    stage_one = first_stage(body, header(fused), name, chunks, len(reduces), parted, fused.targets, stored)
    if not all(along):
        second, roles = _second_stage(fused, reduces, parted, partials, along)
        by_value = frozenset(i + len(partials) for i in scalars)
        shifted = {i + len(partials): s for i, s in strides.items()}
        launch = _plan_one(second, lower(second, by_value), language, f"{name}_finish", shifted)
        launch = replace(launch, arguments=tuple(_redirect(a, len(partials), roles) for a in launch.arguments))
        return GroupPlan(name, (stage_one, launch), partials)
    return GroupPlan(name, (stage_one,), partials)


def _can_be_two_stages(fused: Fused, whole: Lowered, parted: Sequence[Parted], along: Sequence[bool]) -> None:
    """Raises UnsupportedError where a reduction needs another one's value, and has no parts."""
    late = sum(isinstance(v.source, Fold) and v.stage > 1 for v in whole.values)
    if late > len(parted) or (parted and any(along)):
        raise UnsupportedError(Diagnostic("kernels do not support reductions of what others give", fused.span))
    outer = math.prod(n for i, n in enumerate(whole.domain) if i not in whole.axes)
    if any(not isinstance(p, First) and p.center.aval.size != outer for p in parted):
        raise UnsupportedError(Diagnostic("kernels do not support distances from one value for all rows", fused.span))


def _partial_dtype(s: Apply) -> DType:
    if s.op.name in ("any", "all"):
        return np.dtype(np.int32)
    return accumulator(s.targets[0].aval.dtype if s.op.name in ("sum", "prod") else s.args[0].aval.dtype)


def _second_stage(
    fused: Fused,
    reduces: Sequence[Apply],
    parted: Sequence[Parted],
    partials: Sequence[tuple[Shape, DType]],
    along: Sequence[bool],
) -> tuple[Fused, list[int]]:
    """The rest of the group as a row group over the partial results, and which targets it stores."""
    params: list[Var] = []
    statements: list[Apply] = []
    made: dict[Var, list[Apply]] = {}
    for s, (shape, dtype) in zip(reduces, partials, strict=False):
        (target,) = s.targets
        params.append(Var(f"{target.hint}_part", Aval(shape, dtype)))
        made[target] = _from_parts(s, params[-1])
    others = iter(partials[len(reduces) :])
    for p in parted:
        parts = [Var(f"{p.x.hint}_{part}", Aval(*next(others))) for part, _ in p.parts]
        params += parts
        made[p.total.targets[0]] = p.together(parts)
        if isinstance(p, First) and p.extreme is not None:
            made[p.extreme.targets[0]] = _from_parts(p.extreme, parts[0])
    for own in fused.body.statements:
        assert isinstance(own, Apply)
        statements += made.get(own.targets[0], [own])
    roles = [i for i, a in enumerate(along) if not a]
    targets = tuple(fused.targets[i] for i in roles)
    results = tuple(fused.body.results[i] for i in roles)
    # The first reduction gives the domain of the kernel, so the partial ones come first.
    statements.sort(key=lambda s: not (isinstance(s.op, Reduce)))
    args = (*params, *fused.args)
    block = Block((*params, *fused.body.params), tuple(statements), results)
    return Fused(targets, args, block, "row", fused.span), roles


def _from_parts(s: Apply, part: Var) -> list[Apply]:
    """A reduction's result from that of each chunk, which lie along the last axis."""
    assert isinstance(s.op, Reduce)
    (target,), shape = s.targets, part.aval.shape
    folded = Var(target.hint, Aval(shape[:-1], s.op.dtype(part.aval.dtype)))
    steps = [Apply((folded,), s.op, (part,), ReduceAttrs((len(shape) - 1,)), s.span)]
    if folded.aval.dtype != target.aval.dtype:
        cast = Var(target.hint, Aval(folded.aval.shape, target.aval.dtype))
        steps.append(Apply((cast,), Cast(), (folded,), CastAttrs(target.aval.dtype), s.span))
        folded = cast
    steps.append(Apply((target,), Reshape(name="reshape"), (folded,), ShapeAttrs(target.aval.shape), s.span))
    return steps


def _redirect(a: Argument, count: int, roles: Sequence[int]) -> Argument:
    """An argument of the second stage in terms of the group's own arguments, targets and partial results."""
    if a.role == "out":
        return replace(a, index=roles[a.index])
    if a.role in ("in", "scalar"):
        return replace(a, role="partial") if a.index < count else replace(a, index=a.index - count)
    return a


def _ceil(n: int, d: int) -> int:
    return -(-n // d)


def single(statement: Apply, kind: str) -> Fused:
    """A lone operation as a group of one."""
    return close([statement], statement.targets, kind)
