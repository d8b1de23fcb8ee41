"""Linear algebra in StableHLO: LAPACK's functions, which jaxlib brings for XLA's CPU client, and what is made of them.

    %lu:3 = stablehlo.custom_call @lapack_dgetrf_ffi(%a) ...      factors, row exchanges, what went wrong

LAPACK's matrices stand column by column: the layouts of a call say so, and XLA transposes where it must. A
factorisation is made once for all operations of a block that ask for parts of it. The compiler for TPUs has LU, QR and
Cholesky factorisations of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ...translator import ops
from ...translator.builder import Builder
from ...translator.errors import Diagnostic, UnsupportedError
from ...translator.ir import Apply, Aval, Const, DType, Shape, Var
from ...translator.ops.core import Gather, IndexAttrs, Linalg, LinalgAttrs, Rule, Run
from ..client import host_calls
from .index import index
from .writer import BOOL, I32, I64, Value, real_dtype, tensor_type

if TYPE_CHECKING:
    from .program import Emitter

CALLS = "lapack_"
_PREFIX = {"f": "s", "d": "d", "F": "c", "D": "z"}
_COMPLEX_NAMES = {"orgqr": "ungqr", "syevd": "heevd"}


FEW = 6
"""Rows of matrices, of many, whose determinants XLA computes in vectors: a call of LAPACK's takes 100 ns."""


def linalg(e: Emitter, s: Apply) -> Value:
    """The value of an operation of linear algebra."""
    op, attrs, out = s.op, s.attrs, s.targets[0].aval
    assert isinstance(op, Linalg) and isinstance(attrs, LinalgAttrs)
    if op.decompose is not None:
        return _source(e, op.decompose, s, *(e.value(a) for a in s.args), checks=e.checked.enabled)
    a = e.value(s.args[0])
    if 0 in a.shape or not out.size:
        return _of_nothing(e, op, out)
    if e.target != "cpu" and op.name.startswith(("eig", "svd")):
        raise UnsupportedError(
            Diagnostic(
                f"{op.numpy} is not available on TPUs",
                s.span,
                why="XLA has no such factorisation for them",
                instead='target="cpu"',
            )
        )
    match op.name:
        case "cholesky":
            return _cholesky(e, s, a)
        case "indefinite":
            return _indefinite(e, s, a)
        case "solve":
            return _solve(e, s, a, e.value(s.args[1]))
        case "det" | "slogdet_sign" | "slogdet_log":
            return _determinant(e, s, op.name, a)
        case "qr_q" | "qr_r":
            return _qr(e, s, op.name, a, attrs.full)
        case "eigh_values" | "eigh_vectors" | "eigh_vectors_upper":
            return _eigh(e, s, op.name, a)
        case "eig_values" | "eig_vectors":
            return _eig(e, s, op.name, a)
        case _:
            return _svd(e, s, op.name, a, attrs.full)


def register_calls() -> None:
    """LAPACK's functions, known to XLA. jax registers the same ones when it is imported; both may."""
    global _known
    if _known:
        return
    import jaxlib.xla_client as xla

    lapack = import_module("jaxlib.cpu._lapack")
    lapack.initialize()
    for name, function in lapack.registrations().items():
        if name.startswith(CALLS):
            xla.register_custom_call_target(name, function, platform="cpu", api_version=1)
    _known = True


_known = False


# ---- calls ---------------------------------------------------------------------------------------


