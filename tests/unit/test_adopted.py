"""Arrays of other libraries on a GPU as arguments: a stand-in for the GPU, whose memory is NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import untraced
from untraced import Array, TargetError, accelerate, grad
from untraced.runtime import adopted, devices
from untraced.runtime.devices import HostDevice


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
    monkeypatch.setattr("untraced.runtime.entries.device_of_target", devices.device_of_target)
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


def test_without_a_gpu_they_are_refused() -> None:
    if devices.cuda_present():
        pytest.skip("this machine has a GPU")
    with pytest.raises(TargetError, match="no NVIDIA driver"):
        accelerate(np.sin, target="cpu")(Foreign([1.0]))
    with pytest.raises(TargetError, match="no NVIDIA driver"):
        grad(lambda x: np.sum(x * x))(Foreign([1.0]))


def test_arrays_elsewhere_say_nothing_of_a_gpu() -> None:
    assert not hasattr(untraced.device_put(np.ones(2), "cpu"), "__cuda_array_interface__")
