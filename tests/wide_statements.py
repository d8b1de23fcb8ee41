"""Statements of random NumPy programs, by kind: each function writes one in terms of the variables there are,
or gives None."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from wide_control import attention, drawn, iterated, mapped, sequential, stencil
from wide_scope import CASTS, LARGEST_PRODUCT, REDUCE, Scope, blocks, each, is_bfloat, kind, shape_of

# ---- elementwise and reductions -------------------------------------------------------------------------


def elementwise(s: Scope) -> str | None:
    x = s.name(lambda v: isinstance(v, np.ndarray | np.generic))  # powers of Python's integers have no end
    return s.into(s.expression(x)) if x else None


def chain(s: Scope) -> str | None:
    """Several statements' worth of work at once."""
    x = s.array()
    return s.into(f"{s.expression(x)} + {s.expression(x)} * {s.expression(x, 2)}") if x else None


def out_or_dtype(s: Scope) -> str | None:
    x = s.array()
    if x is None:
        return None
    form = s.pick(
        "np.add({0}, {1}, dtype={2})",
        "np.multiply({0}, {1}, out={0})",
        "np.sum({0}, dtype={2})",
        "np.add({0}, {1}, where={0} > 0, out={0})",
        "np.full_like({0}, 2, dtype={2})",
        "np.zeros({0}.shape, {2})",
        "np.arange({0}.size, dtype={2}).reshape({0}.shape)",
        "np.asarray({0}, {2})",
        "{0}.mean(dtype={2})",
        "np.linspace(0, 1, {0}.shape[0], dtype={2})",
    )
    return s.into(form.format(x, s.partner(x), s.pick(*CASTS)))


def in_place(s: Scope) -> str | None:
    x = s.array(0)
    if x is None:
        return None
    op = s.pick("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>")
    return f"{x} {op}= {s.partner(x)}"


def reduction(s: Scope) -> str | None:
    x = s.array(0)
    if x is None:
        return None
    f, keep = s.pick(*REDUCE), s.pick("", "", ", keepdims=True")
    extra = (
        s.pick(f", initial={s.pick(0, 1, 5)}", f", where={x} > 0")
        if f in ("sum", "prod", "max", "min") and s.chance(0.1)
        else ""
    )
    if f in ("max", "min") and "where" in extra:
        extra += ", initial=1"
    if f in ("var", "std", "nanvar") and s.chance(0.3):
        extra = ", ddof=1"
    if f in ("linalg.norm", "linalg.vector_norm"):
        extra = s.pick("", ", ord=1", ", ord=np.inf", ", ord=3", ", ord=0", ", ord=-np.inf")
    single = f.startswith(("arg", "nanarg")) or (f == "linalg.norm" and extra) or ".reduce" in f
    axes = str(s.axis(x)) if single and s.chance(0.9) else s.axes(x)
    inner = s.expression(x, s.r.randint(0, 2))
    after = s.pick("{0}", "{0}", "{0} * 2", "np.tanh({0})", "{0} + 1").format(
        f"np.{f}({inner}, axis={axes}{extra}{keep})"
    )
    return s.into(after)


