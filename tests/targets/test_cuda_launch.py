"""What reaches the driver: arguments of exact types, hidden pointers, blocks and grids, on a stand-in for CuPy."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kernel_programs import chain, masked, program, softmax, totals

from untraced import accelerate, device_put
from untraced.kernels.ahead import Compiled
from untraced.kernels.launching import launch as launching
from untraced.kernels.launching.executor import GpuExecutor
from untraced.kernels.launching.launch import CupyBackend, may_pack, promises
from untraced.kernels.plan import plan
from untraced.kernels.program import Launch
from untraced.runtime.targets import devices
from untraced.translator import make
from untraced.translator.errors import TargetError
from untraced.translator.ir import Function, Fused
from untraced.translator.passes.fuse import fuse


class FakeArray(np.ndarray):  # type: ignore[type-arg]
    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)


class FakeCupy:
    """The part of CuPy that launches; `calls` are (kernel, grid, block, arguments, shared memory)."""

    ndarray = FakeArray

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.loads = 0
        fake = self

        class Module:
            def load(self, cubin: bytes) -> None:
                assert isinstance(cubin, bytes)
                fake.loads += 1

            def get_function(self, name: str) -> Any:
                return lambda grid, block, args, shared: fake.calls.append((name, grid, block, args, shared))

        self.cuda = SimpleNamespace(
            function=SimpleNamespace(Module=Module),
            runtime=SimpleNamespace(
                getDevice=lambda: 0,
                getDeviceProperties=lambda d: {"name": b"a device"},
                deviceGetAttribute=lambda attribute, d: {97: 48 << 10}[attribute],
            ),
            Device=lambda d: SimpleNamespace(compute_capability="90"),
        )

    def zeros(self, shape: Any, dtype: Any) -> Any:
        return np.zeros(shape, dtype).view(FakeArray)

    def empty(self, shape: Any, dtype: Any) -> Any:
        return np.empty(shape, dtype).view(FakeArray)

    def asarray(self, value: Any) -> Any:
        return np.asarray(value).view(FakeArray)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    fake = FakeCupy()
    monkeypatch.setattr(launching, "usable_cupy", lambda: fake)

    def compiled(program: Any, architecture: int, promised: Any, stages: int = 0) -> Compiled:
        assert architecture == 90
        if program.language == "triton":
            return Compiled(program.name, b"cubin", "", program.num_warps * 32, 1024, 16, 2)
        return Compiled(program.name, b"cubin", "", 0)

    monkeypatch.setattr(launching, "compile_program", compiled)
    return fake


def first_launch(function: Function, language: str) -> Launch:
    group = next(s for s in fuse(function).body.statements if isinstance(s, Fused))
    return plan(group, language).launches[0]


def run(function: Function, language: str, leaves: Sequence[Any], cupy: FakeCupy) -> list[Any]:
    backend = CupyBackend(language)
    GpuExecutor(fuse(function), backend)([cupy.asarray(a) if np.ndim(a) else a for a in leaves])
    return cupy.calls


def test_triton_gets_exact_scalars_and_its_hidden_pointers(cupy: FakeCupy) -> None:
    leaves = [np.ones((13, 7), "f4"), np.ones(7, "f4"), np.ones(13, "f4"), np.float32(2)]
    ((name, grid, block, args, shared),) = run(masked(13, 7), "triton", leaves, cupy)
    assert name == "kernel_t" or name.startswith("masked")
    assert grid == (1, 1, 1) and block == (128, 1, 1) and shared == 1024
    *given, scratch, profile = args
    assert isinstance(scratch, FakeArray) and scratch.nbytes == 16 and profile == 0 and profile.dtype == np.uint64
    scalars = [a for a in given if not isinstance(a, np.ndarray)]
    assert {type(a) for a in scalars} == {np.float32, np.int32}
    assert len([a for a in given if isinstance(a, FakeArray)]) == 5  # three arguments, two results


def test_too_little_memory_says_what_is_free(cupy: FakeCupy) -> None:
    full = type("OutOfMemoryError", (MemoryError,), {})
    cupy.cuda.memory = SimpleNamespace(OutOfMemoryError=full)
    cupy.cuda.runtime.memGetInfo = lambda: (1_000, 80_000)
    with pytest.raises(TargetError, match="allocating 4,096 bytes; 1,000 of the device's 80,000 bytes are free"):
        with CupyBackend("cuda").refusals_told():
            raise full("allocating 4,096 bytes")


def test_a_library_of_cuda_that_is_missing_is_told_at_the_user_s_line(cupy: FakeCupy) -> None:
    """CuPy loads cuBLAS at the first product, and raises an ImportError that lists folders."""

    def missing(x: Any, y: Any) -> Any:
        raise ImportError("Failure finding libcublas.so.13\n    listdir(...)")

    cupy.cuda.memory = SimpleNamespace(OutOfMemoryError=MemoryError)
    cupy.matmul = missing  # type: ignore[attr-defined]
    function = program("dense", [("x", (3, 4), "f8"), ("w", (4, 5), "f8")], lambda b, x, w: make.matmul(b, x, w))
    backend = CupyBackend("cuda")
    with pytest.raises(TargetError, match=r"of CUDA is not installed\n  --> program.py") as told:
        with backend.refusals_told():
            GpuExecutor(fuse(function), backend)([cupy.asarray(np.ones(s)) for s in ((3, 4), (4, 5))])
    assert "why: Failure finding libcublas.so.13\n  instead: pip install 'cupy-cuda13x[ctk]'" in str(told.value)
    pathfinder = pytest.importorskip("cuda.pathfinder")  # by which CuPy looks for NVRTC, for kernels of its own
    with pytest.raises(TargetError, match="why: Failure finding libnvrtc"), backend.refusals_told():
        raise pathfinder.DynamicLibNotFoundError("Failure finding libnvrtc.so.13")


@pytest.mark.parametrize("kind", [RuntimeError, MemoryError])
def test_what_the_device_refuses_is_told_at_the_user_s_line(kind: type[Exception], cupy: FakeCupy) -> None:
    """CuPy's errors of the driver and of the runtime are RuntimeErrors, those of its pools MemoryErrors."""

    class Refused(FakeArray):
        def __new__(cls, *given: Any) -> Any:
            raise kind("CUDA_ERROR_ILLEGAL_ADDRESS")

    cupy.ndarray = Refused  # type: ignore[misc]
    with pytest.raises(kind, match=r"CUDA_ERROR_ILLEGAL_ADDRESS\n  --> program.py:5:1"):
        run(softmax(100, 37), "cuda", [np.ones((100, 37), "f4")], cupy)


