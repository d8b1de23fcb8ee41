"""Compile options that XLA's Python interface does not reach: edited in the serialised CompileOptions message.

Field numbers are those of XLA's protos: CompileOptionsProto.executable_build_options = 3,
ExecutableBuildOptionsProto.debug_options = 3, and in DebugOptions xla_backend_extra_options = 500 (a string map),
xla_cpu_experimental_ynn_fusion_type = 422 (a packed list of enums, 3 is REDUCE),
xla_cpu_copy_insertion_use_region_analysis = 337 and xla_cpu_use_fusion_emitters = 376 (bools),
xla_cpu_parallel_codegen_split_count = 323 (an int) and xla_disable_hlo_passes = 30 (a list of names).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ...translator.records import dataclass

BUILD_OPTIONS = 3
DEBUG_OPTIONS = 3
EXTRA_OPTIONS = 500
YNN_FUSION_TYPES = 422
_YNN_REDUCE = 3
REGION_ANALYSIS = 337
FUSION_EMITTERS = 376
PIECES = 323
MOST_PIECES = 32  # XLA's own choice
DISABLED_PASSES = 30
ONCE = {"xla_cpu_use_multi_output_fusion": "true"}  # fusion makes no copies, and another pass follows
JOINING = b"cpu_multi_output_fusion"  # that pass: jaxlib 0.10 aborts the process where it joins results of unlike rank
DROPPING_BARRIERS = b"cse_barrier_expander"
DIVIDING = b"cpu-parallel-task-assigner"


@dataclass(frozen=True, slots=True)
class Flags:
    """How XLA makes kernels. Without `ynn_reductions`, YNNPACK fuses single products only: its graph fusion swallows
    whole networks with a softmax into one slow kernel. With `region_analysis`, arrays in loops are copied only where
    their old value is needed, not wherever the order of reads and writes is open: what is read is then read first. Not
    together with loops as native functions, which forget that order. With `once`, no value is fused into several
    consumers. With `older_emitters`, code is written for a kernel at once, without MLIR (see the module of
    that name), and LLVM compiles a program in no more pieces than there are processors, each of which costs a little.
    With `apart`, kernels end at barriers. With `whole`, none is divided between threads (see `partitions`).
    """

    ynn_reductions: bool = True
    region_analysis: bool = False
    once: bool = False
    older_emitters: bool = False
    apart: bool = False
    whole: bool = False


PLAIN = Flags()


def compile_options(xla_client: Any, extra: Mapping[str, str] | None = None, flags: Flags = PLAIN) -> Any:
    """CompileOptions with backend options `extra`."""
    options = xla_client.CompileOptions()
    if not extra and flags == PLAIN:
        return options
    build = payload_of(options.SerializeAsString(), BUILD_OPTIONS)
    debug = payload_of(build, DEBUG_OPTIONS)
    if not flags.ynn_reductions:
        types = bytes(t for t in payload_of(debug, YNN_FUSION_TYPES) if t != _YNN_REDUCE)
        debug = without(debug, YNN_FUSION_TYPES) + field(YNN_FUSION_TYPES, types)
    if flags.region_analysis:
        debug = _set(debug, REGION_ANALYSIS, True)
    if flags.older_emitters:
        debug = _set(_set(debug, FUSION_EMITTERS, False), PIECES, min(MOST_PIECES, os.cpu_count() or 1))
    if flags.once:
        debug += field(DISABLED_PASSES, JOINING)
    if flags.apart:
        debug += field(DISABLED_PASSES, DROPPING_BARRIERS)
    if flags.whole:
        debug += field(DISABLED_PASSES, DIVIDING)
    for key, value in {**(extra or {}), **(ONCE if flags.once else {})}.items():
        debug += field(EXTRA_OPTIONS, field(1, key.encode()) + field(2, value.encode()))
    build = without(build, DEBUG_OPTIONS) + field(DEBUG_OPTIONS, debug)
    return options.ParseFromString(without(options.SerializeAsString(), BUILD_OPTIONS) + field(BUILD_OPTIONS, build))


def _set(message: bytes, number: int, value: int) -> bytes:
    return without(message, number) + varint(number << 3) + varint(value)


def field(number: int, payload: bytes) -> bytes:
    """A length-delimited field of a message."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(n: int) -> bytes:
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def payload_of(message: bytes, number: int) -> bytes:
    """The payload of the last length-delimited field `number`; empty when it is absent."""
    found = b""
    for n, start, end, payload in _fields(message):
        if n == number and payload is not None:
            found = message[payload:end]
        assert start < end
    return found


def without(message: bytes, number: int) -> bytes:
    return b"".join(message[start:end] for n, start, end, _ in _fields(message) if n != number)


def _fields(message: bytes) -> Iterator[tuple[int, int, int, int | None]]:
    """(number, begin, end, begin of the payload where it is length-delimited) of each field."""
    at = 0
    while at < len(message):
        start = at
        tag, at = _read_varint(message, at)
        payload = None
        match tag & 7:
            case 0:
                _, at = _read_varint(message, at)
            case 1:
                at += 8
            case 2:
                size, payload = _read_varint(message, at)
                at = payload + size
            case 5:
                at += 4
            case kind:
                raise ValueError(f"protobuf wire type {kind}")
        yield tag >> 3, start, at, payload


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
