"""`untraced.scipy`: the functions of SciPy that the language knows, as NumPy source; SciPy itself is not needed."""

from ..translator.library import special
from . import scipy_linalg as linalg
from . import scipy_optimize as optimize
from . import scipy_sparse as sparse
from . import scipy_stats as stats
from .scipy_more import fft, integrate, ndimage, signal

__all__ = ["fft", "integrate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats"]
