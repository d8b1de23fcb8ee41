"""Times as text, for reports."""


def told(seconds: float) -> str:
    """Three or four digits, in the unit that suits."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.1f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.3f} s"
