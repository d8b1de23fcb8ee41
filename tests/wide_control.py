"""Statements of several lines in random NumPy programs: attention, loops, branches, functions of a lane."""

from __future__ import annotations

from textwrap import indent

import numpy as np
from wide_scope import LARGEST_PRODUCT, Scope, blocks, each, is_bfloat, kind, shape_of


def attention(s: Scope) -> str | None:
    x = s.array(2, "f")
    if x is None:
        return None
    shape = shape_of(s, x)
    k = s.name(lambda v: np.ndim(v) == len(shape) and np.shape(v)[-1] == shape[-1] and kind(v) == "f") or x
    if np.size(s.known[x]) * np.size(s.known[k]) > LARGEST_PRODUCT:
        return None
    v = (
        s.name(lambda a: np.ndim(a) == len(shape) and np.shape(a)[-2] == np.shape(s.known[k])[-2] and kind(a) == "f")
        or k
    )
    mask = s.pick("", *each("""
        np.where(np.tri(*{e}.shape[-2:], dtype=bool), {e}, -np.inf);
        np.where(np.tri(*{e}.shape[-2:], dtype=bool), {e}, -1e9);
        {e} + np.triu(np.full({e}.shape[-2:], -1e9, {e}.dtype), 1); {e} + np.arange({e}.shape[-1], dtype={e}.dtype);
        np.where(np.arange({e}.shape[-1]) < 3, {e}, -np.inf); np.tanh({e} / 5) * 5;
        np.where(np.arange({e}.shape[-2])[:, None] >= np.arange({e}.shape[-1]) - 1, {e}, -np.inf)
    """))
    norm = s.pick(*blocks("""
        {e} = np.exp({e} - np.max({e}, axis=-1, keepdims=True))
        {e} = {e} / np.sum({e}, axis=-1, keepdims=True)
        {e} = {e} @ {v}

        {e} = np.exp({e} - np.max({e}, axis=-1, keepdims=True))
        {e} = ({e} @ {v}) / np.sum({e}, axis=-1, keepdims=True)

        {e} = {e} - np.log(np.sum(np.exp({e}), axis=-1, keepdims=True))
        {e} = np.exp({e})
        {e} = {e} @ {v}
    """))
    mask = f"{{e}} = {mask}\n" if mask else ""
    scale = s.pick("", " * 0.5", " / np.sqrt({x}.shape[-1])", " / 3")
    if is_bfloat(s.known[x]) or is_bfloat(s.known[k]) or is_bfloat(s.known[v]):
        norm = norm.replace("{e} @ {v}", "({e} @ {v}).astype({x}.dtype)")
        scale = ".astype({x}.dtype)" + scale
    text = f"{{e}} = ({{x}} @ np.swapaxes({{k}}, -1, -2)){scale}\n{mask}{norm}"
    return text.format(e=s.new, x=x, k=k, v=v)


# ---- control ---------------------------------------------------------------------------------------------


def stencil(s: Scope) -> str | None:
    x = s.array(1, "f")
    if x is None:
        return None
    n = s.pick("2", "3", "5", "n" if "n" in s.known else "4")
    bodies = each("""
        {e}[1:-1] = {e}[1:-1] + 0.25 * ({e}[2:] - 2 * {e}[1:-1] + {e}[:-2]);
        {e} = 0.5 * (np.roll({e}, 1, axis={a}) + np.roll({e}, -1, axis={a}));
        {e}[1:-1, 1:-1] = 0.25 * ({e}[2:, 1:-1] + {e}[:-2, 1:-1] + {e}[1:-1, 2:] + {e}[1:-1, :-2]);
        {e} = np.pad({e}, 1)[1:-1] if {e}.ndim == 1 else {e} * 0.5 + np.mean({e}, axis=0);
        {e} = {e} - 0.1 * np.mean({e}, axis={a}, keepdims=True) * _i;
        {e} = np.where({e} > 0.5, {e} * 0.5, {e} + 0.25); {e}[_i % len({e})] = {e}[_i % len({e})] * 0.5 + _i;
        {e} = np.cumsum({e}, axis={a}) * 0.25; {e} = np.sort({e}, axis={a}) * 0.5
    """) + blocks("""
        {e}[..., 1:] += 0.5 * {e}[..., :-1]
        {e}[..., 0] = {x}[..., 0]

        {e} = np.tanh({e} + 0.1 * {x})
        {e}[0] = 1

        _u = {e}.copy()
        _u[1:] = {e}[1:] - 0.5 * ({e}[1:] - {e}[:-1])
        {e} = _u

        if np.sum({e}) > 0.5:
            {e} = {e} * 0.5
        else:
            {e} = {e} + 0.25

        if _i == 1:
            continue
        {e} = {e} * 0.5 + _i

        if np.max({e}) > 3:
            break
        {e} = {e} * 1.5 + _i
    """)
    body = indent(str(s.pick(*bodies)).format(e=s.new, x=x, a=s.axis(x)), "    ")
    return f"{s.new} = {x}.copy()\nfor _i in range({n}):\n{body}"


