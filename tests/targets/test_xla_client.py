"""The CPU client: buffers to and from NumPy, writable results, dispatch, both orders of importing jax, errors."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xla_programs import program

from untraced import accelerate, device_put
from untraced.tpu.client import executable as client
from untraced.tpu.client import platform
from untraced.tpu.client.options import Flags, compile_options
from untraced.tpu.emit.program import Emitted, emit
from untraced.tpu.shaping.apart import MARK
from untraced.tpu.shaping.fusion_guard import swallows_products
from untraced.tpu.shaping.older_emitters import made_sooner, nests, suits_older_emitters
from untraced.tpu.shaping.repeats import repeats
from untraced.translator import make, ops
from untraced.translator.errors import DTypeError, TargetError
from untraced.translator.ops.core import At, Dyn

READ_ONLY = np.arange(5.0)
READ_ONLY.setflags(write=False)
ARRAYS = {
    "plain": np.arange(6.0),
    "large": np.arange(100_000.0),
    "read only": READ_ONLY,
    "strided": np.arange(10.0)[::2],
    "backwards": np.arange(10.0)[::-1],
    "column major": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "bool": np.array([True, False, True]),
    "int8": np.arange(5, dtype=np.int8),
    "uint64": np.array([0, 2**64 - 1], np.uint64),
    "float16": np.linspace(0, 1, 5).astype(np.float16),
    "bfloat16": np.linspace(0, 1, 5).astype(ml_dtypes.bfloat16),
    "large bfloat16": np.linspace(0, 1, 50_000).astype(ml_dtypes.bfloat16),
    "complex64": np.array([1 + 2j], np.complex64),
    "complex128": np.arange(3) * 1j,
    "zero dimensional": np.array(3.0),
    "scalar": np.float32(2.5),
    "empty": np.zeros((0, 3)),
    "misaligned": np.arange(11.0)[1:],
    "odd address": np.frombuffer(bytearray(8 * 20_000 + 1), np.uint8)[1:].view(np.float64),
    "large transposed": np.arange(90_000.0).reshape(300, 300).T,
    "foreign byte order": np.arange(4, dtype=">f8"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_to_the_device_and_back(name: str) -> None:
    x = ARRAYS[name]
    back = client.view(client.to_device(x))
    np.testing.assert_array_equal(back, x)
    assert back.dtype == np.asarray(x).dtype.newbyteorder("=")
    assert not back.flags.writeable


@pytest.mark.parametrize("name", ARRAYS)
def test_results_are_fresh_and_writable(name: str) -> None:
    x = np.asarray(ARRAYS[name])
    native = x.astype(x.dtype.newbyteorder("="))
    executable = client.compile(emit(program(lambda b, x: [x, x], native)))
    for _ in range(3):
        before = np.array(x)
        first, second = executable.run_numpy([x])
        np.testing.assert_array_equal(first, x)
        assert first.dtype == native.dtype
        assert first.flags.writeable and first.flags.c_contiguous
        assert not np.shares_memory(first, x)
        if x.size:
            assert not np.shares_memory(first, second)
            first[...] = second.flat[0]
            np.testing.assert_array_equal(x, before)
            np.testing.assert_array_equal(second, x)


def test_results_outlive_the_program() -> None:
    x = np.arange(50_000.0)
    executable = client.compile(emit(program(lambda b, x: make.add(b, x, 1.0), x)))
    results = [executable.run_numpy([x + k])[0] for k in range(5)]
    del executable
    for k, r in enumerate(results):
        np.testing.assert_array_equal(r, x + k + 1)


def test_device_buffers_do_not_see_later_writes() -> None:
    aligned = np.zeros(100_008)
    offset = -aligned.ctypes.data % 64 // 8
    for x in (np.ones(4), np.ones(100_000), aligned[offset : offset + 100_000]):
        x[...] = 1.0
        executable = client.compile(emit(program(lambda b, x: make.add(b, x, 1.0), x)))
        buffer = client.to_device(x)
        (result,) = executable.run([x])
        x[...] = 5.0
        np.testing.assert_array_equal(client.view(buffer), np.ones_like(x))
        np.testing.assert_array_equal(client.view(result), np.full_like(x, 2.0))


def test_mixed_arguments_and_python_numbers() -> None:
    def build(b: Any, x: Any, n: Any, c: Any) -> Any:
        return make.where(b, c, make.multiply(b, x, n), x)

    executable = client.compile(emit(program(build, np.ones(3), 2.0, np.bool_(True))))
    x = np.arange(3.0)
    for argument in (x, client.to_device(x), x.astype(np.float32), x.tolist()):
        (result,) = executable.run_numpy([argument, 3, True])
        np.testing.assert_array_equal(result, 3 * x)
        (buffer,) = executable.run([argument, 3, True])
        np.testing.assert_array_equal(client.view(buffer), 3 * x)


def test_a_program_without_arguments_or_results() -> None:
    executable = client.compile(emit(program(lambda b: make.full(b, (3,), 1.5, np.dtype(np.float64)))))
    np.testing.assert_array_equal(executable.run_numpy([])[0], [1.5] * 3)
    assert client.compile(emit(program(lambda b, x: [], np.ones(3)))).run_numpy([np.ones(3)]) == []


def test_checks_of_asynchronous_runs() -> None:
    x = np.arange(5.0)
    executable = client.compile(emit(program(lambda b, x, i: make.index(b, x, (At(Dyn(0)),), (i,)), x, 0)))
    good, bad = executable.run([x, 4]), executable.run([x, 7])
    executable.check(good)
    assert client.view(good[0]) == 4.0
    with pytest.raises(IndexError, match="index 7"):
        executable.check(bad)


def test_donated_arguments_are_reused() -> None:
    x = np.ones(1000)
    executable = client.compile(emit(program(lambda b, x: make.add(b, x, 1.0), x), donate=(0,)))
    assert executable.memory["alias"] == x.nbytes
    buffer = client.to_device(x)
    (result,) = executable.run([buffer])
    assert buffer.is_deleted()
    np.testing.assert_array_equal(client.view(result), x + 1)
    np.testing.assert_array_equal(executable.run_numpy([x])[0], x + 1)
    np.testing.assert_array_equal(x, np.ones(1000))


def test_texts_and_statistics() -> None:
    x = np.ones((8, 8))
    executable = client.compile(emit(program(lambda b, x: make.matmul(b, x, x), x)))
    assert "HloModule" in executable.hlo
    assert executable.cost["flops"] >= 1024
    assert executable.memory["argument"] == x.nbytes


def test_backend_errors_are_clean() -> None:
    wrong = Emitted("wrong", "module @m { nonsense }", (), ())
    with pytest.raises(TargetError, match="XLA cannot compile wrong"):
        client.compile(wrong)


def test_dtypes_that_xla_lacks() -> None:
    if np.dtype(np.longdouble) == np.dtype(np.float64):
        pytest.skip("long double is double here")
    with pytest.raises(DTypeError, match="longdouble|float128"):
        emit(program(lambda b, x: make.add(b, x, x), np.ones(3, np.longdouble)))


def test_backend_options_reach_the_compiler() -> None:
    xla = platform.platform().xla_client
    plain = xla.CompileOptions().SerializeAsString()
    edited = compile_options(xla, {"xla_cpu_small_while_loop_byte_threshold": "77"}, Flags(ynn_reductions=False))
    serialized = edited.SerializeAsString()
    assert b"xla_cpu_small_while_loop_byte_threshold" in serialized
    assert len(serialized) > len(plain)
    executable = client.compile(
        emit(program(lambda b, x: make.add(b, x, 1.0), np.ones(3))), {"xla_cpu_small_while_loop_byte_threshold": "77"}
    )
    np.testing.assert_array_equal(executable.run_numpy([np.zeros(3)])[0], np.ones(3))




# ---- what the client decides for the compiler -----------------------------------------------------


def network(b: Any, x: Any, *weights: Any) -> Any:
    *hidden, last = weights
    for w in hidden:
        x = make.elementwise(b, ops.TANH, make.matmul(b, x, w))
    x = make.matmul(b, x, last)
    e = make.elementwise(b, ops.EXP, make.subtract(b, x, make.max(b, x, (1,), keepdims=True)))
    return make.divide(b, e, make.sum(b, e, (1,), keepdims=True))


def test_products_swallowed_by_one_slow_fusion_are_kept_apart() -> None:
    x, weights = np.ones((8, 1024), np.float32), [np.ones((1024, 1024), np.float32)] * 3
    emitted = emit(program(network, x, *weights))
    swallowed = client.compile(emitted, ynn_reductions=True)
    assert swallows_products(emitted.text, swallowed.loaded)
    assert not swallows_products(emitted.text, client.compile(emitted).loaded)
    x, weights = np.ones((4096, 128), np.float32), [np.ones((128, 128), np.float32)] * 3
    emitted = emit(program(network, x, *weights))
    assert not swallows_products(emitted.text, client.compile(emitted, ynn_reductions=True).loaded)  # the faster form


PICKS = np.random.default_rng(0).integers(1, 13, (40, 3)).tolist()


def woven(x: Any) -> Any:
    made = [x + k for k in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]
    for i, j, k in PICKS:
        made.append(made[-i] * made[-j] + 0.3 * made[-k])
    return made[-12:]


def test_arithmetic_that_fusion_would_repeat_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(0, 0.1, 600).reshape(20, 30)
    made = accelerate(woven, target="cpu").inspect(x)
    assert made.hlo.count(" add(") < 60
    assert not any(c.startswith("%fused") and " tuple(" in c for c in made.hlo.split("\n\n"))  # see options.JOINING
    assert repeats(made.stablehlo)
    assert not repeats(emit(program(lambda b, x: make.multiply(b, x, x), x)).text)
    monkeypatch.setattr(client, "repeats", lambda text: False)
    assert accelerate(woven, target="cpu").inspect(x).hlo.count(" add(") > 120


def test_on_few_elements_arithmetic_is_repeated() -> None:
    """Another kernel takes longer to begin than hundreds of operations on them do."""

    def little(x: Any) -> Any:
        made = [x + k for k in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]
        for i, j, k in PICKS[:10]:
            made.append(made[-i] * made[-j] + 0.3 * made[-k])
        return made[-12:]

    made = accelerate(little, target="cpu").inspect(np.ones((20, 30)), compile=False)
    assert repeats(made.stablehlo)
    assert not repeats(made.stablehlo.replace("20x", "2x"))


def turned(x: Any) -> Any:
    for _ in [1] * 4:
        x = (x - np.roll(x, 1, axis=0)) * np.sin(x) + np.roll(x, -1, axis=1)
        x = (x - x[::-1]) * np.sin(x) + x[:, ::-1]
        x = (x - x[::-1]) * np.sin(x) + x[:, ::-1]
    return x


def test_kernels_end_where_they_would_do_the_same_over_and_over() -> None:
    x = np.linspace(0, 1, 600).reshape(20, 30)
    made = accelerate(turned, target="cpu").inspect(x)
    assert made.hlo.count(" sine(") == 12 and made.hlo.count(" opt-barrier(") == made.stablehlo.count(MARK + " =") > 8
    np.testing.assert_allclose(accelerate(turned, target="cpu")(x), turned(x), rtol=1e-9, atol=1e-12)
    few = accelerate(turned, target="cpu").inspect(x[:2, :3], compile=False)  # which costs less than another kernel
    assert 0 < few.stablehlo.count(MARK + " =") < 8


def test_a_row_is_computed_once_for_all_rows() -> None:
    def waves(x: Any, y: Any) -> Any:
        return np.sin(x) * np.cos(y)[:, None]

    accelerated = accelerate(waves, target="cpu")
    x, y = np.linspace(0, 1, 300), np.linspace(0, 1, 200)
    text = accelerated.inspect(x, y, compile=False).stablehlo
    assert text.count(MARK + " =") == 1  # what is the same along a row leaves the loop over it anyway
    np.testing.assert_allclose(accelerated(x, y), waves(x, y), rtol=1e-14)
    assert MARK not in accelerated.inspect(x[:20], y[:30], compile=False).stablehlo


def test_what_a_factor_repeats_along_its_rows_is_computed_once() -> None:
    def weighed(x: Any, a: Any) -> Any:
        return np.einsum("ijk,ijl->jkl", np.exp(x)[..., None] * a, a)

    accelerated = accelerate(weighed, target="cpu")
    rng = np.random.default_rng(1)
    x, a = rng.random((200, 10)), rng.random((200, 10, 16))
    assert accelerated.inspect(x, a, compile=False).stablehlo.count(MARK + " =") == 1
    np.testing.assert_allclose(accelerated(x, a), weighed(x, a), rtol=1e-12)


def scaled(u: Any, by: Any) -> Any:
    for _ in [1] * 9:
        u = np.maximum(np.roll(u, 1, 0) / by, u[:, ::-1] / (abs(u) + by))
    return u


def test_quotients_are_rounded_once_where_barriers_end_kernels() -> None:
    u = np.random.default_rng(0).random((80, 90))
    u[3, 4], u[5, 6] = np.nan, np.inf
    accelerated = accelerate(scaled, target="cpu")
    assert MARK in accelerated.inspect(u, 0.7, compile=False).stablehlo
    np.testing.assert_array_equal(accelerated(device_put(u), 0.7), scaled(u, 0.7))


def looked_up(x: Any, y: Any, z: Any, places: Any) -> Any:
    z = z.copy()
    x = np.where(z > x, x[0], x)
    z[places] += 0.5
    y = np.rot90(x) * 0.5 + y * 0.5
    x = np.minimum((z[::-1] + 1e16) - 1e16, np.broadcast_to(z[0], z.shape) / z) * 0.5 + x * 0.5
    z = y[::-1] * 0.5 + z * 0.5
    return x, y, y * 0.5 + z * 0.5


def test_no_kernel_writes_where_it_reads_under_another_name() -> None:
    """What stands behind a barrier that is kept is the same memory as what stands in front of it."""
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(64, 64)) for _ in range(3)]
    accelerated = accelerate(looked_up, target="cpu")
    places = random.integers(0, 64, 64)
    assert MARK in accelerated.inspect(*arrays, places, compile=False).stablehlo
    for found, expected in zip(accelerated(*arrays, places), looked_up(*arrays, places), strict=True):
        np.testing.assert_array_equal(found, expected)


def squared(n: Any) -> Any:
    for _ in [1] * 9:
        n = np.maximum(np.roll(n, 1, 0) ** 2 % 1000, n[:, ::-1] ** 2 - n ** 2)
    return n


def test_where_barriers_of_integers_are_read_beside_what_they_bar_none_are_kept() -> None:
    n = np.random.default_rng(0).integers(-90, 90, (80, 90))
    accelerated = accelerate(squared, target="cpu")
    assert MARK not in accelerated.inspect(n, compile=False).stablehlo
    np.testing.assert_array_equal(accelerated(device_put(n)), squared(n))


def stepped(u: Any, steps: Any) -> Any:
    def slope(u: Any) -> Any:
        return 0.2 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u) - u / (1 + u)

    for _ in range(steps):
        first = slope(u)
        second = slope(u + 0.05 * first)
        u = u + 0.1 * slope(u + 0.1 * second)
    return u


@pytest.mark.parametrize("size, kept", [(200, True), (20, False)])
def test_loops_that_become_functions_have_no_barriers(size: int, kept: bool) -> None:
    u = np.linspace(0, 1, size * size).reshape(size, size) ** 2
    accelerated = accelerate(stepped, target="cpu")
    assert (MARK in accelerated.inspect(u, 3, compile=False).stablehlo) == kept
    np.testing.assert_allclose(accelerated(u, 3), stepped(u, 3), rtol=1e-12)


def test_what_no_other_element_needs_is_not_kept() -> None:
    """Halves of an array are no second use of all of it."""

    def halves(x: Any) -> Any:
        for _ in [1] * 6:
            x = np.tanh(x) * 2 + 1
            x = np.concatenate((x[len(x) // 2 :], x[: len(x) // 2]))
        return x

    assert MARK not in accelerate(halves, target="cpu").inspect(np.ones(1000), compile=False).stablehlo


def rolled(x: Any) -> Any:
    for step in [1] * 9:
        x = x * np.roll(x, step, axis=0) - np.roll(x, -step, axis=0) * np.roll(x, step, axis=1)
    return x


def test_many_concatenations_behind_each_other_end_kernels() -> None:
    """It took minutes to compile these in one kernel when told to make nothing twice."""
    x = np.linspace(0, 1, 600).reshape(20, 30)
    made = accelerate(rolled, target="cpu").inspect(x)
    assert made.stablehlo.count("concatenate") > 18 and not nests(made.stablehlo)
    np.testing.assert_allclose(accelerate(rolled, target="cpu")(x), rolled(x), rtol=1e-9, atol=1e-15)


def test_kernels_end_before_branches_nest_too_deep() -> None:
    """128 x 128 elements: by the older emitters such a program took six times as long."""

    def twisted(x: Any) -> Any:
        for _ in [1] * 3:
            x = x + np.roll(x, 1, 0) * x - np.roll(np.roll(x, -1, 0), 1, 1) * x
        return x

    x = np.random.default_rng(0).random((128, 128))
    made = accelerate(twisted, target="cpu").inspect(x, compile=False).stablehlo
    assert f"{MARK} =" in made and not nests(made)
    np.testing.assert_allclose(accelerate(twisted, target="cpu")(x), twisted(x), rtol=1e-9, atol=1e-12)


def test_what_two_kernels_need_is_kept_and_not_what_one_makes_of_it() -> None:
    """Both kernels made all of r again: 29 ms at 1,000 x 1,000, and now 3.4."""

    def neighbours(x: Any) -> Any:
        return np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) + np.roll(x, -1, 1)

    def twice(x: Any) -> Any:
        r = neighbours(x) - 4 * x
        d_r = r * 2
        return neighbours(d_r) - r * 8

    x = np.random.default_rng(0).random((200, 200))
    made = accelerate(twice, target="cpu").inspect(x, compile=False).stablehlo.splitlines()
    (kept,) = (line for line in made if f"{MARK} =" in line)
    (value,) = (line for line in made if line.lstrip().startswith(kept.split()[3] + " = "))
    assert "stablehlo.subtract" in value
    np.testing.assert_allclose(accelerate(twice, target="cpu")(x), twice(x), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_is_not_turned_for_one_vector(dtype: Any) -> None:
    """The transpose took 20 times as long as the product; for a matrix it pays."""
    x, v = np.ones((3000, 40), dtype), np.ones(3000, dtype)
    turned = "stablehlo.transpose"
    wide = accelerate(lambda x, v: np.tanh(x.T @ np.sin(v)), target="cpu")
    assert turned not in wide.inspect(x, v, compile=False).stablehlo
    assert turned in wide.inspect(x, np.ones((3000, 40), dtype), compile=False).stablehlo


def shifting(x: Any, w: Any) -> Any:
    w = w.copy()
    for k in [0, 1, 2] * 7:
        w[1:] = w[:-1] * 0.9 + x[k]
    return w


def storing(x: Any, w: Any) -> Any:
    w = w.copy()
    for k in [0, 1, 2] * 7:
        w[int(x[k])] = x[k]
        w = w * 0.9 + x[1]
    return w


def padding(x: Any, w: Any) -> Any:
    for k in [0, 1, 2] * 7:
        w = np.pad(w[1:], (1, 0)) * 0.9 + x[k]
    return w


def shuffling(x: Any, w: Any) -> Any:
    for k in [0, 1, 2] * 7:
        w = w[np.array([1, 2, 0])] * 0.9 + x[k]
    return w


def casteljau(x: Any, w: Any) -> Any:
    w = np.concatenate((w, x, x, x, w, x))
    while len(w) > 1:
        w = w[1:] * 0.3 + w[:-1] * 0.7
    return w[0]


@pytest.mark.parametrize("fun", [shifting, storing, padding, shuffling, casteljau])
def test_branches_deep_within_each_other_compile_in_no_time(fun: Callable[..., Any]) -> None:
    """Each took minutes: twice as long for every further line."""
    x, w = np.arange(3.0), np.linspace(0.0, 1.0, 3)
    np.testing.assert_allclose(accelerate(fun, target="cpu")(x, w), fun(x, w), rtol=1e-13)


@pytest.mark.skipif(os.cpu_count() not in (2, 4), reason="that many threads do not make up for lost vectors")
def test_kernels_over_one_uneven_axis_are_not_divided() -> None:
    """Each element would be asked whether it is there, and exp computed for one at a time: 4.7 ms for 1.5."""

    def divided(fun: Callable[..., Any], n: int) -> bool:
        hlo = accelerate(fun, target="cpu").inspect(np.ones(n)).hlo or ""
        return '"outer_dimension_partitions":["' in hlo

    assert divided(lambda x: np.exp(x) * x, 1 << 18)
    assert not divided(lambda x: np.exp(x) * x, (1 << 18) + 1)
    assert divided(lambda x: x * x + 1 / x, (1 << 18) + 1)  # is computed in vectors all the same


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is nothing to divide between")
def test_kernels_of_a_few_microseconds_in_loops_are_not_divided() -> None:
    """Waking a thread takes as long."""

    def divided(n: int) -> bool:
        def differences(x: Any, y: Any) -> Any:
            c = y.copy()
            for k in range(1, len(x)):
                c[k:] = (c[k:] - c[k - 1 : -1]) / (x[k:] - x[:-k])
            return c

        hlo = accelerate(differences, target="cpu").inspect(np.ones(n), np.ones(n)).hlo or ""
        assert "while(" in hlo
        return '"outer_dimension_partitions":["' in hlo

    assert not divided(20_000)
    assert divided(200_000)


def test_columns_beside_rows_are_read_by_the_older_emitters() -> None:
    """1,000 x 1,000 elements took the newer ones 20 ms, where NumPy takes 2."""

    def older(fun: Callable[..., Any], *sizes: int) -> bool:
        return suits_older_emitters(accelerate(fun, target="cpu").inspect(np.ones(sizes), compile=False).stablehlo)

    assert older(lambda x: x.T * x + x, 300, 300)
    assert not older(lambda x: x.T * x + x, 30, 30)
    assert not older(lambda x: np.swapaxes(x, 0, 1) * x + x, 50, 50, 40)
    assert not older(lambda x: x.T @ x + x, 300, 300)
    assert not older(lambda x: np.exp(x.T) * x + x, 300, 300)


def test_small_arrays_are_made_by_the_older_emitters() -> None:
    """In half the time. They know no barriers, and round products of complex numbers otherwise."""

    def sooner(fun: Callable[..., Any], *args: Any) -> bool:
        return made_sooner(accelerate(fun, target="cpu").inspect(*args, compile=False).stablehlo)

    x = np.ones((20, 100))
    assert sooner(lambda x: np.tanh(x) * x + 2, x)
    assert not sooner(lambda x: np.tanh(x) * x + 2, np.ones((21, 100)))
    assert not sooner(lambda x: np.exp(x) * np.exp(2 * x), x)
    assert not sooner(lambda x: x * x, x + 1j)


def test_the_older_emitters_and_their_pieces_are_fields_of_the_options() -> None:
    """XLA reads the settings where they are written."""
    made = compile_options(platform.platform().xla_client, None, Flags(older_emitters=True))
    told = str(made.executable_build_options.debug_options)
    assert "xla_cpu_use_fusion_emitters: false\n" in told
    assert f"xla_cpu_parallel_codegen_split_count: {min(32, os.cpu_count() or 1)}\n" in told


def test_branches_beside_each_other_are_left_to_the_newer_emitters() -> None:
    """They call such functions as tanh for several elements at once."""

    def beside(x: Any) -> Any:
        parts = [np.tanh(np.roll(x, k)) for k in range(8)]
        return np.concatenate([p.sum(keepdims=True) for p in parts])

    assert not nests(accelerate(beside, target="cpu").inspect(np.ones(9), compile=False).stablehlo)


def test_identities_give_each_caller_his_own_memory() -> None:
    x = np.arange(50_000.0)
    executable = client.compile(emit(program(lambda b, x: x, x)))
    results = [executable.run_numpy([x + k])[0] for k in range(4)]
    for k, r in enumerate(results):
        np.testing.assert_array_equal(r, x + k)


def test_programs_are_forgotten() -> None:
    """Nothing holds a program, 0.2 MB each, that nobody can call any more."""
    x = np.arange(3.0)
    executable = client.compile(emit(program(lambda b, x: make.add(b, x, 1.0), x)))
    executable.run_numpy([x])
    loaded = executable.loaded
    del executable
    gc.collect()
    assert sys.getrefcount(loaded) == 2, "the name, and the argument of the question"


@pytest.mark.parametrize("behind", range(0, 64, 16))
def test_arguments_are_let_go_of_when_a_call_is_over(behind: int) -> None:
    memory = np.ones(100_100)
    first = (behind - memory.__array_interface__["data"][0]) % client.ALIGNMENT // memory.itemsize
    x = memory[first : first + 100_000]
    assert x.__array_interface__["data"][0] % client.ALIGNMENT == behind
    fast = accelerate(lambda x: np.exp(x) * 2.5 + x, target="cpu")
    results = [fast(x) for _ in range(2)]
    alive = weakref.ref(x)
    del x
    assert alive() is None, len(results)


SMOOTHED = """
import resource
import numpy as np
from untraced import accelerate