def rows(s: Scope) -> str | None:
    """Several reductions along the same axes with work before, between and after them."""
    x = s.array(1)
    if x is None:
        return None
    ax = s.axes(x) if s.chance(0.3) else str(s.axis(x))
    k = f"axis={ax}, keepdims=True"
    forms = each("""
        np.exp({x} - np.max({x}, {k})) / np.sum(np.exp({x} - np.max({x}, {k})), {k});
        ({x} - np.mean({x}, {k})) / np.sqrt(np.var({x}, {k}) + 1e-3);
        {x} / np.sqrt(np.mean({x} * {x}, {k}) + 1e-3) * {y};
        np.log(np.sum(np.exp({x} - np.max({x}, {k})), {k})) + np.max({x}, {k});
        np.sum({x} * {y}, {k}) - np.min({x}, {k}) * np.max({y} + {x}, {k});
        np.where({x} > np.mean({x}, {k}), {x}, np.min({x}, {k}));
        np.argmax({x}, axis={a}, keepdims=True) + np.argmin({x}, axis={a}, keepdims=True) * 2;
        {x} - np.max({x}, {k}) + np.any({x} > 1, {k});
        np.sum(np.where({x} == np.max({x}, {k}), {y}, 0), axis={ax});
        np.cumsum({x}, axis={a}) / np.sum(np.abs({x}) + 1, {k});
        np.count_nonzero({x}, axis={a}) + np.sum({x} > {y}, axis={a});
        np.std({x}, axis={ax}) + np.mean({x}, axis={ax});
        np.sum(({x} - np.mean({x}, {k})) ** 3, axis={ax}) / (1 + np.var({x}, axis={ax}));
        np.prod(np.tanh({x}) + 1, axis={ax}) - np.max({x}, axis={ax});
        np.sum({x}, axis={ax}) / np.sum({x} * {x} + 1, axis={ax}) + np.sum({y} * {x}, axis={ax});
        np.log(np.sum(np.exp(np.clip({x}, -5, 5)), axis={ax})) - np.mean({x}, axis={ax});
        np.sum(np.maximum({x} - np.sum({x}, {k}), 0), axis={ax});
        np.all({x} < np.max({x}, {k}) + 1, axis={ax}) ^ np.any(np.isnan({x}), axis={ax})
    """)
    e = s.expression(x, s.r.choice((0, 0, 1)))
    return s.into(s.pick(*forms).format(x=e, y=s.partner(x), k=k, ax=ax, a=s.axis(x)))


def scan(s: Scope) -> str | None:
    x = s.array(1)
    if x is None:
        return None
    a = s.axis(x)
    e = s.expression(x, s.r.randint(0, 2))
    forms = each("""
        np.cumsum({e}, axis={a}); np.cumprod({e}, axis={a}); np.maximum.accumulate({e}, axis={a});
        np.minimum.accumulate({e}, axis={a}); np.logaddexp.accumulate({e}, axis={a}); np.cumsum({e});
        np.diff({e}, axis={a}); np.add.accumulate({e}, axis={a}); np.multiply.accumulate({e}, axis={a});
        np.cumsum({e}[::-1], axis={a})[::-1]; np.cumsum({e}, axis={a}, dtype=np.float64);
        np.logical_or.accumulate({e}, axis={a}); np.nancumsum({e}, axis={a});
        np.cumsum(np.cumsum({e}, axis={a}), axis={a}); np.flip(np.cumsum(np.flip({e}, {a}), axis={a}), {a}) * 2;
        np.cumsum({e}, axis={a}) - np.cumsum({e} * 2, axis={a}); np.trapezoid({e}, axis={a});
        np.diff({e}, n=2, axis={a}, prepend=0); np.exp(np.cumsum(-np.abs({e}), axis={a}));
        np.bitwise_xor.accumulate({e}, axis={a}); np.gradient({e}, axis={a})
    """)
    return s.into(s.pick(*forms).format(e=e, a=a))


# ---- shapes, slices, gathers -----------------------------------------------------------------------------


def cut(s: Scope, n: int) -> str:
    """One dimension's part of a basic index."""
    if s.chance(0.35):
        return ":"
    if s.chance(0.2):
        return str(s.r.randint(-n, n - 1)) if n else ":"
    step = s.pick("", "", ":2", ":3", ":-1", ":-2")
    start = s.pick("", str(s.r.randint(-n, n)))
    stop = s.pick("", str(s.r.randint(-n, n)), "-1")
    return f"{start}:{stop}{step}"


