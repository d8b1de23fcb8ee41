"""`untraced.scipy`: the functions of SciPy that the language knows, as NumPy source; SciPy itself is not needed."""

from . import cluster as cluster
from . import interpolate as interpolate
from . import linalg as linalg
from . import optimize as optimize
from . import sparse as sparse
from . import stats as stats
from .more import fft, integrate, ndimage, signal, special

__all__ = [
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special",
    "stats",
]  # fmt: skip
