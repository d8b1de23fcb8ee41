"""JAX's names and options, one expression each, against JAX: `lax`, `x.at[...]`, `ops`, `nn`, `eval_shape`.

The expressions of a group are one function, so that each group is compiled once. `x`, `m`, ... are in ARGUMENTS.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import untraced
from untraced import ShapeDtypeStruct, accelerate, eval_shape, grad, vmap
from untraced import numpy as unp

R = np.random.default_rng(5)
ARGUMENTS: dict[str, Any] = {
    "v": np.abs(R.normal(size=6)) + 0.5,
    "m": R.normal(size=(3, 4)),
    "s": R.normal(size=(3, 3)) + 3 * np.eye(3),
    "a": R.normal(size=(2, 5, 6, 3)),
    "w": R.normal(size=(3, 2, 3, 4)),
    "i": np.array([2, 0, 2]),
    "k": 1,
}
ROWS = "lax.ScatterDimensionNumbers((), (0,), (0,))"
GROUPS: dict[str, list[str]] = {
    "gathered": [
        "lax.gather(m, i[:, None], lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 4))",
        "lax.gather(m, jnp.stack([i, i + 2], 1), lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1), mode='clip')",
        "lax.gather(v, 2 * i[:, None], lax.GatherDimensionNumbers((1,), (), (0,)), (3,), mode='fill', fill_value=7.0)",
        "lax.gather(m, i[:, None, None], lax.GatherDimensionNumbers((2,), (), (1,), (0,), (0,)), (1, 2), mode='clip')",
        "lax.gather(v, 2 * i[:, None], lax.GatherDimensionNumbers((1,), (), (0,)), (3,))",
        f"lax.scatter(v, i[:2, None], v[:2], {ROWS})",
        f"lax.scatter_add(v, 3 * i[:, None], v[:3], {ROWS})",
        "lax.scatter_add(m, i[:, None], m, lax.ScatterDimensionNumbers((1,), (0,), (0,)))",
        f"lax.scatter_sub(v, i[:, None], v[:3], {ROWS}, mode='clip')",
        f"lax.scatter_min(v, i[:, None], v[:3] / 2, {ROWS})",
        f"lax.scatter_max(v, i[:, None], v[:3] * 2, {ROWS})",
        f"lax.scatter_mul(v, i[:2, None], v[:2], {ROWS}, unique_indices=True)",
        "lax.index_take(m, (i,), (0,))",
    ],
    "windows": [
        "lax.conv_transpose(a, w, (2, 2), 'SAME')",
        "lax.conv_transpose(a, w, (2, 3), 'VALID', rhs_dilation=(1, 2))",
        "lax.conv_transpose(a, w, (1, 2), [(1, 1), (0, 2)])",
        "lax.conv_transpose(a, w.swapaxes(2, 3), (2, 1), 'SAME', transpose_kernel=True)",
        "lax.conv_general_dilated(a, w, (1, 2), 'SAME', dimension_numbers=lax.conv_dimension_numbers(a.shape, w.shape,"
        " ('NHWC', 'HWIO', 'NHWC')))",
        "lax.conv_with_general_padding(a.transpose(0, 3, 1, 2), w.T, (2, 1), ((1, 0), (0, 2)), (1, 2), (1, 1))",
        "lax.conv_general_dilated_local(a, jnp.ones((2, 2, 18, 4)) * a[0, :2, :2, :1, None], (2, 3), [(0, 1), (1, 0)],"
        " (2, 3), dimension_numbers=('NHWC', 'HWIO', 'NHWC'), rhs_dilation=(2, 1))",
        "lax.reduce_window(m, 0.0, lax.add, (2, 2))",
        "lax.dot(m, m, dimension_numbers=(((1,), (1,)), ((), ())), precision=lax.Precision.HIGHEST)",
    ],
    "sorted": [
        "lax.sort((i, v[:3], m[:, 0]), num_keys=2)",
        "lax.sort((m, -m), dimension=0)",
        "lax.sort_key_val(v, -v)",
        "lax.top_k(m, 2, axis=0)",
        "lax.cumlogsumexp(m, axis=1, reverse=True)",
        "lax.argmax(m, axis=0, index_dtype=jnp.int64)",
        "lax.reduce(m, -jnp.inf, lax.max, (0, 1))",
        "lax.reduce((m, m), (0.0, 1.0), lambda p, q: (p[0] + q[0], p[1] * q[1]), (1,))",
        "lax.reduce_sum(m, (0,)), lax.reduce_prod(m, axes=(1,)), lax.reduce_max(m, (0,)), lax.reduce_min(m, (0, 1))",
        "lax.split(m, (1, 3), axis=1), lax.tile(m, (2, 1)), lax.collapse(a, 1, 3), lax.broadcast_to_rank(m, 3)",
        "lax.stack([m, -m], 1), lax.unstack(m), lax.unstack(m, -1), lax.broadcast_shapes((3, 1), (4,), m.shape)",
        "lax.full_like(m, 2, shape=(2,)), lax.optimization_barrier(m)",
        "lax.scan(lambda c, t: ({'h': c['h'] + t['p'] @ t['q']}, {'o': t['p'], 'n': None}), {'h': 1.0},"
        " {'p': m, 'q': m})",
    ],
    "arithmetic": [
        "lax.erf_inv(v / 4), lax.bessel_i0e(v), lax.bessel_i1e(v), lax.round(v)",
        "lax.abs(lax.complex(v, v)), jnp.abs(lax.fft(m, 'RFFT', (4,))), jnp.abs(lax.fft(m, 'fft', (4,)))",
        "lax.round(jnp.array([0.5, 1.5, -2.5])), lax.round(jnp.array([0.5, 1.5]), lax.RoundingMethod.TO_NEAREST_EVEN)",
        "lax.reduce_precision(v.astype(jnp.float32) * 1e3, 5, 4), lax.reduce_precision(m * 1e-5, 5, 10)",
        "lax.bitcast_convert_type(v, jnp.int64), lax.bitcast_convert_type(v.astype(jnp.float32), jnp.uint8)",
        "lax.ragged_dot(m, a[:, :4, :2, 0], jnp.array([2, 1]))",
        "lax.reduce_window((m, m), (0.0, 1.0), lambda p, q: (p[0] + q[0], p[1] * q[1]), (2, 1), (1, 2), 'SAME')",
        "lax.bitcast_convert_type(lax.bitcast_convert_type(v, jnp.int32), jnp.float64)",
        "lax.clz(i), lax.population_count(i), lax.shift_right_logical(-i, i)",
        "lax.shift_right_logical(-i, 2), lax.shift_right_logical(-5, i)",
        "lax.population_count((i - 2).astype(jnp.int8)), lax.population_count(-i)",
        "lax.cumsum((i + 99).astype(jnp.int8)), lax.cumprod((i + 99).astype(jnp.int32) << 8, reverse=True)",
        "lax.reduce_precision(v.astype(jnp.bfloat16), 5, 3).astype(jnp.float32)",
        "lax.dot(i[None].astype(jnp.bfloat16), i[:, None].astype(jnp.bfloat16)).astype(jnp.float32)",
        "lax.mulhi(i - 3 << 60, 7 - i << 61), lax.mulhi((i << 30).astype(jnp.int32), i.astype(jnp.int32) - 9)",
        "lax.broadcast_like(v[:1], m), lax.empty((2, 3), jnp.float64), lax.empty(3, jnp.int32)",
        "lax.full((2,), 1.0, lax.dtype(m))",
        "lax.composite(lambda x: x + 1, 'add.one')(m)",
        "lax.mulhi((i - 3).astype(jnp.uint64), (i - 5).astype(jnp.uint64)), lax.mulhi(i - 1, -(i << 61))",
        "lax.bitcast_convert_type(v + 1j, jnp.complex128)",
        "lax.dot_general(i[None].astype(jnp.int8), (i + 99)[:, None].astype(jnp.int8), (((1,), (0,)), ((), ())),"
        " preferred_element_type=jnp.int32)",
    ],
    "matrices": [
        "lax.linalg.cholesky(s @ s.T)",
        "lax.linalg.triangular_solve(s, m, left_side=True, lower=True)",
        "lax.linalg.triangular_solve(s, m.T, transpose_a=True, unit_diagonal=True)",
        "lax.linalg.triangular_solve(jnp.eye(3, dtype=jnp.float16), m.astype(jnp.float16), left_side=True)",
        "jnp.abs(lax.linalg.qr(s, full_matrices=False)[1]), lax.linalg.eigh(s)[1]",
        "lax.linalg.svd(s, compute_uv=False)",
        "lax.linalg.tridiagonal_solve(v[:3], v[3:] + 2, v[1:4], m)",
        "jnp.sort(jnp.abs(lax.linalg.eig(s)[0])), jnp.abs(lax.linalg.eig(s)[1]), lax.linalg.eig(s + 0j)[2]",
        "lax.linalg.hessenberg(a[0, 0, :3] + s * 1j), lax.linalg.hessenberg(a[:, :3, 0])",
        "lax.linalg.tridiagonal(s + s.T), lax.linalg.tridiagonal(a[:, 2:5, 1] + s.T, lower=False)[1:3]",
        "lax.linalg.householder_product(a[0, 0], v[:3]), lax.linalg.ormqr(s, v[:2], m, transpose=True)",
        "lax.linalg.ormqr(s, v[:2], m.T, left=False), lax.linalg.cholesky_update(jnp.triu(s), v[:3])",
        "lax.linalg.lu_pivots_to_permutation(jnp.array([[2, 2], [1, 3]], jnp.int32), 4)",
        "lax.linalg.lu(a[:, :, :, 0]), lax.linalg.lu(s[i - 1] + 3j * s[::-1]), lax.linalg.eig(jnp.zeros((0, 0)))",
        "lax.linalg.qdwh(m.T)[:2], lax.linalg.qdwh(s + 1j * m[:, :3])[:2], lax.linalg.schur(s + s.T)[0]",
        "lax.linalg.symmetric_product(s, s + s.T, alpha=2.0, beta=0.5, symmetrize_output=True)",
        "lax.linalg.svd(s, full_matrices=False, compute_uv=False, subset_by_index=(0, 3))",
    ],
    "at": [
        "jnp.asarray(v).at[3 * i].set(1.0, mode='clip'), jnp.asarray(v).at[3 * i].add(1.0, mode='drop')",
        "jnp.asarray(v).at[k + 5].multiply(2.0, mode='drop'), jnp.asarray(v).at[9].set(0.0, mode='fill')",
        "jnp.asarray(v).at[3 * i].get(mode='fill', fill_value=7.0), jnp.asarray(v).at[3 * i - 12].get(mode='clip')",
        "jnp.asarray(m).at[2 * i, 1:].min(0.0, mode='drop'), jnp.asarray(m).at[..., 2 * i].max(v[:3], mode='drop')",
        "jnp.asarray(v).at[1:4].apply(jnp.sin), jnp.asarray(v).at[i].get(unique_indices=False)",
    ],
    "ops": [
        "jax.ops.segment_sum(v[:3], i, 4), jax.ops.segment_sum(m, i, num_segments=3, indices_are_sorted=False)",
        "jax.ops.segment_max(v[:3], i - 1, 2), jax.ops.segment_min(v[:3], i, 2), jax.ops.segment_prod(m, i, 3)",
        "jax.ops.segment_max(i, i, 3), jax.ops.segment_min(i, i, 3)",
        "[jax.ops.segment_sum(v[:3], i - 1, 2, mode=m) for m in (None, 'drop', 'clip', lax.GatherScatterMode.CLIP)]",
        "jax.ops.segment_max(v[:3], i + 1, 2, mode='clip'), jax.ops.segment_prod(v[:3], i - 1, 2, mode='clip')",
    ],
    "nn": [
        *(
            f"nn.{name}(2 * m)"
            for name in (
                "relu relu6 leaky_relu hard_sigmoid hard_silu hard_tanh elu celu selu gelu silu mish soft_sign "
                "squareplus sparse_plus sparse_sigmoid sigmoid log_sigmoid softplus softmax log_softmax glu standardize"
            ).split()
        ),
        "nn.gelu(m, approximate=False), nn.softmax(m, axis=0, where=m > 0), nn.log1mexp(v)",
        "nn.logmeanexp(m), nn.logmeanexp(m, 1, keepdims=True), nn.logmeanexp(m, (0, 1), where=m > 0), nn.tanh(v)",
        "nn.one_hot(i - 1, 2), nn.one_hot(i, 3, dtype=jnp.float32, axis=0)",
    ],
}


def made(group: str, jax_like: Any, numpy_like: Any) -> Any:
    lines = "".join(f"        ({text}),\n" for text in GROUPS[group])
    text = f"def f({', '.join(ARGUMENTS)}):\n    return (\n{lines}    )\n"
    text += f"\ndef total({', '.join(ARGUMENTS)}):\n    s = 0.0\n"
    text += f"    for leaf in jax.tree_util.tree_leaves(f({', '.join(ARGUMENTS)})):\n"
    text += "        s = s + jnp.sum(jnp.sin(leaf))\n    return s\n"
    file = f"<lax names {group} {jax_like.__name__}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"jax": jax_like, "lax": jax_like.lax, "nn": jax_like.nn, "jnp": numpy_like}
    exec(compile(text, file, "exec"), names)
    return names["f"], names["total"]


def agree(got: Any, wanted: Any, group: str) -> None:
    for text, ours, theirs in zip(GROUPS[group], got, wanted, strict=True):
        pairs = zip(untraced.tree.leaves(ours), jax.tree.leaves(theirs), strict=True)
        for x, y in ((np.asarray(x), np.asarray(y)) for x, y in pairs):
            assert x.shape == y.shape and x.dtype.kind == y.dtype.kind, text
            rtol = 1e-9 if x.dtype != np.float32 else 1e-6  # XLA's transcendentals differ in the last digits
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=text)


@pytest.fixture(autouse=True)
def double() -> Any:
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("group", GROUPS)
def test_under_cpython_and_compiled(group: str) -> None:
    ours, theirs = made(group, untraced, unp)[0], made(group, jax, jnp)[0]
    wanted = jax.jit(theirs, static_argnames="k")(**ARGUMENTS)
    agree(ours(**ARGUMENTS), wanted, group)
    agree(accelerate(ours)(**ARGUMENTS), wanted, group)


@pytest.mark.parametrize("group", ["gathered", "windows", "at", "nn"])
def test_batched(group: str) -> None:
    ours, theirs = made(group, untraced, unp)[0], made(group, jax, jnp)[0]
    batch = [np.stack([x, 0.9 * x + 0.01]) if np.asarray(x).dtype.kind == "f" else x for x in ARGUMENTS.values()]
    axes = tuple(0 if np.asarray(x).dtype.kind == "f" else None for x in ARGUMENTS.values())
    agree(vmap(ours, axes)(*batch), jax.jit(jax.vmap(theirs, axes))(*batch), group)


@pytest.mark.parametrize("group", ["windows", "nn"])
def test_differentiated(group: str) -> None:
    places = tuple(k for k, x in enumerate(ARGUMENTS.values()) if np.asarray(x).dtype.kind == "f")
    ours, theirs = made(group, untraced, unp)[1], made(group, jax, jnp)[1]
    got, wanted = grad(ours, places)(*ARGUMENTS.values()), jax.jit(jax.grad(theirs, places))(*ARGUMENTS.values())
    for x, y in zip(got, wanted, strict=True):
        np.testing.assert_allclose(x, np.asarray(y), rtol=1e-8, atol=1e-8)  # other orders of summation


NHWC, IMAGE, KERNEL = ("NHWC", "HWIO", "NHWC"), (2, 9, 8, 3), (3, 2, 3, 5)
SHAPES: list[tuple[str, tuple[Any, ...]]] = [
    ("conv_general_permutations", (NHWC,)),
    ("conv_general_shape_tuple", (IMAGE, KERNEL, (2, 1), "SAME", NHWC)),
    ("conv_general_shape_tuple", (IMAGE, KERNEL, (1, 3), ((1, 0), (0, 4)), NHWC)),
    ("conv_shape_tuple", ((4, 3, 9), (5, 3, 2), (2,), "VALID", 2)),
    ("conv_transpose_shape_tuple", (IMAGE, KERNEL, (2, 3), "SAME", NHWC)),
    ("conv_transpose_shape_tuple", (IMAGE, KERNEL, (2, 3), "VALID", NHWC)),
    ("padtype_to_pads", ((9, 8), (3, 2), (2, 1), "SAME_LOWER")),
    ("reduce_window_shape_tuple", ((9, 8), (3, 2), (2, 1), ((1, 0), (0, 2)), (1, 2), (2, 1))),
]


@pytest.mark.parametrize("name, arguments", SHAPES)
def test_shapes_of_windows(name: str, arguments: tuple[Any, ...]) -> None:
    assert getattr(untraced.lax, name)(*arguments) == getattr(jax.lax, name)(*arguments)


def test_a_part_of_the_values() -> None:
    s, linalg = ARGUMENTS["s"], untraced.lax.linalg
    u, d, vh = linalg.svd(s, full_matrices=False, subset_by_index=(1, 3))
    assert np.allclose((u * d) @ vh, s - np.linalg.norm(s, 2) * np.outer(linalg.svd(s)[0][:, 0], linalg.svd(s)[2][0]))
    with pytest.raises(ValueError, match="a part of the singular values"):
        linalg.svd(s, subset_by_index=(1, 3))
    vectors, values = linalg.eigh(s, subset_by_index=(1, 3))
    assert np.allclose((s + s.T) / 2 @ vectors, vectors * values) and values[0] == linalg.eigh(s)[1][1]


def test_philox() -> None:
    """The known answers of its authors, for the key and the counter 0 and the stream goes on behind it."""

    def draw(key: Any) -> Any:
        return untraced.lax.rng_bit_generator(key, (2, 2))

    zero, ones = np.zeros(4, np.uint32), np.array([2**32 - 1] * 2 + [0, 0], np.uint32)
    for f in (draw, accelerate(draw)):
        assert f(zero)[1].tolist() == [[0x6627E8D5, 0xE169C58D], [0xBC57AC4C, 0x9B00DBD8]]
        after, bits = f(ones)
        assert after.tolist() == [*ones[:2], 1, 0] and bits.dtype == np.uint32
    both = untraced.lax.rng_bit_generator(zero, (5,))[1]
    wide = untraced.lax.rng_bit_generator(zero.view(np.uint64), (2,), np.uint64)[1]
    assert np.array_equal(wide.view(np.uint32), both[:4])
    with pytest.raises(TypeError, match="a key is uint32"):
        untraced.lax.rng_bit_generator(np.zeros(2, np.uint32), (2,))


def test_updates_of_arrays_on_a_device() -> None:
    x = unp.arange(6.0)
    y = untraced.lax.dynamic_update_slice(x, unp.ones(2), (1,))
    assert isinstance(y, untraced.Array) and y.tolist() == [0, 1, 1, 3, 4, 5]
    numbers = untraced.lax.ScatterDimensionNumbers((), (0,), (0,))
    z = untraced.lax.scatter_add(x, np.array([[0], [9]]), unp.ones(2), numbers)
    assert isinstance(z, untraced.Array) and z.tolist() == [1, 1, 2, 3, 4, 5]
    assert x.at[np.array([1, 9])].get(mode="fill", fill_value=-1.0).tolist() == [1, -1]
    assert np.isnan(x.at[9].get(mode="fill", fill_value=np.nan))
    assert x.at[9].get(mode="fill", fill_value=unp.array(7.0)) == 7
    assert x.at[1:3].apply(np.square).tolist() == [0, 1, 4, 3, 4, 5]


def test_a_slice_must_fit() -> None:
    with pytest.raises(TypeError, match="size 5 does not fit into an axis of size 3"):
        accelerate(lambda x: untraced.lax.dynamic_slice(x, (0,), (5,)))(np.ones(3))


WRONG: list[tuple[Callable[[Any, Any], Any], type[Exception]]] = [
    (lambda m, x: m.lax.dynamic_slice(x, (0, 0, 0), (1, 1)), ValueError),
    (lambda m, x: m.lax.dynamic_slice(x, (0, 0), (1, 1, 1)), ValueError),
    (lambda m, x: m.lax.dynamic_slice(x, (0, 0), (-1, 1)), TypeError),
    (lambda m, x: m.lax.dynamic_update_slice(x, x, (0,)), ValueError),
    (lambda m, x: m.lax.slice(x, (0, 0), (1, 9)), TypeError),
    (lambda m, x: m.lax.slice(x, (1, 0), (0, 1)), TypeError),
    (lambda m, x: m.lax.slice(x, (0,), (1,)), ValueError),
    (lambda m, x: m.lax.slice_in_dim(x, 0, 1, axis=5), IndexError),
    (lambda m, x: m.lax.dynamic_index_in_dim(x, 0, axis=4), IndexError),
    (lambda m, x: m.lax.pad(x, 0.0, ((0, 0, 0),)), ValueError),
    (lambda m, x: m.lax.pad(x, x[0], ((0, 0, 0), (0, 0, 0))), ValueError),
    (lambda m, x: m.lax.iota(np.float64, -1), TypeError),
    (lambda m, x: m.lax.broadcasted_iota(np.int64, (2, 3), 4), ValueError),
    (lambda m, x: m.lax.dot_general(x, x, (((0,), (0,)), ((0,), (0,)))), TypeError),
    (lambda m, x: m.lax.dot_general(x, x, (((0,), (2,)), ((), ()))), TypeError),
    (lambda m, x: m.lax.conv(x, x, (1,), "SAME"), ValueError),
    (lambda m, x: m.lax.conv_general_dilated(x[None], x[None], (0,), "SAME"), ValueError),
    (lambda m, x: m.lax.reduce_window(x, 0.0, m.lax.add, (2,), (1,), "VALID"), TypeError),
    (lambda m, x: m.lax.argmax(x, 0, np.float32), TypeError),
    (lambda m, x: m.lax.scan(lambda c, a: (c, a), 0.0, 3.0), ValueError),
    (lambda m, x: m.lax.map(lambda a: a, 3.0), ValueError),
    (lambda m, x: m.lax.switch(0.5, [lambda: 1.0]), TypeError),
    (lambda m, x: m.lax.associative_scan(m.lax.add, x, axis=3), ValueError),
    (lambda m, x: m.lax.bitcast_convert_type(x.astype(np.float32), np.float64), ValueError),
    (lambda m, x: m.lax.reduce_precision(x, 8, -1), ValueError),
    (lambda m, x: m.nn.one_hot(np.arange(3), 3, axis=7), ValueError),
    (lambda m, x: m.ops.segment_sum(x, np.arange(2), num_segments=-1), ValueError),
]


@pytest.mark.parametrize("call, error", WRONG)
def test_what_does_not_fit_is_refused_as_in_jax(call: Callable[[Any, Any], Any], error: type[Exception]) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises(Exception):  # noqa: B017  # whatever it raises
        call(jax, jnp.asarray(x))
    for f in (lambda x: call(untraced, x), accelerate(lambda x: call(untraced, x))):
        with pytest.raises(error):
            f(x)


def test_special_functions_have_jaxs_names() -> None:
    lax, special = untraced.lax, untraced.scipy.special
    names = {"igamma": "gammainc", "igammac": "gammaincc", "betainc": "betainc", "zeta": "zeta", "erf_inv": "erfinv"}
    for ours, theirs in {**names, "polygamma": "polygamma"}.items():
        assert getattr(lax, ours).__untraced_numpy__ is getattr(special, theirs).__untraced_numpy__


def test_at_without_a_mode_is_an_error_out_of_range() -> None:
    with pytest.raises(IndexError):
        unp.arange(3.0).at[7].set(1.0)
    with pytest.raises(ValueError, match="mode must be one of"):
        unp.arange(3.0).at[np.array([7])].set(1.0, mode="sideways")


def test_eval_shape() -> None:
    def step(params: dict[str, Any], x: Any) -> Any:
        return {"h": np.tanh(x @ params["w"]), "n": x.shape[0], "none": None}, np.argmax(x)

    x = ShapeDtypeStruct((5, 3), np.float32)
    out = eval_shape(step, {"w": np.zeros((3, 2))}, x)
    assert out == (
        {"h": ShapeDtypeStruct((5, 2), np.float64), "n": ShapeDtypeStruct((), np.int64), "none": None},
        ShapeDtypeStruct((), np.int64),
    )
    assert eval_shape(accelerate(grad(lambda v: (v * v).sum())), ShapeDtypeStruct((4,), float)).shape == (4,)
    with pytest.raises(ValueError, match="product of shapes"):
        eval_shape(step, {"w": np.zeros((4, 2))}, x)


def test_what_is_known_of_the_machine() -> None:
    def f(x: Any) -> Any:
        n = untraced.device_count() * untraced.local_device_count() * untraced.process_count()
        return x.reshape(n, -1) * len(untraced.devices()) + untraced.process_index()

    x = np.arange(6.0)
    n = len(untraced.devices())
    wanted = vmap(lambda row: row)(np.stack([f(x)] * 2))
    for run in (vmap(f), accelerate(vmap(f))):
        assert np.array_equal(run(np.stack([x] * 2)), wanted)
    assert np.array_equal(grad(lambda x: f(x).sum())(x), np.full(6, float(n)))


def test_platform_dependent() -> None:
    def f(x: Any) -> Any:
        return untraced.lax.platform_dependent(x, cpu=lambda x: x + 1, tpu=lambda x: x + 2, default=lambda x: x)

    assert f(3.0) == 4.0 and accelerate(f)(3.0) == 4.0 and grad(f)(3.0) == 1.0
    source = accelerate(f, target="triton").inspect(np.ones(3)).source
    assert "+" not in source
    with pytest.raises(NotImplementedError, match="cpu="):
        untraced.lax.platform_dependent(1.0, tpu=lambda x: x)


LENGTHS = np.array([3, 6], np.int32)


@pytest.mark.parametrize(
    "options",
    [
        {"implementation": "xla", "is_causal": True},
        {"local_window_size": 2},
        {"local_window_size": (1, 0), "is_causal": True, "scale": 0.5},
        {"query_seq_lengths": LENGTHS, "key_value_seq_lengths": LENGTHS[::-1].copy()},
    ],
)
def test_attention(options: dict[str, Any]) -> None:
    q, k, v = (np.random.default_rng(n).normal(size=(2, 6, heads, 3)) for n, heads in ((0, 4), (1, 2), (2, 2)))
    wanted = jax.nn.dot_product_attention(q, k, v, **options)
    for f in (untraced.nn.dot_product_attention, accelerate(untraced.nn.dot_product_attention)):
        np.testing.assert_allclose(f(q, k, v, **options), wanted, atol=1e-6)  # JAX's softmax is in float32


def test_relu_keeps_nan() -> None:
    x = np.array([np.nan, -1.0, 3.0, 7.0])
    for f in (untraced.nn.relu, untraced.accelerate(untraced.nn.relu), untraced.vmap(untraced.nn.relu)):
        np.testing.assert_array_equal(f(x), [np.nan, 0.0, 3.0, 7.0])
    np.testing.assert_array_equal(untraced.nn.relu6(x), [np.nan, 0.0, 3.0, 6.0])
