"""Vectorised rows (CUDA): threads load and store 16 bytes of neighbouring elements, where rows are aligned.

    const Pack<float> x_pack = *reinterpret_cast<const Pack<float>*>(x_ptr + row * columns + first);
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...translator.ir import DType
from ..source.body import Body
from ..source.layout import Access
from ..source.values import Load, Value


class Neighbours(Body):
    """Writes the values of a row kernel; while `packed`, loads and stores along the row are elements of packs."""

    def __init__(self, body: Body) -> None:
        super().__init__(body.lowered, body.layout, body.accesses, body.dialect, body.strides)
        self.neighbour = "k"
        self.stored = {i: self.stored_at(o) for i, o in enumerate(self.lowered.outputs) if o.along}

    @property
    def packable(self) -> bool:
        return any(map(self.packs, self.streams()))

    def access(self, v: Value) -> Access:
        return self.accesses[id(v)]

    def streams(self) -> list[Access]:
        """The accesses that walk along the row."""
        loads = [self.access(v) for v in self.lowered.values if isinstance(v.source, Load) and v.along]
        return [*loads, *self.stored.values()]

    def packs(self, access: Access) -> bool:
        inner = self.layout.inner
        return len(inner) == 1 and access.strides[inner[0].members[-1]] == 1

    def widest_pack(self, each: int) -> int:
        """How many neighbours a thread of `each` elements takes at a time: 16 bytes of the widest array, but four."""
        along = [v for v in self.lowered.values if isinstance(v.source, Load) and v.along]
        loaded = [v.dtype for v in along if self.packs(self.access(v))]
        stored = [self.lowered.outputs[i].dtype for i, a in self.stored.items() if self.packs(a)]
        widest = max((d.itemsize for d in (*loaded, *stored)), default=4)
        return 8 if widest <= 2 and each % 8 == 0 else 4

    def packs_align(self, pack: int) -> bool:
        """Whether every row begins at a multiple of so many elements, if the arrays do."""
        outer = [a.members[-1] for a in self.layout.outer]
        packed = [a for a in self.streams() if self.packs(a)]
        return not any(a.offset % pack or any(a.strides[k] % pack for k in outer) for a in packed)

    def pack_of(self, v: Value) -> tuple[str, str, str]:
        """(name, type, address) of a load's pack."""
        assert isinstance(v.source, Load)
        pointer = self.pointer("in", v.source.param, v.name, v.dtype)
        return self._pack(f"{v.name}_pack", pointer, v.source.param, self.access(v), v.dtype)

    def packs_loaded(self, values: Sequence[Value]) -> list[tuple[str, str, str]]:
        """The packs of those of these values that are loaded so."""
        return [self.pack_of(v) for v in values if isinstance(v.source, Load) and self.packs(self.access(v))]

    def pack_stored(self, index: int) -> tuple[str, str, str]:
        """Like the function above, for stores."""
        out = self.lowered.outputs[index]
        pointer = self.pointer("out", index, out.value.name or "out", out.dtype)
        return self._pack(self.output_pack(index), pointer, ("out", index), self.stored[index], out.dtype)

    def _pack(self, name: str, pointer: str, array: object, access: Access, dtype: DType) -> tuple[str, str, str]:
        hint = pointer.removesuffix("_ptr")
        address = self.layout.address(hint, array, access, self.lowered.names)
        at = re.sub(r"\bcolumn\b", "first", address)
        return name, self.dialect.type_name(dtype), f"{pointer} + {at}"