def _call(
    e: Emitter,
    name: str,
    dtype: DType,
    args: Sequence[Value],
    results: Sequence[tuple[Shape, DType, int]],
    **options: str,
) -> list[Value]:
    """LAPACK's function `name` for matrices of this dtype. A result is (shape, dtype, rank of its core); `options` are
    LAPACK's letters."""
    w = e.writer
    if dtype.kind == "c":
        name = _COMPLEX_NAMES.get(name, name)
    values = w.several("lapack", [(shape, d) for shape, d, _ in results])
    base = values[0].name.partition("#")[0]
    letters = ", ".join(f"{k} = {ord(v)} : ui8" for k, v in options.items())
    depth = len(results[-1][0]) - results[-1][2]
    operands = ", ".join(_layout(len(a.shape), len(a.shape) - depth) for a in args)
    layouts = ", ".join(_layout(len(shape), core) for shape, _, core in results)
    types = ", ".join(tensor_type(a.shape, a.dtype) for a in args)
    made = ", ".join(tensor_type(shape, d) for shape, d, _ in results)
    count = f":{len(results)}" if len(results) > 1 else ""
    w.line(
        f"{base}{count} = stablehlo.custom_call @lapack_{_PREFIX[dtype.char]}{name}_ffi("
        f"{', '.join(a.name for a in args)}) {{api_version = 4 : i32, backend_config = {{{letters}}}, "
        f"operand_layouts = [{operands}], result_layouts = [{layouts}]}} : ({types}) -> "
        + (f"({made})" if count else made)
    )
    return values


def _layout(rank: int, core: int) -> str:
    """The axes from the one that changes fastest: matrices by columns, batches outside, the first one outermost."""
    order = list(range(rank))[::-1]
    if core == 2:
        order[:2] = order[:2][::-1]
    listed = f"dense<[{', '.join(map(str, order))}]>" if order else "dense<>"
    return f"{listed} : tensor<{rank}xindex>"


def _once(e: Emitter, kind: str, a: Value, make: Any) -> list[Value]:
    """A factorisation of `a`, made once in a region of the text."""
    key = ("lapack", kind, a.name)
    found = e.writer.made.get(key)
    if found is None:
        found = e.writer.made[key] = make()
    return found


def _builtin(
    e: Emitter, name: str, args: Sequence[Value], results: Sequence[tuple[Shape, DType]]
) -> list[Value]:
    """A function that the compiler for TPUs has."""
    w = e.writer
    values = w.several("made", results)
    base = values[0].name.partition("#")[0]
    count = f":{len(results)}" if len(results) > 1 else ""
    types = ", ".join(tensor_type(a.shape, a.dtype) for a in args)
    made = ", ".join(tensor_type(shape, d) for shape, d in results)
    w.line(
        f"{base}{count} = stablehlo.custom_call @{name}({', '.join(a.name for a in args)}) : ({types}) -> "
        + (f"({made})" if count else made)
    )
    return values


def _fail(e: Emitter, s: Apply, info: Value) -> None:
    """np.linalg.LinAlgError where LAPACK has not said 0."""
    if e.checked.enabled:
        _fail_where(e, s, e.writer.compare("NE", info, e.writer.splat(0, info)))


def _fail_where(e: Emitter, s: Apply, bad: Value) -> None:
    op, w = s.op, e.writer
    assert isinstance(op, Linalg)
    if e.checked.enabled and op.error:
        some = w.reduce(bad, w.constant(False, (), BOOL), "or", range(len(bad.shape)))
        e.fail_where(some, w.integer(0), np.linalg.LinAlgError, op.error, s)


def _source(e: Emitter, rule: Rule, s: Apply, *values: Value, checks: bool = False) -> Value:
    """NumPy source on values: read, and written out here. Most of it cannot fail, so nothing in it is checked: a loop
    around carries a flag for what `s` itself may fail in.
    """
    from ...translator.reading.splicing import splice

    params = [Var("t", Aval(v.shape, v.dtype)) for v in values]
    for p, v in zip(params, values, strict=True):
        e.bind(p, v)
    b = Builder(s.span)
    result = splice(b, rule, params)
    assert isinstance(result, Var | Const)
    block = b.block((), (result,))
    e.spliced.append(block)
    enabled, e.checked.enabled = e.checked.enabled, checks
    e.block(block)
    e.checked.enabled = enabled
    return e.value(result)


def _of_nothing(e: Emitter, op: Linalg, out: Aval) -> Value:
    """Results for matrices without elements: the empty product, the identity, or nothing."""
    w = e.writer
    if op.truth:
        return w.constant(False, out.shape, BOOL)
    if op.name in ("det", "slogdet_sign"):
        return w.constant(1, out.shape, out.dtype)
    if out.size and op is not ops.SLOGDET_LOG:
        return w.constant(np.broadcast_to(np.eye(out.shape[-1]), out.shape), out.shape, out.dtype)
    return w.constant(0, out.shape, out.dtype)


