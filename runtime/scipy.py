"""`untraced.scipy`: the functions of SciPy that the language knows, as NumPy source; SciPy itself is not needed."""

from ..translator.library import scipy_linalg as linalg
from ..translator.library import scipy_signal as signal
from ..translator.library import special
from . import scipy_optimize as optimize
from . import scipy_stats as stats

__all__ = ["linalg", "optimize", "signal", "special", "stats"]