def index(s: Scope, x: str) -> str:
    parts = [cut(s, n) for n in shape_of(s, x)]
    if s.chance(0.3):
        parts = parts[: s.r.randint(0, len(parts))] or ["..."]
    if s.chance(0.15):
        parts.insert(s.r.randint(0, len(parts)), "None")
    return ", ".join(parts)


def sliced(s: Scope) -> str | None:
    x = s.array(1)
    return s.into(s.expression(f"{x}[{index(s, x)}]", 0) + s.pick("", " * 2", " + 1", ".copy()")) if x else None


def shaped(s: Scope) -> str | None:
    x = s.array(1)
    if x is None:
        return None
    a, n = s.axis(x), s.r.randint(-3, 5)
    order = list(range(len(shape_of(s, x))))
    s.r.shuffle(order)
    y = s.name(lambda v: np.shape(v) == shape_of(s, x)) or x
    if np.size(s.known[x]) > LARGEST_PRODUCT**0.5:
        return s.into(
            s.pick("{x}.T", "np.flip({x}, {a})", "np.roll({x}, {n})", "{x}.reshape(-1)").format(x=x, a=a, n=n)
        )
    forms = each("""
        {x}.T; np.transpose({x}, {o}); {x}.reshape(-1); {x}.reshape({x}.shape[0], -1);
        np.concatenate([{x}, {y}], axis={a}); np.stack([{x}, {y}], axis={a}); np.flip({x}, {a});
        np.roll({x}, {n}, axis={a}); np.roll({x}, {n}); np.tile({x}, 2); np.repeat({x}, 2, axis={a});
        np.pad({x}, 1); np.pad({x}, (2, 1), mode='edge'); np.broadcast_to({x}, (2,) + {x}.shape); np.squeeze({x});
        np.expand_dims({x}, {a}); np.moveaxis({x}, 0, -1); np.tril({x}); np.triu({x}, 1); np.diag({x});
        np.outer({x}, {y}); np.kron({x}, {y}); np.ravel({x}, order='F'); np.split({x}, 2, axis={a})[1];
        np.hstack([{x}, {y}]); np.vstack([{x}, {y}]); np.rot90({x}); np.pad({x}, 2, mode='reflect');
        np.pad({x}, 1, mode='wrap'); np.fliplr({x}); np.diagonal({x}); np.trace({x}); np.atleast_2d({x});
        np.swapaxes({x}, 0, {a}); np.vander({x}, 3); np.meshgrid({x}, {y})[0]; np.append({x}, {y});
        np.array([{x}, {y} * 2]); np.insert({x}, 0, 5); np.delete({x}, 0, axis={a}); np.resize({x}, (3, 2));
        np.lib.stride_tricks.sliding_window_view({x}, 2, axis={a});
        np.lib.stride_tricks.sliding_window_view({x}, 3, axis={a}).sum(-1); np.broadcast_arrays({x}, {y})[0] + 1;
        np.eye({x}.shape[0]) + {x}; np.tri({x}.shape[0]) * 1; np.convolve({x}, {y}[:3]);
        np.correlate({x}, {y}[:2], 'same'); np.interp({x}, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]);
        np.polyval([1.0, -2.0, 0.5], {x}); np.cross({x}, {y})
    """)
    return s.into(s.pick(*forms).format(x=x, y=y, a=a, n=n, o=order))


def places(s: Scope, x: str, axis: int = 0) -> str | None:
    """Integers that index an axis of `x`."""
    n = shape_of(s, x)[axis]
    if n == 0:
        return None
    i = s.array(1, "iu")
    if i and s.chance(0.6) and np.size(s.known[i]) * np.size(s.known[x]) <= LARGEST_PRODUCT:
        return f"({i} % {n})" if s.chance(0.7) else f"np.clip({i}, 0, {n - 1})"
    if s.chance(0.4):
        return str([s.r.randint(-n, n - 1) for _ in range(s.r.randint(1, 4))])
    f = s.array(1, "f")
    if f and np.size(s.known[f]) * np.size(s.known[x]) > LARGEST_PRODUCT:
        return None
    return (
        f"(np.rint(np.nan_to_num({f})).astype(int) % {n})"
        if f and s.chance(0.5)
        else f"(np.arange({s.r.randint(1, 9)}) * 3 % {n})"
    )


