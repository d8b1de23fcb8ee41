"""Registers, stack and shared memory of a compiled kernel, read from its machine code without a device."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ..translator.records import dataclass

REGISTERS, FRAME = 0x2F, 0x11  # attributes in the section .nv.info
SYMBOLS = 2  # the type of the section that holds them


@dataclass(frozen=True, slots=True)
class Resources:
    """A thread's registers and bytes of stack (what is spilled, and local arrays), a block's bytes of shared memory.

    From sm_90 on the driver keeps 1,024 bytes of each block's shared memory, which are counted.
    """

    registers: int
    stack: int
    shared: int

    def __str__(self) -> str:
        stack = f"{self.stack} bytes of stack" if self.stack else "nothing spilled"
        return f"{self.registers} registers, {self.shared:,} bytes of shared memory, {stack}"


def resources_of(cubin: bytes, entry: str, dynamic_shared: int = 0) -> Resources:
    """Of the kernel `entry` in a device's ELF file. `dynamic_shared`: what a launch asks for besides."""
    sections = dict(_sections(cubin))
    names = _symbols(cubin)
    found = {REGISTERS: 0, FRAME: 0}
    start, size, _ = sections[".nv.info"]
    at = start
    while at < start + size:
        form, attribute, length = struct.unpack_from("<BBH", cubin, at)
        at += 4
        if form != 4:  # the value is in the header
            continue
        if attribute in found and length >= 8:
            symbol, value = struct.unpack_from("<II", cubin, at)
            if names.get(symbol) == entry:
                found[attribute] = value
        at += length
    shared = sections.get(f".nv.shared.{entry}", (0, 0, 0))[1]
    return Resources(found[REGISTERS], found[FRAME], shared + dynamic_shared)


def _sections(elf: bytes) -> Iterator[tuple[str, tuple[int, int, int]]]:
    """Each section's name with its place, size and type."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + k * size) for k in range(count)]
    text = headers[names][4]
    for name, kind, _, _, place, length in headers:
        yield _text(elf, text + name), (place, length, kind)


def _symbols(elf: bytes) -> dict[int, str]:
    sections = dict(_sections(elf))
    place, size, kind = sections[".symtab"]
    assert kind == SYMBOLS
    text = sections[".strtab"][0]
    return {k: _text(elf, text + struct.unpack_from("<I", elf, place + 24 * k)[0]) for k in range(size // 24)}


def _text(elf: bytes, at: int) -> str:
    return elf[at : elf.index(b"\0", at)].decode()
