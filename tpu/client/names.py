"""Names by which XLA's profiler tells compiled programs apart, and the program that a name stands for."""

from __future__ import annotations

import binascii
import itertools
import re
import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..emit.program import Emitted
    from .executable import Loaded


class Name:
    """The name of a module. Programs of the same text and of the same lines of source have one; it is free again when
    the last of them is gone, or has not come to be.
    """

    def __init__(self, module: str, program: Emitted) -> None:
        self.module = module
        self.text, self.spans = program.text, program.spans
        self.programs: weakref.WeakSet[Loaded] = weakref.WeakSet()

    def means(self, program: Emitted) -> bool:
        return (self.text, self.spans) == (program.text, program.spans)


_names: weakref.WeakValueDictionary[str, Name] = weakref.WeakValueDictionary()
_lock = threading.Lock()
_watched: dict[str, Loaded] | None = None  # programs that a session may see: they stay until it has been read


def named(program: Emitted) -> tuple[Name, Emitted]:
    """A name that no living program of other text or lines has, and the program under it. It says what the text is, so
    that the same program has the same one in another process.
    """
    found = re.match(r"module @(\w+)", program.text)
    assert found is not None
    digest = f"{binascii.crc32(program.text.encode()):08x}"  # hashlib would take 6 ms to import
    with _lock:
        name = _first_free(f"{found[1]}.{digest}", program)
    return name, replace(program, text=f"module @{name.module}{program.text[found.end() :]}")


def _first_free(stem: str, program: Emitted) -> Name:
    for k in itertools.count():
        module = f"{stem}.{k}" if k else stem
        name = _names.get(module)
        if name is None:
            name = _names[module] = Name(module, program)
        if name.means(program):
            return name
    raise AssertionError


def register(name: Name, program: Loaded) -> None:
    """Events under this name are the program's."""
    with _lock:
        name.programs.add(program)
        if _watched is not None:
            _watched.setdefault(name.module, program)


def watch() -> None:
    """Keep every program until `watched`. RuntimeError for a second session."""
    global _watched
    with _lock:
        if _watched is not None:
            raise RuntimeError("a profile is being made already: only one at a time")
        _watched = {name.module: program for name in _names.values() for program in name.programs}


def watched() -> dict[str, Loaded]:
    """The programs since `watch`, by the names of their modules; nobody keeps them any more."""
    global _watched
    with _lock:
        kept, _watched = _watched or {}, None
        return kept