def gathered(s: Scope) -> str | None:
    x = s.array(1)
    if x is None:
        return None
    a = s.axis(x)
    i = places(s, x, 0)
    j = places(s, x, a)
    if i is None or j is None:
        return None
    m = s.name(lambda v: np.shape(v) == shape_of(s, x) and kind(v) == "b")
    forms = [
        *each("""
        {x}[{i}]; {x}[..., {l}]; np.take({x}, {j}, axis={a}); np.take({x}, {i}); {x}[{i}] * 2 + 1;
        np.sum({x}[{i}]); np.take_along_axis({x}, np.argsort({x}, axis={a}, kind='stable'), axis={a}); {x}[{i}, 0];
        {x}[:, {l}]; {x}[{i}][::-1]; np.take_along_axis({x}, np.argmax({x}, axis={a}, keepdims=True), axis={a});
        np.tanh({x})[{i}]; {x}[np.arange(len({x})), 0]; np.take({x}, {j}, axis={a}, mode='clip');
        np.take({x}, {j}, axis={a}, mode='wrap'); {x}[None, {i}]; {x}[{i}[0]];
        {x}[np.arange(len({x}))[:, None], {l}]; np.choose({x} > 0, [{x}, 2]);
        np.select([{x} > 1, {x} < 0], [{x}, 0], 5); {x}[{i}, {l}]; np.where({m}, {x}, 0)[{i}]; np.sum({x}[{m}]);
        np.mean({x}, where={m}); {x}[np.nonzero({x})[0][:1]]; {x}[1:, {i}]; {x}[{i}, ::2]
    """)
    ]
    last = places(s, x, -1)
    return s.into(s.pick(*forms).format(x=x, i=i, j=j, a=a, m=m or f"({x} > 0)", l=last))


def stored(s: Scope) -> str | None:
    x = s.array(1)
    if x is None:
        return None
    i = places(s, x, 0)
    op = s.pick("=", "=", "+=", "*=", "-=", "/=")
    value = s.expression(s.partner(x), s.r.randint(0, 1))
    y = s.array(1)
    forms = [
        "{x}[{c}] {op} {v}",
        "{x}[{c}] {op} {v}",
        "{x}[{c}] {op} {x}[{c}] * 2",
        "{x}[{x} > 0] {op} 2",
        "{x}[{x} < {n}] = {n}",
        "{x}[1:] {op} {x}[:-1]",
        "{x}[:-1] {op} {x}[1:]",
        "{x}[::2] {op} 3",
        "{x}[..., 0] {op} {v}",
        "{x}[-1] {op} {x}[0]",
        "{x}[:] = {v}",
        "{x}[...] = {v}",
        "np.copyto({x}, {v})",
        "np.copyto({x}, 2, where={x} > 0)",
        "np.fill_diagonal({x}, 2)",
        "{x}[::-1] = {x}",
        "{x}[:] = {x}[::-1]",
        "{x}.T[...] = {v}",
        "{x}[np.isnan({x})] = 0",
        "np.putmask({x}, {x} > 1, 1)",
        "_w = {x}[{c}]\n_w {op} 2",
        "_w = {x}[1:]\n_w[...] = {x}[:-1] * 2",
        "{x}[0], {x}[-1] = {x}[-1], {x}[0]",
        "{x}.fill(2)",
        "{x}[{x} > 0] {op} {x}[{x} > 0] * 2",
        "{x}[{c}] = {y}",
        "np.minimum({x}, 1, out={x})",
        "np.place({x}, {x} > 0, [1])",
    ]
    if i:
        forms += [
            *each("""
            {x}[{i}] = {n}; {x}[{i}] += {n}; np.add.at({x}, {i}, {n}); np.add.at({x}, {i}, {v});
            np.maximum.at({x}, {i}, {n}); np.multiply.at({x}, {i}, {n}); {x}[{i}] = {x}[{i}][::-1];
            {x}[..., {l}] {op} {n}; np.subtract.at({x}, ({i}, 0), 1);
            np.put_along_axis({x}, np.argmax({x}, axis={a}, keepdims=True), {n}, axis={a}); {x}[{i}, 0] {op} {n};
            np.minimum.at({x}, {i}, {x}[0]); {x}[{i}] = np.arange(len({i})) * 2; np.add.at({x}, {i}, {x}[{i}]);
            np.put({x}, {i}, {n}); {x}[np.arange(len({x})), {l}] {op} {n}
        """)
        ]
    number = s.pick("0", "1", "2", "0.5", "-1.0", "3")
    text = str(s.pick(*forms))
    last = places(s, x, -1)
    return text.format(x=x, c=index(s, x), op=op, v=value, n=number, i=i, a=s.axis(x), y=y, l=last)


