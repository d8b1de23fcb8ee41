"""`untraced.scipy`: the functions of SciPy that the language knows, as NumPy source; SciPy itself is not needed."""

from ..translator.library import special

__all__ = ["special"]
