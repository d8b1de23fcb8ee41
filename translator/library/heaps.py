"""heapq for derivatives and batches: what CPython has is compiled code. Its lists are left as CPython leaves them."""

from __future__ import annotations

import heapq
from typing import Any

from .support import known


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    _rise(heap, len(heap) - 1, item)


def heappop(heap: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    last = heap.pop()
    return last if len(heap) == 0 else heapreplace(heap, last)


def heapreplace(heap: Any, item: Any) -> Any:
    if len(heap) == 0:
        raise IndexError("index out of range")
    least = heap[0]
    _sink(heap, 0, item)
    return least


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        return heapreplace(heap, item)
    return item


def heapify(heap: Any) -> None:
    place = len(heap) // 2 - 1
    while place >= 0:
        _sink(heap, place, heap[place])
        place = place - 1


def nsmallest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key)[: max(known(n), 0)]


def nlargest(n: Any, iterable: Any, key: Any = None) -> Any:
    return sorted(iterable, key=key, reverse=True)[: max(known(n), 0)]


def _rise(heap: Any, place: Any, item: Any, top: Any = 0) -> None:
    """Put the item at the place, or above it, at the cost of larger ones, but not above `top`."""
    while place > top:
        parent = (place - 1) // 2
        if not item < heap[parent]:
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = item


def _sink(heap: Any, top: Any, item: Any) -> None:
    """Put the item at `top`, or below it: the smaller children move up along the whole way, and the item after them."""
    place, count = top, len(heap)
    child = 2 * place + 1
    while child < count:
        if child + 1 < count and not heap[child] < heap[child + 1]:
            child = child + 1
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    _rise(heap, place, item, top)


SOURCES: dict[Any, Any] = {
    heapq.heappush: heappush,
    heapq.heappop: heappop,
    heapq.heapify: heapify,
    heapq.heapreplace: heapreplace,
    heapq.heappushpop: heappushpop,
    heapq.nsmallest: nsmallest,
    heapq.nlargest: nlargest,
}