def scattered(s: Scope) -> str | None:
    i = s.array(1, "iu")
    f = s.array(1, "fiu")
    if i is None or f is None:
        return None
    w = s.name(lambda v: np.shape(v) == shape_of(s, i) and kind(v) in "fiub") or i
    m = s.r.choice((1, 3, 8, 100, 5000))
    forms = each("""
        np.bincount(({i} % {m}).ravel(), minlength={m});
        np.bincount(({i} % {m}).ravel(), weights={w}.ravel(), minlength={m});
        np.histogram({f}, bins=5, range=(-2, 2))[0]; np.histogram({f}, bins=np.array([-1.0, 0.0, 0.5, 3.0]))[0];
        np.digitize({f}, np.array([-1.0, 0.0, 1.0])); np.searchsorted(np.array([-1.0, 0.0, 0.5, 2.0]), {f});
        np.isin({i}, [1, 2, 5]); np.searchsorted(np.sort({f}.ravel()), {f}, side='right')
    """) + blocks("""
        np.zeros({m})
        np.add.at({new}, {i} % {m}, {w})

        np.zeros({m}, int)
        np.add.at({new}, {i} % {m}, 1)

        np.zeros(({m}, 2), np.float32)
        np.add.at({new}, ({i} % {m}, 1), {w})

        np.zeros({m})
        {new}[{i} % {m}] = {w}

        np.zeros({m}, {w}.dtype)
        {new}[{i} % {m}] += {w}

        np.full({m}, -5.0)
        np.maximum.at({new}, {i} % {m}, {w})

        np.full({m}, 50.0)
        np.minimum.at({new}, {i} % {m}, {w} + 1)

        np.ones({m})
        np.multiply.at({new}, {i} % {m}, np.tanh({w}) + 1.5)

        np.zeros(({m}, 3))
        {new}[{i} % {m}] = 7

        np.zeros((2, {m}))
        {new}[:, {i} % {m}] = {w}

        np.zeros(({m}, {m}) if {m} < 10 else ({m}, 1))
        np.add.at({new}, ({i} % {m}, {i} % {new}.shape[1]), {w})
    """)
    return f"{s.new} = " + s.pick(*forms).format(i=i, f=f, w=w, m=m, new=s.new)


def ordered(s: Scope) -> str | None:
    x = s.array(1)
    if x is None or is_bfloat(s.known[x]):  # of which ml_dtypes sorts no NaNs
        return None
    forms = each("""
        np.sort({e}, axis={a}); np.argsort({e}, axis={a}, kind='stable'); np.median({e}, axis={a});
        np.sort({e}, axis={a})[::-1]; np.quantile({e}, 0.25, axis={a}); np.sort({e}, axis=None);
        np.percentile({e}, [10, 90], axis={a}); np.lexsort(({e},)); np.sort({e}, axis={a}) * 2 + 1
    """)
    return s.into(s.pick(*forms).format(e=s.expression(x, s.r.randint(0, 1)), a=s.axis(x)))