def smoothed(x):
    for _ in range(3):
        x[1:-1] = 0.5 * (x[2:] + x[:-2])

x = np.random.default_rng(0).standard_normal(2_000_000)
expected, ours, faults = x.copy(), accelerate(smoothed, target="cpu"), []
for _ in range(6):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    ours(x)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    smoothed(expected)
np.testing.assert_array_equal(x, expected)
assert min(faults) < 5_000, faults
"""


def test_what_jaxlib_keeps_of_calls_is_let_go() -> None:
    """A call leaves 70 bytes or more with jaxlib, which no garbage collection of Python's frees."""

    @accelerate(target="cpu")
    def f(x: Any, y: Any) -> Any:
        return np.tanh(x) * y

    x = device_put(np.arange(5.0))
    for _ in range(20):
        f(x, x)
    before = sys.getallocatedblocks()
    for _ in range(4 * client.CALLS_KEPT):
        f(x, x).block_until_ready()
    assert sys.getallocatedblocks() - before < 2 * client.CALLS_KEPT + 500


def test_memory_of_temporaries_is_kept(tmp_path: Path) -> None:
    """48 MB: mapped anew in pages of 4 kB, they would be 11,719 faults in every call. In a process of its own: where
    much of the heap is free already, the C library gives memory back. glibc 2.41 maps the result's 16 MB anew.
    """
    script = tmp_path / "smoothed.py"
    script.write_text(SMOOTHED)
    subprocess.run([sys.executable, script], check=True, timeout=120)


def test_memory_of_what_is_written_into_an_argument_goes_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(x: Any) -> None:
        x += np.sin(x) * 0.1 - np.cos(x)

    x = np.random.default_rng(0).standard_normal(1_000_000)
    expected, ours = x.copy(), accelerate(moved, target="cpu")
    ours(x)
    made = client._memory_executable
    monkeypatch.setattr(client, "_memory_executable", lambda types, p: pytest.fail("fresh memory"))
    for _ in range(3):
        ours(x)
    for _ in range(4):
        moved(expected)
    np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)
    assert made.cache_info().currsize
