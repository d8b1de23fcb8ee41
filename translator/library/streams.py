"""Generators of random numbers as arrays of words, which programs carry and change like any array.

The words, of uint64:

    PCG64       0: the bits of what was drawn last   1, 2: the state, low half first   3, 4: the increment
                5: whether half of a number of 64 bits is left over   6: that half
    MT19937     0: the bits of what was drawn last   1: the position in the key   2: whether a normal number is left
                over   3: its bits   4 to 315: the key of 624 numbers of 32 bits

There is a function for each row of `ops/draws`. They are what a printed program calls; compiled loops change the words
themselves.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.core import Draw
from ..ops.draws import DRAWS, LAST
from ..randomness import SIZES, kind_of, source_of_bits

Words = np.ndarray[Any, np.dtype[np.uint64]]
_KEY = 4
_MASK = 2**64 - 1


def _is_pythons(generator: Any) -> bool:
    random = sys.modules.get("random")  # 2 ms to import, which are not spent where nobody has such a generator
    return random is not None and type(generator) is random.Random


def words_of(generator: Any, spare: bool = True) -> Words:
    """The state of a generator. Without `spare`, that a normal number is left over is not asked for: it takes long."""
    words = np.zeros(SIZES[kind_of(generator)], np.uint64)
    key = words[_KEY:].view(np.uint32)
    if _is_pythons(generator):
        _, state, left_over = generator.getstate()
        key[:], words[1] = state[:-1], state[-1]
        if left_over is not None:
            words[2], words[3:4] = 1, np.array([left_over]).view(np.uint64)
        return words
    bits = source_of_bits(generator)
    if len(words) == SIZES["PCG64"]:
        state = bits.state
        number, step = state["state"]["state"], state["state"]["inc"]
        words[1:] = number & _MASK, number >> 64, step & _MASK, step >> 64, state["has_uint32"], state["uinteger"]
        return words
    if spare and type(generator) is np.random.RandomState:
        legacy = generator.get_state(legacy=False)
        assert isinstance(legacy, dict)
        words[2], words[3:4] = legacy["has_gauss"], np.array([legacy["gauss"]]).view(np.uint64)
    memory = _memory(bits)
    if memory is not None:
        key[:], words[1] = memory[:-1], memory[-1]
    else:
        state = bits.state["state"]
        key[:], words[1] = state["key"], state["pos"]
    return words


def put_back(words: Words, generator: Any, spare: bool = True) -> None:
    """Let a generator go on from the state in `words`."""
    key = words[_KEY:].view(np.uint32)
    if _is_pythons(generator):
        left_over = float(words[3:4].view(np.float64)[0]) if words[2] else None
        generator.setstate((3, (*key.tolist(), int(words[1])), left_over))
        return
    bits = source_of_bits(generator)
    if len(words) == SIZES["PCG64"]:
        low, high, step, step_high, has, half = words[1:].tolist()
        state = {"state": low | high << 64, "inc": step | step_high << 64}
        bits.state = {"bit_generator": "PCG64", "state": state, "has_uint32": has, "uinteger": half}
        return
    memory = _memory(bits)
    if spare and type(generator) is np.random.RandomState:
        legacy = generator.get_state(legacy=False)
        assert isinstance(legacy, dict)
        left_over = float(words[3:4].view(np.float64)[0])
        legacy |= {"has_gauss": int(words[2]), "gauss": left_over, "state": {"key": key, "pos": int(words[1])}}
        generator.set_state(legacy)
    elif memory is not None:
        memory[:-1], memory[-1] = key, words[1]
    else:
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": int(words[1])}}


def _memory(bits: Any) -> Any:
    """The key of an MT19937 and the position in it, where they lie; None where NumPy lays them out in another way."""
    if not _lies_in_memory():
        return None
    return _lying(bits)


def _lying(bits: Any) -> Any:
    address = ctypes.cast(bits.ctypes.state_address, ctypes.POINTER(ctypes.c_uint32))
    return np.ctypeslib.as_array(address, (625,))


@functools.cache
def _lies_in_memory() -> bool:
    bits = np.random.MT19937(5)
    bits.random_raw(700)
    state, found = bits.state["state"], _lying(bits)
    return bool(np.array_equal(found[:-1], state["key"]) and found[-1] == state["pos"])


def generator_of(words: Words, owner: str) -> Any:
    """A new generator with the state in `words`: a "Generator", a "RandomState" or a "Random"."""
    if owner == "Random":
        import random

        made: Any = random.Random(0)
    elif owner == "RandomState":
        made = np.random.RandomState(0)
    else:
        made = np.random.Generator(np.random.PCG64(0) if len(words) == SIZES["PCG64"] else np.random.MT19937(0))
    put_back(words, made)
    return made


# ---- a function for each row ---------------------------------------------------------------------


def drawing(row: Draw) -> Callable[..., Any]:
    """The function (words, *numbers) of a row: draws as the generator would, and changes the words."""
    return _FUNCTIONS[row]


def _drawer(row: Draw) -> Callable[..., None]:
    def draw(words: Words, *numbers: Any) -> None:
        generator = generator_of(words, row.owner)
        method = "randrange" if row.name == "python_integers" else row.methods[0]
        drawn = getattr(generator, method)(*numbers)
        words[:] = words_of(generator)
        kind = np.float64 if row.drawn is LAST[0] else np.int64
        words[:1] = np.array([drawn], kind).view(np.uint64)

    return draw


def _reader(row: Draw) -> Callable[..., Any]:
    assert row.result is not None
    dtype, weak = row.result.dtype, row.result.weak

    def last(words: Words) -> Any:
        number = words[:1].view(dtype)[0]
        return number.item() if weak else number

    return last


_FUNCTIONS: dict[Draw, Callable[..., Any]] = {
    **{row: _drawer(row) for row in DRAWS},
    **{row: _reader(row) for row in LAST},
}
for _row, _function in _FUNCTIONS.items():
    _function.__name__ = _function.__qualname__ = _row.name
    _function.__dict__["__untraced_draws__"] = _row
    _function.__doc__ = f"What was drawn last, as {_row.result}." if _row.result else f"Draws as {_row.owner} does."
    globals()[_row.name] = _function

__all__ = [*(row.name for row in _FUNCTIONS), "generator_of", "put_back", "words_of"]
