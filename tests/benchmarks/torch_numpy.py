"""torch under NumPy's names, as far as the benchmarks need them."""

from __future__ import annotations

from typing import Any


class TorchNumPy:
    """The few NumPy spellings that torch has under other names."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def max(self, x: Any, axis: int, keepdims: bool) -> Any:
        return self.torch.amax(x, dim=axis, keepdim=keepdims)

    def sum(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return self.torch.sum(x) if axis is None else self.torch.sum(x, dim=axis, keepdim=keepdims)

    def cumsum(self, x: Any) -> Any:
        return self.torch.cumsum(x, dim=0)

    def mean(self, x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        return self.torch.mean(x) if axis is None else self.torch.mean(x, dim=axis, keepdim=keepdims)

    def astype(self, x: Any, dtype: Any) -> Any:
        return x.to(dtype)