def test_a_kernel_that_needs_more_shared_memory_than_there_is(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    def large(program: Any, architecture: int, promised: Any, stages: int = 3) -> Compiled:
        return Compiled(program.name, b"cubin", "", 128, stages * least, 0, 2)

    least = 65_536
    monkeypatch.setattr(launching, "compile_program", large)
    with pytest.raises(TargetError, match="needs 65,536 bytes of shared memory"):
        run(softmax(100, 37), "triton", [np.ones((100, 37), "f4")], cupy)
    least = 20_000  # with fewer turns of operands on their way it fits
    ((*_, shared),) = run(softmax(100, 37), "triton", [np.ones((100, 37), "f4")], cupy)
    assert shared == 40_000


def test_cuda_gets_its_own_block(cupy: FakeCupy) -> None:
    ((name, grid, block, args, shared),) = run(softmax(100, 37), "cuda", [np.ones((100, 37), "f4")], cupy)
    assert name.startswith("softmax") and grid == (13, 1, 1) and block == (128, 1, 1) and shared == 0
    assert [type(a) for a in args[2:]] == [np.int32, np.int32] and [int(a) for a in args[2:]] == [100, 37]


def test_a_kernel_is_loaded_once_for_all_lengths(cupy: FakeCupy) -> None:
    backend = CupyBackend("cuda")
    for n in (101, 201, 301):
        GpuExecutor(fuse(chain(n)), backend)([cupy.asarray(np.ones(n, "f4"))] * 2)
    assert len(cupy.calls) == 3 and cupy.loads == 1


def test_two_stages_share_their_partial_results(cupy: FakeCupy) -> None:
    calls = run(totals(300, 70), "cuda", [np.ones((300, 70), "f4")], cupy)
    names = [c[0] for c in calls]
    assert len(names) == 4 and sum(n.endswith("_finish") for n in names) == 2
    for parts, finish in zip(calls[::2], calls[1::2], strict=True):
        shared = [a for a in parts[3] if isinstance(a, FakeArray) and any(a is b for b in finish[3])]
        assert shared


def test_empty_grids_are_not_launched(cupy: FakeCupy) -> None:
    assert run(softmax(0, 5), "cuda", [np.ones((0, 5), "f4")], cupy) == []


def test_promises_are_made_only_where_they_hold() -> None:
    launch = first_launch(softmax(64, 32), "triton")
    assert set(promises(launch, True)) == {"x_ptr", "t_4_ptr", "rows", "columns"}
    assert promises(launch, False) == ()
    # A number that is no multiple of 16 says nothing about the others: rows of 32 elements are read 16 bytes at a time.
    assert set(promises(first_launch(softmax(63, 32), "triton"), True)) == {"x_ptr", "t_4_ptr", "columns"}
    assert set(promises(first_launch(softmax(64, 33), "triton"), True)) == {"x_ptr", "t_4_ptr", "rows"}
    assert may_pack(first_launch(chain(64), "cuda"), [1 << 20])
    assert not may_pack(first_launch(chain(63), "cuda"), [1 << 20])
    assert may_pack(first_launch(chain(72, np.float16), "cuda"), [1 << 20])
    assert not may_pack(first_launch(chain(68, np.float16), "cuda"), [1 << 20])  # packs of eight
    assert not may_pack(first_launch(chain(72, np.float16), "cuda"), [(1 << 20) + 8])
    assert not may_pack(first_launch(chain(64), "cuda"), [(1 << 20) + 4])
    assert may_pack(first_launch(softmax(64, 32), "cuda"), [1 << 20])
    assert not may_pack(first_launch(softmax(64, 33), "cuda"), [1 << 20])


def test_numbers_of_attributes_are_those_of_cuda() -> None:
    cupy = pytest.importorskip("cupy")
    assert cupy.cuda.runtime.cudaDevAttrMaxSharedMemoryPerBlockOptin == launching.MAX_SHARED_OPTIN
    driver = pytest.importorskip("cupy_backends.cuda.api.driver")
    assert driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == launching.MAX_DYNAMIC_SHARED


def test_a_machine_without_a_device_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cupy = pytest.importorskip("cupy")
    try:
        present = cupy.cuda.runtime.getDeviceCount() > 0
    except Exception:
        present = False
    if present:
        pytest.skip("this machine has a device")
    with pytest.raises(TargetError, match="no CUDA device"):
        CupyBackend("cuda")
    monkeypatch.setattr(devices, "cuda_present", lambda: True)  # a driver too old, or one whose card is hidden
    devices._cuda_device.cache_clear()
    for refused in (lambda: device_put(np.ones(3), "cuda"), lambda: accelerate(np.exp, target="cuda")(np.ones(3))):
        with pytest.raises(TargetError, match=r"(?s)no CUDA device.*why: cuda.*instead: see what nvidia-smi shows"):
            refused()


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from untraced.kernels import ahead

    monkeypatch.undo()
    for name in ("triton", "cupy", "cupy.cuda"):
        monkeypatch.setitem(sys.modules, name, None)
    for load in (ahead._triton.__wrapped__, ahead._nvrtc.__wrapped__, launching.usable_cupy):
        with pytest.raises(TargetError, match=r"pip install 'untraced\[gpu\]'"):
            load()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, cupy: FakeCupy) -> list[int]:
    """Blocks of 256 threads, and kernels of 8 warps, are the fastest; what was timed is listed."""
    timed: list[int] = []

    def seconds(self: CupyBackend, run: Any) -> float:
        run()
        timed.append(cupy.calls.pop()[2][0])
        return abs(timed[-1] - 256.0)

    monkeypatch.setattr(CupyBackend, "seconds", seconds)
    return timed


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_schedules_are_tried_once_and_kept(
    language: str, cupy: FakeCupy, clock: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.ones(1000, "f4")
    assert run(chain(1000), language, [x, x], cupy)[-1][2] != (256, 1, 1) or language == "cuda"
    assert not clock  # nobody asked
    monkeypatch.setenv("UNTRACED_AUTOTUNE", str(tmp_path / "kept"))
    assert run(chain(1000), language, [x, x], cupy)[-1][2] == (256, 1, 1)
    tried = list(clock)
    assert len(tried) == 3 and len(set(tried)) == 3
    (entry,) = (tmp_path / "kept").iterdir()
    run(chain(1001), language, [np.ones(1001, "f4")] * 2, cupy)
    assert clock == tried  # of one size class
    run(chain(100_000), language, [np.ones(100_000, "f4")] * 2, cupy)
    assert len(clock) == 2 * len(tried)
    for broken in ("", "{", "[1]", '{"choice": "many"}', '{"choice": 7}', "\x00\xff"):
        entry.write_text(broken)
        clock.clear()
        assert run(chain(1000), language, [x, x], cupy)[-1][2] == (256, 1, 1)
        assert clock == tried


def test_schedules_that_cannot_be_kept_are_tried_again(
    cupy: FakeCupy, clock: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("UNTRACED_AUTOTUNE", str(tmp_path / "file" / "kept"))
    told: list[str] = []  # by the call itself: what warnings are shown is the process's, which other threads change
    monkeypatch.setattr(warnings, "warn", lambda text, kind, stacklevel: told.append(f"{kind.__name__}: {text}"))
    for k in (1, 2):
        assert run(chain(1000), "cuda", [np.ones(1000, "f4")] * 2, cupy)[-1][2] == (256, 1, 1)
        assert len(clock) == 3 * k and len(told) == 1
    assert told[0].startswith("RuntimeWarning: nothing can be kept in ")


def test_schedules_that_a_device_refuses_are_not_chosen(
    cupy: FakeCupy, clock: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block of 256 threads whose registers no multiprocessor has."""
    refused = type("CUDADriverError", (RuntimeError,), {})
    timed = CupyBackend.seconds

    def seconds(self: CupyBackend, run: Any) -> float:
        found = timed(self, run)
        if found == 0:
            raise refused("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES")
        return found

    cupy.cuda.driver = SimpleNamespace(CUDADriverError=refused)
    monkeypatch.setattr(CupyBackend, "seconds", seconds)
    monkeypatch.setenv("UNTRACED_AUTOTUNE", str(tmp_path / "kept"))
    assert run(chain(1000), "cuda", [np.ones(1000, "f4")] * 2, cupy)[-1][2] == (128, 1, 1)
    assert sorted(clock) == [128, 256, 512]