# ---- the operations ------------------------------------------------------------------------------


def _cholesky(e: Emitter, s: Apply, a: Value) -> Value:
    factor, bad = _potrf(e, s, a)
    _fail_where(e, s, bad)
    return _triangle(e, factor, "GE")


def _potrf(e: Emitter, s: Apply, a: Value) -> list[Value]:
    """The factors, with something above their diagonals, and for each matrix whether it has none."""
    w, batch = e.writer, a.shape[:-2]

    def lapack() -> list[Value]:
        factor, info = _call(e, "potrf", a.dtype, [a], [(a.shape, a.dtype, 2), (batch, I32, 0)], uplo="L")
        return [factor, w.compare("NE", info, w.splat(0, info))]

    def built_in() -> list[Value]:
        factor = w.op("cholesky", a, attrs="lower = true")
        bad = w.is_nan(_source(e, diagonal_of, s, factor))
        return [factor, w.reduce(bad, w.constant(False, (), BOOL), "or", [len(batch)])]

    return _once(e, "potrf", a, lapack if e.target == "cpu" else built_in)


def _indefinite(e: Emitter, s: Apply, a: Value) -> Value:
    return _potrf(e, s, a)[1]


def diagonal_of(x: Any) -> Any:
    return np.real(np.diagonal(x, axis1=-2, axis2=-1))


def _lu(e: Emitter, a: Value) -> list[Value]:
    """The factors in one matrix, the row exchanges from 1; on CPUs what went wrong, on TPUs the order of the rows."""
    batch, n = a.shape[:-2], a.shape[-1]
    if e.target != "cpu":
        return _once(e, "lu", a, lambda: _tpu_lu(e, a))
    results = [(a.shape, a.dtype, 2), ((*batch, n), I32, 1), (batch, I32, 0)]
    return _once(e, "getrf", a, lambda: _call(e, "getrf", a.dtype, [a], results))


def _tpu_lu(e: Emitter, a: Value) -> list[Value]:
    w = e.writer
    rows = (a.shape[:-1], I32)
    lu, exchanges, order = _builtin(e, "LuDecomposition", [a], [(a.shape, a.dtype), rows, rows])
    return [lu, w.add(exchanges, w.splat(1, exchanges)), order]


def row_order(exchanges: Any) -> Any:
    """The order in which a factorisation takes the rows, from the row (counted from 1) that each is exchanged with."""
    place = np.arange(exchanges.shape[-1], dtype=np.int32)
    order = np.zeros_like(exchanges) + place
    for k in range(exchanges.shape[-1]):
        here = place == k
        chosen = place == np.sum(np.where(here, exchanges, 0), axis=-1, keepdims=True) - 1
        first = np.sum(np.where(here, order, 0), axis=-1, keepdims=True).astype(np.int32)
        second = np.sum(np.where(chosen, order, 0), axis=-1, keepdims=True).astype(np.int32)
        order = np.where(here, second, np.where(chosen, first, order))
    return order


def _solve(e: Emitter, s: Apply, a: Value, right: Value) -> Value:
    """Rows in the order of the pivots, then two triangular systems; one where the matrix is a factor itself, with its
    diagonal for pivots; NumPy's own where it is large and no factor.
    """
    w, out, n = e.writer, s.targets[0].aval, a.shape[-1]
    x = w.reshape(right, (n, 1)) if len(right.shape) == 1 else right
    batch = out.shape[:-2]
    if a.name in w.lower:
        pivots = _source(e, pivots_of, s, a)
        _fail_where(e, s, w.compare("EQ", pivots, w.splat(0, pivots)))
        whole, x = w.broadcast(a, (*batch, n, n)), w.broadcast(x, (*batch, *x.shape[-2:]))
        return w.reshape(_triangular_solve(e, whole, x, w.lower[a.name], unit=False), out.shape)
    if w.host and host_calls.solves(a, right):
        shape = (*out.shape, 1) if len(right.shape) == 1 else out.shape
        solved, info = host_calls.calls(w, "solve", [a, x], [(shape, out.dtype), ((), I32)])
        _fail(e, s, info)
        return w.reshape(solved, out.shape)
    if e.target == "cpu":
        lu, exchanges, info = _lu(e, a)
        _fail(e, s, info)
        order = _once(e, "order", a, lambda: [_source(e, row_order, s, exchanges)])[0]
    else:
        lu, _, order = _lu(e, a)
        pivots = _source(e, pivots_of, s, lu)
        _fail_where(e, s, w.compare("EQ", pivots, w.splat(0, pivots)))
    lu, order = w.broadcast(lu, (*batch, n, n)), w.broadcast(order, (*batch, n))
    x = _take_rows(e, w.broadcast(x, (*batch, *x.shape[-2:])), order)
    for lower in (True, False):
        x = _triangular_solve(e, lu, x, lower, unit=lower)
    return w.reshape(x, out.shape)


