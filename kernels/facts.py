"""The properties of a device that schedules depend on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field

from ..translator.records import dataclass
from ..translator.settings import switch


@dataclass(frozen=True, slots=True)
class Facts:
    """Rates in bytes and operations a second. `share`, `cuda_share`: how much of the library's rate a product reaches
    in a kernel of Triton's, and of CUDA's: from sm_90 on `mma.sync` leaves tensor cores idle that `wgmma` keeps busy.

    `narrowest`, `deepest`: products of fewer rows or columns, or of longer sums for their size, leave most of a device
    idle that does not divide the sum; the library does.
    """

    bandwidth: float = 4.8e12
    launch: float = 3e-6
    narrowest: int = 16
    deepest: int = 64
    rates: Mapping[str, float] = field(
        default_factory=lambda: {"float16": 9.9e14, "bfloat16": 9.9e14, "float32": 6.7e13, "float64": 6.7e13}
    )
    share: Mapping[str, float] = field(
        default_factory=lambda: {"float16": 0.75, "bfloat16": 0.75, "float32": 0.5, "float64": 0.3}
    )

    cuda_share: Mapping[str, float] = field(
        default_factory=lambda: {"float16": 0.45, "bfloat16": 0.45, "float32": 0.5, "float64": 0.25}
    )

    def library_rate(self, dtype: str) -> float:
        """The rate of the library's products; integers, which no library multiplies fast, count as float32."""
        if dtype == "float32" and precision() == "tf32":
            return self.rates["float16"] / 2
        return self.rates.get(dtype, self.rates["float32"])

    def kernel_rate(self, dtype: str, language: str = "triton") -> float:
        """The rate of products in generated kernels."""
        shares = self.cuda_share if language == "cuda" else self.share
        share = shares.get("float16" if dtype == "float32" and precision() == "tf32" else dtype, 1.0)
        return self.library_rate(dtype) * share


def precision() -> str:
    """The precision of float32 products: exact, or tf32 where CuPy's own switch, CUPY_TF32=1, asks for it."""
    return "tf32" if os.environ.get("CUPY_TF32", "0") not in ("", "0") else "ieee"


def deterministic() -> bool:
    """Whether sums of floats at chosen places are to be the same in every run: UNTRACED_DETERMINISTIC=1.

    They are in the order of the elements then, to the bit NumPy's. It takes a sort, where atomic operations take none.
    """
    return switch("UNTRACED_DETERMINISTIC", False)


def _facts(bandwidth: float, half: float, single: float, double: float) -> Facts:
    return Facts(bandwidth, rates={"float16": half, "bfloat16": half, "float32": single, "float64": double})


H200 = Facts()
KNOWN = {  # by compute capability: the largest device of each, from its data sheet
    80: _facts(2.0e12, 3.1e14, 1.95e13, 1.95e13),
    89: _facts(1.0e12, 3.3e14, 8.2e13, 1.3e12),
    90: H200,
    100: _facts(8.0e12, 2.2e15, 7.5e13, 3.7e13),
}


def facts_of(architecture: int) -> Facts:
    """The facts of the nearest known device that is not newer."""
    return KNOWN[max((a for a in KNOWN if a <= architecture), default=min(KNOWN))]
