"""Names of generated functions that say what they do, so that two programs may share one."""

from __future__ import annotations


def digest(text: str) -> str:
    """16 hexadecimal digits of a text's SHA-256."""
    import hashlib  # 3 to 6 ms, where nothing is named

    return hashlib.sha256(text.encode()).hexdigest()[:16]
