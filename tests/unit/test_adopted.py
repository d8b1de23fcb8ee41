"""Arrays of other libraries on a GPU as arguments: a stand-in for the GPU, whose memory is NumPy's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import untraced
from untraced import Array, TargetError, accelerate, device_put, grad
from untraced.runtime.arrays import adopted
from untraced.runtime.targets import devices
from untraced.runtime.targets.devices import HostDevice
from untraced.runtime.targets.gpu import CudaDevice


class Foreign:
    """Of another library; it is no NumPy array and does not become one."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self.values.__array_interface__


class Exporting:
    """Known by DLPack alone; `kind` is that of its memory."""

    def __init__(self, values: Any, kind: int) -> None:
        self.values, self.kind = np.asarray(values), kind

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.kind, 0)


class Gpu(HostDevice):
    def adopt(self, x: Any) -> Any:
        return x.values


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Gpu:
    device = Gpu()
    found = devices.device_of_target
    monkeypatch.setattr(devices, "device_of_target", lambda t: device if t in ("cuda", "numpy") else found(t))
    for user in ("calls.entries", "arrays.adopted"):
        monkeypatch.setattr(f"untraced.runtime.{user}.device_of_target", devices.device_of_target)
    return device


def step(x: Any, y: Any) -> Any:
    return {"sum": x["a"] + y, "twice": 2 * x["b"]}


def test_they_are_taken_where_they_lie(gpu: Gpu) -> None:
    x = {"a": Foreign([1.0, 2.0]), "b": Exporting(np.arange(3), 2)}
    got = accelerate(step, target="numpy")(x, np.ones(2))
    assert type(got["sum"]) is Array and got["twice"].dtype == np.int64
    np.testing.assert_array_equal(got["sum"], [2.0, 3.0])
    np.testing.assert_array_equal(got["twice"], [0, 2, 4])
    taken = untraced.device_put(x["a"], gpu)
    assert taken._data is x["a"].values and untraced.device_put(taken, gpu) is taken


def test_inspection_takes_them(gpu: Gpu) -> None:
    assert "x + 1" in accelerate(lambda x: x + 1, target="numpy").inspect(Foreign([1.0])).source


def test_what_other_libraries_have_on_the_host_is_not_taken() -> None:
    assert not adopted.is_on_gpu(Exporting(np.ones(2), 1)) and not adopted.is_on_gpu(np.ones(2))
    assert not adopted.is_on_gpu(Foreign) and adopted.is_on_gpu(Foreign([1.0]))


def test_an_object_may_have_the_interface_for_itself() -> None:
    class Slotted:
        __slots__ = ("__cuda_array_interface__",)

    alone, none, slotted = SimpleNamespace(), SimpleNamespace(), Slotted()
    alone.__cuda_array_interface__ = slotted.__cuda_array_interface__ = {"shape": (3,)}
    none.__cuda_array_interface__ = None
    assert adopted.is_on_gpu(alone) and adopted.is_on_gpu(slotted)
    assert not any(adopted.is_on_gpu(x) for x in (none, Slotted(), 3, Foreign))


def test_without_a_gpu_they_are_refused() -> None:
    if devices.cuda_present():
        pytest.skip("this machine has a GPU")
    with pytest.raises(TargetError, match="no NVIDIA driver"):
        accelerate(np.sin, target="cpu")(Foreign([1.0]))
    with pytest.raises(TargetError, match="no NVIDIA driver"):
        grad(lambda x: np.sum(x * x))(Foreign([1.0]))


def test_arrays_elsewhere_say_nothing_of_a_gpu() -> None:
    assert not hasattr(untraced.device_put(np.ones(2), "cpu"), "__cuda_array_interface__")


def test_pinned_memory_is_the_hosts() -> None:
    """CuPy takes arrays that lie in a GPU's memory, or are managed: https://dmlc.github.io/dlpack's kinds 2 and 13."""
    assert [k for k in range(1, 17) if adopted.is_on_gpu(Exporting(np.ones(2), k))] == [2, 13]


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_bfloat16_goes_to_other_libraries(target: str) -> None:
    torch = pytest.importorskip("torch")
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    for capsule in (device_put(x, target), device_put(x[:, ::2], target)):
        taken = torch.from_dlpack(capsule)
        assert taken.dtype == torch.bfloat16
        np.testing.assert_array_equal(taken.float().numpy(), np.asarray(capsule).astype("f4"))
    unversioned = device_put(x, target).__dlpack__()
    assert torch.utils.dlpack.from_dlpack(unversioned).dtype == torch.bfloat16


def test_bfloat16_of_other_libraries_lies_where_it_was() -> None:
    """NumPy's from_dlpack in CuPy's place: neither knows bfloat16."""
    torch = pytest.importorskip("torch")
    gpu = object.__new__(CudaDevice)
    gpu.cupy = SimpleNamespace(ndarray=type("ndarray", (), {}), from_dlpack=np.from_dlpack, asarray=np.asarray)
    x = torch.arange(6, dtype=torch.bfloat16).reshape(2, 3)
    taken = gpu.adopt(x.T)
    assert taken.dtype == ml_dtypes.bfloat16 and taken.strides == (2, 6)
    x += 1
    np.testing.assert_array_equal(taken.astype("f4"), x.T.float().numpy())
    import jax.numpy as jnp

    np.testing.assert_array_equal(gpu.adopt(jnp.arange(3, dtype=jnp.bfloat16)).astype("f4"), [0, 1, 2])
