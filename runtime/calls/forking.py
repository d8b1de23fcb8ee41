"""After os.fork: the child lacks XLA's threads, and XLA cannot start again there. Functions run as NumPy source.

Where XLA had not been started before the fork, the child starts its own.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .accelerated import Accelerated

known: weakref.WeakSet[Accelerated] = weakref.WeakSet()
_lost: list[Any] = []  # programs of the parent: held, since XLA cannot take them down without its threads


def without_xla() -> bool:
    """Whether this process was forked from one in which XLA ran."""
    return bool(_lost)


def _in_child() -> None:
    platform = sys.modules.get(f"{__package__.partition('.')[0]}.tpu.client.platform")
    if platform is None or not platform.started():
        return
    _lost.extend(platform.started())
    for accelerated in list(known):
        accelerated._lock = threading.RLock()  # another thread of the parent may have held it
        _lost.append(accelerated._entries)
        accelerated.forget_programs()


os.register_at_fork(after_in_child=_in_child)