def _triangular_solve(e: Emitter, a: Value, x: Value, lower: bool, unit: bool) -> Value:
    """Solve by what a matrix has on one side of its diagonal, and on it unless that is `unit`."""
    if e.target == "cpu":
        uplo, diag = "L" if lower else "U", "U" if unit else "N"
        solved = [(x.shape, x.dtype, 2)]
        return _call(e, "trsm", x.dtype, [a, x], solved, diag=diag, side="L", trans_x="N", uplo=uplo)[0]
    w, flags = e.writer, [str(flag).lower() for flag in (lower, unit)]
    result = Value(w.fresh(), x.shape, x.dtype)
    kind = tensor_type(x.shape, x.dtype)
    w.line(
        f'{result.name} = "stablehlo.triangular_solve"({a.name}, {x.name}) <{{left_side = true, lower = {flags[0]}, '
        f"transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = {flags[1]}}}> : "
        f"({tensor_type(a.shape, a.dtype)}, {kind}) -> {kind}"
    )
    return result


def pivots_of(lu: Any) -> Any:
    return np.absolute(np.diagonal(lu, axis1=-2, axis2=-1))


def _take_rows(e: Emitter, x: Value, order: Value) -> Value:
    """x[..., order, :] of each matrix of a batch."""
    w = e.writer
    *batch, n, k = x.shape
    count = int(np.prod(batch, dtype=np.int64))
    starts = w.constant((np.arange(count) * n).reshape((count, 1)).astype(np.int64), (count, 1), I64)
    rows = w.add(w.reshape(w.convert(order, I64), (count, n)), w.broadcast(starts, (count, n)))
    flat, where = w.reshape(x, (count * n, k)), w.reshape(rows, (count * n,))
    attrs = IndexAttrs((Gather(1), Run(0, k)))
    taken = index(w, flat, attrs, (count * n, k), _no_scalar, lambda arg, axis, size: where)
    return w.reshape(taken, x.shape)


def _no_scalar(arg: int, axis: int, low: int, high: int) -> Value:
    raise AssertionError("rows are taken by an array")


def sign_of(lu: Any, exchanges: Any) -> Any:
    d = np.diagonal(lu, axis1=-2, axis2=-1)
    size = np.absolute(d)
    if d.dtype.kind == "c":
        unit = d / np.where(size == 0, 1.0, size)
    else:
        unit = np.where(d < 0, -1.0, np.where(d == 0, 0.0, 1.0)).astype(d.dtype)  # 1 for NaN, as in NumPy
    turned = np.sum(exchanges != np.arange(1, exchanges.shape[-1] + 1), axis=-1) % 2
    return np.prod(unit, axis=-1) * np.where(turned == 1, -1.0, 1.0).astype(size.dtype)


def log_of(lu: Any) -> Any:
    size = np.absolute(np.diagonal(lu, axis1=-2, axis2=-1))
    return np.where(np.any(size == 0, axis=-1), -np.inf, np.sum(np.log(size), axis=-1))  # be another one infinite


def det_of(sign: Any, log: Any) -> Any:
    return sign * np.exp(log)