# ---- products --------------------------------------------------------------------------------------------


def operand(s: Scope, x: str) -> str:
    forms = each("""
        {0}; {0}; {0}; np.tanh({0}); ({0} * 2); ({0} + 1); np.where({0} > 0, {0}, 0); {0}.astype(np.float32); (-{0})
    """)
    return str(s.pick(*forms)).format(x)


def product(s: Scope) -> str | None:
    x = s.array(1)
    if x is None:
        return None
    shape = shape_of(s, x)
    y = s.name(lambda v: np.ndim(v) > 0 and np.shape(v)[-2 if np.ndim(v) > 1 else -1] == shape[-1])
    z = s.name(lambda v: np.ndim(v) > 0 and np.shape(v)[-1] == shape[-1])
    w = s.name(lambda v: np.ndim(v) > 0 and np.shape(v)[0] == shape[0])
    o = s.array(1)
    sizes = [np.size(s.known[n or x]) for n in (x, y, z, w, o)]
    if sizes[0] * max(sizes) > LARGEST_PRODUCT:
        return None
    forms = each("{x} @ {y}; {x} @ {y}; np.dot({x}, {y}); np.matmul({x}, {y})") if y else ()
    forms += each("""
        {x} @ np.swapaxes({z}, -1, -2); np.inner({x}, {z}); np.einsum('...i,...i->...', {x}, {z}); {x} @ {z}.T;
        np.vecdot({x}, {z}); {x}.T @ {w}; np.tensordot({x}, {w}, axes=(0, 0)); np.einsum('i...,i...->...', {x}, {w});
        np.einsum('ij,ik->jk', {x}, {w}); np.einsum('ij,kj->ik', {x}, {z}); np.einsum('ij,kj->ki', {x}, {z});
        np.einsum('ij,ij->', {x}, {z}); np.einsum('ij->j', {x}); np.einsum('ii->i', {x});
        np.einsum('ij,ij->ij', {x}, {x}); np.einsum('i,j->ij', {x}, {o});
        np.vdot({x}, {w}); np.outer({x}, {o}); np.einsum('bij,bkj->bik', {x}, {z});
        np.linalg.matmul({x}, {z}.T); np.einsum('abc,c->ab', {x}, {z})
    """)
    args = {k: operand(s, v or x) for k, v in dict(x=x, y=y, z=z or x, w=w or x, o=o).items()}
    made = s.pick(*forms).format(**args)
    if any(is_bfloat(s.known[n]) for n in (x, y, z, w, o) if n):  # whose products are bfloat16 here, float32 in NumPy
        made = f"({made}).astype({x}.dtype)"
    after = s.pick(*each("""
        {0}; {0}; {0}; np.tanh({0}); {0} + 1; np.maximum({0}, 0); {0} * {n}; {0} / 8; np.sum({0}, axis=-1);
        np.max({0}, axis=-1); np.sum({0} * {0}, axis=0)
    """))
    return s.into(str(after).format(f"({made})", n=s.name() or "2"))


STATEMENTS: dict[str, Sequence[Callable[[Scope], str | None]]] = {
    "elementwise": (elementwise, chain, out_or_dtype, in_place),
    "reduction": (reduction,),
    "rows": (rows,),
    "scan": (scan,),
    "slices": (sliced, stored),
    "shapes": (shaped,),
    "gather": (gathered,),
    "store": (stored,),
    "scatter": (scattered,),
    "sort": (ordered,),
    "product": (product,),
    "attention": (attention,),
    "loops": (stencil, sequential),
    "while": (iterated,),
    "lanes": (mapped,),
    "random": (drawn,),
}
