"""What the schedules must know of a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Facts:
    """Rates in bytes and operations a second. `share`: how much of the library's rate a generated product reaches."""

    bandwidth: float = 4.8e12
    launch: float = 3e-6
    rates: Mapping[str, float] = field(
        default_factory=lambda: {"float16": 9.9e14, "bfloat16": 9.9e14, "float32": 6.7e13, "float64": 6.7e13}
    )
    share: Mapping[str, float] = field(
        default_factory=lambda: {"float16": 0.75, "bfloat16": 0.75, "float32": 0.5, "float64": 0.3}
    )

    def library_rate(self, dtype: str) -> float:
        """Of its matrix products; integers, which no library multiplies fast, count as float32."""
        return self.rates.get(dtype, self.rates["float32"])

    def kernel_rate(self, dtype: str) -> float:
        return self.library_rate(dtype) * self.share.get(dtype, 1.0)


H200 = Facts()