def det_of_few(a: Any) -> Any:
    """Determinants of matrices of few rows, element by element: LAPACK's elimination, with its pivots. A pivot of 0
    makes all 0, whatever the others are.
    """
    n = a.shape[-1]
    rows = [[a[..., i, j] for j in range(n)] for i in range(n)]
    det: Any = 1.0
    singular: Any = False
    for k in range(n):
        for i in range(k + 1, n):
            better = np.absolute(rows[i][k]) > np.absolute(rows[k][k])
            pairs = list(zip(rows[k], rows[i], strict=True))
            rows[k] = [np.where(better, y, x) for x, y in pairs]
            rows[i] = [np.where(better, x, y) for x, y in pairs]
            det = det * np.where(better, -1.0, 1.0).astype(a.dtype)
        pivot = rows[k][k]
        divisor = np.where(pivot == 0, 1.0, pivot)  # then there are zeros below it
        for i in range(k + 1, n):
            factor = rows[i][k] / divisor
            rows[i] = [y - factor * x for x, y in zip(rows[k], rows[i], strict=True)]
        det = det * pivot
        singular = (pivot == 0) | singular
    return np.where(singular, 0.0, det) if n else det


def _determinant(e: Emitter, s: Apply, name: str, a: Value) -> Value:
    if name == "det" and e.target == "cpu" and a.shape[-1] <= FEW and len(a.shape) > 2 and a.dtype.kind == "f":
        return _source(e, det_of_few, s, a)
    lu, exchanges, _ = _lu(e, a)
    if name == "slogdet_log":
        return _once(e, "log", a, lambda: [_source(e, log_of, s, lu)])[0]
    sign = _once(e, "sign", a, lambda: [_source(e, sign_of, s, lu, exchanges)])[0]
    if name == "slogdet_sign":
        return sign
    log = _once(e, "log", a, lambda: [_source(e, log_of, s, lu)])[0]
    return _source(e, det_of, s, sign, log)


def _triangle(e: Emitter, x: Value, direction: str) -> Value:
    """The matrices with zeros where the row is not `direction` the column."""
    w, axes = e.writer, (len(x.shape) - 2, len(x.shape) - 1)
    row, column = (w.iota(x.shape, I32, axis) for axis in axes)
    result = w.select(w.compare(direction, row, column), x, w.splat(0, x))
    w.lower[result.name] = direction == "GE"
    return result


def _qr(e: Emitter, s: Apply, name: str, a: Value, full: bool) -> Value:
    w = e.writer
    *batch, m, n = a.shape
    k = min(m, n)
    results = [(a.shape, a.dtype, 2), ((*batch, k), a.dtype, 1)]
    plain = [(shape, dtype) for shape, dtype, _ in results]
    packed, scales = _once(
        e,
        "geqrf",
        a,
        lambda: _call(e, "geqrf", a.dtype, [a], results) if e.target == "cpu" else _builtin(e, "Qr", [a], plain),
    )
    columns = m if full else k
    starts = [0] * len(a.shape)
    if name == "qr_r":
        top = w.slice(packed, starts, [*batch, columns, n], [1] * len(a.shape))
        return _triangle(e, top, "LE")
    if columns > n:
        pads = [0] * (len(a.shape) - 1)
        zero = w.constant(0, (), a.dtype)
        packed = w.pad(packed, zero, starts, [*pads, columns - n], starts)
    else:
        packed = w.slice(packed, starts, [*batch, m, columns], [1] * len(a.shape))
    if e.target != "cpu":
        name = "ProductOfElementaryHouseholderReflectors"
        return _builtin(e, name, [packed, scales], [(packed.shape, a.dtype)])[0]
    return _call(e, "orgqr", a.dtype, [packed, scales], [(packed.shape, a.dtype, 2)])[0]


def _by_numpy(e: Emitter, s: Apply, kind: str, a: Value, types: Sequence[tuple[Shape, DType]]) -> list[Value]:
    """The factors as NumPy has them."""

    def made() -> list[Value]:
        *parts, info = host_calls.calls(e.writer, kind, [a], [*types, ((), I32)])
        _fail(e, s, info)
        return parts

    return _once(e, kind, a, made)