def sequential(s: Scope) -> str | None:
    """Loops over elements."""
    x = s.name(lambda v: np.ndim(v) == 1 and 0 < np.size(v) < 300)
    if x is None:
        return None
    y = s.name(lambda v: np.shape(v) == shape_of(s, x)) or x
    bodies = blocks("""
        {e} = 0.0
        for _i in range(len({x})):
            {e} = {e} * 0.5 + {x}[_i]

        {e} = np.zeros(len({x}))
        for _i in range(1, len({x})):
            {e}[_i] = 0.5 * {e}[_i - 1] + {x}[_i]

        {e} = np.zeros_like({x})
        for _i in range(len({x})):
            {e}[_i] = {x}[_i] * 2 + {y}[len({x}) - 1 - _i]

        {e} = 0
        for _i in range(len({x})):
            if {x}[_i] > {y}[0]:
                {e} += 1

        {e} = {x}[0]
        for _v in {x}:
            {e} = max({e}, _v)

        {e} = {x}.copy()
        for _i in range(len({x})):
            for _j in range(3):
                {e}[_i] = {e}[_i] * 0.5 + _j

        {e} = 0.0
        for _i in range(len({x})):
            if {x}[_i] > 1:
                break
            {e} += {x}[_i]

        {e} = np.zeros((len({x}), 3))
        for _i in range(len({x})):
            for _j in range(3):
                {e}[_i, _j] = {x}[_i] - _j * {y}[_i]

        {e} = np.zeros(5)
        for _i in range(len({x})):
            {e}[_i % 5] += {x}[_i]

        {e} = 1
        while {e} < 100 and {x}[{e} % len({x})] < 1:
            {e} = {e} * 2 + 1

        {e} = np.zeros(len({x}))
        for _i in range(len({x})):
            _z, _k = {x}[_i] * 0.5, 0
            while abs(_z) < 2 and _k < 9:
                _z = _z * _z + 0.25
                _k += 1
            {e}[_i] = _k

        {e} = np.zeros(len({x}), int)
        for _i in range(len({x})):
            {e}[_i] = np.argmax({x}[: _i + 1])

        {e} = 0
        for _i in range(len({x})):
            {e} = ({e} * 31 + _i) % 1009 + ({x}[_i] > 0)
    """)
    return s.pick(*bodies).format(e=s.new, x=x, y=y)


def iterated(s: Scope) -> str | None:
    """`while` whose condition the device computes."""
    x = s.array(0, "f")
    if x is None:
        return None
    bodies = blocks("""
        {e} = {x} + 0.0
        _k = 0
        while np.sum(np.abs({e})) > 1 and _k < 9:
            {e} = {e} * 0.5
            _k += 1

        {e} = {x} + 0.0
        _k = 0
        while True:
            {e} = np.tanh({e})
            _k += 1
            if _k > 4 or np.max({e}) < 0.7:
                break

        {e} = {x} * 0.0
        while np.max({e}) < 3:
            {e} = {e} + 1

        {e} = {x} + 0.0
        if np.any({x} > 1):
            {e} = {e} * 2
        elif np.all({x} < 0):
            {e} = -{e}

        {e} = {x} + 0.0
        _k = 0
        while _k < 6 and not np.all({e} < 0.5):
            {e} = np.where({e} < 0.5, {e}, {e} - 0.25)
            _k += 1

        {e} = ({x} * 2) if np.mean({x}) > 0 else ({x} - 1)
    """)
    return s.pick(*bodies).format(e=s.new, x=x)


def mapped(s: Scope) -> str | None:
    """Functions of one lane, with control flow of their own."""
    x = s.array(1, "f")
    if x is None:
        return None
    bodies = blocks("""
        def _f(v):
            k = 0
            while k < 9 and v * v < 4:
                v = v * v * 0.5 + 0.75
                k += 1
            return v, k
        {e} = vmap(_f)({x}.ravel())[{n}]

        def _f(v):
            for k in range(7):
                if v > 1:
                    break
                v = v + 0.375
            return v * k
        {e} = vmap(_f)({x}.ravel())

        def _f(v):
            return v * 2 if v > 0 else v - 1
        {e} = vmap(_f)({x}.ravel())

        def _f(r):
            return np.sum(r * r) / (1 + np.max(r))
        {e} = vmap(_f)({x})

        def _f(r):
            k = 0
            while np.sum(r) > 1 and k < 5:
                r = r * 0.5
                k += 1
            return r
        {e} = vmap(_f)({x})

        def _f(r):
            s = 0.0
            for v in r:
                if v < 0:
                    continue
                s = s * 0.5 + v
            return s
        {e} = vmap(_f)({x})

        def _f(r):
            r = r.copy()
            if r[0] > 0:
                r[0] = 5
            return r
        {e} = vmap(_f)({x})
    """)
    return s.pick(*bodies).format(e=s.new, x=x, n=s.pick(0, 1))


def drawn(s: Scope) -> str | None:
    x = s.array(1, "f")
    if x is None or np.size(s.known[x]) ** 2 > LARGEST_PRODUCT:
        return None
    k = s.r.randint(0, 99)
    forms = each("""
        {x}.astype(np.float32) + random.normal(random.key({k}), {x}.shape);
        np.where(random.bernoulli(random.key({k}), 0.7, {x}.shape), {x} / 0.7, 0);
        np.sum(random.uniform(random.key({k}), {x}.shape) * {x}, axis={a});
        random.randint(random.key({k}), {x}.shape, 0, 10) * {x};
        random.uniform(random.key({k}), {x}.shape, np.float64); {x} @ random.uniform(random.key({k}), {x}.shape).T;
        random.permutation(random.key({k}), {x});
        random.normal(random.fold_in(random.key({k}), 3), {x}.shape, np.float64) * {x};
        random.bits(random.key({k}), {x}.shape, np.uint8); random.choice(random.key({k}), {x}.ravel(), (3,))
    """)
    return s.into(s.pick(*forms).format(x=x, k=k, a=s.axis(x)))