def _eigh(e: Emitter, s: Apply, name: str, a: Value) -> Value:
    *batch, n, _ = a.shape
    if e.writer.host and host_calls.factors(a) and name != "eigh_values":
        kind = "eigh_upper" if name == "eigh_vectors_upper" else "eigh"
        return _by_numpy(e, s, kind, a, [((*batch, n), real_dtype(a.dtype)), (a.shape, a.dtype)])[1]
    if ("lapack", "eigh", a.name) in e.writer.made and name == "eigh_values":
        return e.writer.made["lapack", "eigh", a.name][0]
    results = [(a.shape, a.dtype, 2), ((*batch, n), real_dtype(a.dtype), 1), (tuple(batch), I32, 0)]

    def call(mode: str, uplo: str = "L") -> list[Value]:
        made = _call(e, "syevd", a.dtype, [a], results, mode=mode, uplo=uplo)
        _fail(e, s, made[2])
        return made

    if name == "eigh_vectors_upper":
        return _once(e, "syevd V upper", a, lambda: call("V", "U"))[0]
    if name == "eigh_values" and ("lapack", "syevd V", a.name) not in e.writer.made:
        return _once(e, "syevd N", a, lambda: call("N"))[1]
    return _once(e, "syevd V", a, lambda: call("V"))[name == "eigh_values"]


def _eig(e: Emitter, s: Apply, name: str, a: Value) -> Value:
    *batch, n, _ = a.shape
    out = s.targets[0].aval.dtype
    if e.writer.host and host_calls.factors(a):
        return _by_numpy(e, s, "eig", a, [((*batch, n), out), (a.shape, out)])[name == "eig_vectors"]
    parts = 1 if a.dtype == out else 2  # of the eigenvalues of real matrices
    results = [*[((*batch, n), a.dtype, 1)] * parts, *[(a.shape, out, 2)] * 2, (tuple(batch), I32, 0)]

    def call() -> list[Value]:
        made = _call(e, "geev", a.dtype, [a], results, compute_left="N", compute_right="V")
        _fail(e, s, made[-1])
        return [made[0] if parts == 1 else e.writer.op("complex", *made[:2], dtype=out), made[-2]]

    return _once(e, "geev", a, call)[0 if name == "eig_values" else 1]


def _svd(e: Emitter, s: Apply, name: str, a: Value, full: bool) -> Value:
    *batch, m, n = a.shape
    k = min(m, n)
    position = {"svd_s": 1, "svd_u": 2, "svd_vh": 3}[name]
    made = [kind for kind in ("svd", "svd_full") if ("lapack", kind, a.name) in e.writer.made]
    if e.writer.host and host_calls.factors(a) and (name != "svd_s" or made):
        kind = made[0] if name == "svd_s" else "svd_full" if full else "svd"
        rows, columns = (m, n) if kind == "svd_full" else (k, k)
        types = [((*batch, m, rows), a.dtype), ((*batch, k), real_dtype(a.dtype)), ((*batch, columns, n), a.dtype)]
        return _by_numpy(e, s, kind, a, types)[{"svd_u": 0, "svd_s": 1, "svd_vh": 2}[name]]

    def call(mode: str) -> list[Value]:
        rows, columns = (m, n) if mode == "A" else (k, k)
        results = [
            (a.shape, a.dtype, 2),
            ((*batch, k), real_dtype(a.dtype), 1),
            ((*batch, m, rows), a.dtype, 2),
            ((*batch, columns, n), a.dtype, 2),
            (tuple(batch), I32, 0),
        ]
        made = _call(e, "gesdd", a.dtype, [a], results, mode=mode)
        _fail(e, s, made[4])
        return made

    done = [mode for mode in "SA" if ("lapack", f"gesdd {mode}", a.name) in e.writer.made]
    if full:
        mode = "A"
    elif name == "svd_s":
        mode = done[0] if done else "N"
    else:
        square = m <= n if name == "svd_u" else n <= m  # the same in both modes
        mode = done[0] if done and square else "S"
    return _once(e, f"gesdd {mode}", a, lambda: call(mode))[position]
