"""Distributions of scipy.stats over vectors and matrices as NumPy source; formulas of SciPy's documentation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.gamma import gammaln
from .distribution_forms import LOG_ROOT_TWO_PI, Form
from .special import multigammaln, xlogy
from .support import known


def normal_logpdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: Any = False, **rest: Any) -> Any:
    """Of vectors along the last axis of `x`; `cov` is a matrix, the diagonal of one, or one number for all. As in SciPy
    the result has no axes of length 1.
    """
    x = np.asarray(x).astype(np.float64)
    cov = np.asarray(cov).astype(np.float64)
    n = _length(x, mean, cov)
    x = np.reshape(x, (*x.shape, 1)) if x.ndim == 0 or (n == 1 and x.ndim == 1) else x
    d = x if mean is None else x - np.asarray(mean)
    if cov.ndim == 0:
        cov = cov * np.eye(n)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if known(allow_singular):
        s = np.linalg.eigvalsh(cov)
        kept = s > 1e6 * 2.220446049250313e-16 * np.max(np.absolute(s))
        log_det, rank = np.sum(np.log(np.where(kept, s, 1.0))), np.sum(kept)
        solved = d @ np.linalg.pinv(cov, rcond=1e6 * 2.220446049250313e-16, hermitian=True)
        square = np.sum(solved * d, axis=-1)
        return np.squeeze(-0.5 * (rank * (2.0 * LOG_ROOT_TWO_PI) + log_det + square))[()]
    factor = np.linalg.cholesky(cov)
    white = np.linalg.solve(factor, np.reshape(d, (-1, n)).T)
    square = np.reshape(np.sum(white * white, axis=0), d.shape[:-1])
    return np.squeeze(-0.5 * square - n * LOG_ROOT_TWO_PI - np.sum(np.log(np.diag(factor))))[()]


def _length(x: Any, mean: Any, cov: Any) -> Any:
    """Of the vectors."""
    if mean is not None and np.ndim(mean) > 0:
        return np.shape(mean)[-1]
    if cov.ndim > 0:
        return cov.shape[-1]
    return 1


def normal_pdf(x: Any, mean: Any = None, cov: Any = 1, allow_singular: Any = False, **rest: Any) -> Any:
    return np.exp(normal_logpdf(x, mean, cov, allow_singular))


def normal_logpdf_of_each(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """With the shape that JAX gives the result: of `x` for numbers, without its last axis for vectors."""
    shape = np.shape(x) if np.ndim(mean) == 0 else np.broadcast_shapes(np.shape(x), np.shape(mean))[:-1]
    return np.reshape(normal_logpdf(x, mean, cov), shape)[()]


def normal_pdf_of_each(x: Any, mean: Any, cov: Any) -> Any:
    return np.exp(normal_logpdf_of_each(x, mean, cov))


def normal_entropy(mean: Any = None, cov: Any = 1) -> Any:
    cov = np.asarray(cov).astype(np.float64)
    n = _length(None, mean, cov)
    matrix = cov * np.eye(n) if cov.ndim == 0 else np.diag(cov) if cov.ndim == 1 else cov
    return 0.5 * np.linalg.slogdet(matrix)[1] + n * (0.5 + LOG_ROOT_TWO_PI)


def dirichlet_logpdf(x: Any, alpha: Any) -> Any:
    """Of vectors along the first axis; all elements of one that sum to 1, or all but the last."""
    x, alpha = np.asarray(x), np.asarray(alpha)
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate((x, 1.0 - np.sum(x, axis=0, keepdims=True)))
    powers = xlogy(np.reshape(alpha - 1.0, (-1,) + (1,) * (x.ndim - 1)), x)
    return np.squeeze(gammaln(np.sum(alpha)) - np.sum(gammaln(alpha)) + np.sum(powers, axis=0))[()]


def dirichlet_pdf(x: Any, alpha: Any) -> Any:
    return np.exp(dirichlet_logpdf(x, alpha))


def wishart_logpdf(x: Any, df: Any, scale: Any) -> Any:
    """Of one matrix."""
    x, scale = np.asarray(x), np.asarray(scale)
    n = scale.shape[-1]
    log_x, log_scale = np.linalg.slogdet(x)[1], np.linalg.slogdet(scale)[1]
    trace = np.trace(np.linalg.solve(scale, x))
    half = 0.5 * df
    constant = half * (n * np.log(2.0) + log_scale) + multigammaln(half, n)
    return 0.5 * (df - n - 1.0) * log_x - 0.5 * trace - constant


def multinomial_logpmf(x: Any, n: Any, p: Any) -> Any:
    """Of counts along the last axis. The last probability is what the others leave where they do not sum to 1."""
    x, n, p = np.asarray(x), np.asarray(n), np.asarray(p).astype(np.float64)
    rest = 1.0 - np.sum(p[..., :-1], axis=-1, keepdims=True)
    summed = np.absolute(1.0 - np.sum(p, axis=-1, keepdims=True)) <= 10.0 * 2.220446049250313e-16
    p = np.concatenate((p[..., :-1], np.where(summed, p[..., -1:], rest)), axis=-1)
    value = gammaln(n + 1.0) + np.sum(xlogy(x, p) - gammaln(x + 1.0), axis=-1)
    possible = np.all((x >= 0) & (np.floor(x) == x), axis=-1) & (np.sum(x, axis=-1) == n)
    valid = np.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
    return np.where(valid, np.where(possible, value, -np.inf), np.nan)[()]


def multinomial_pmf(x: Any, n: Any, p: Any) -> Any:
    return np.exp(multinomial_logpmf(x, n, p))


OF_EACH: dict[str, Form] = {"logpdf": normal_logpdf_of_each, "pdf": normal_pdf_of_each}
OF_VECTORS: dict[str, dict[str, Form]] = {
    "multivariate_normal": {"logpdf": normal_logpdf, "pdf": normal_pdf, "entropy": normal_entropy},
    "dirichlet": {"logpdf": dirichlet_logpdf, "pdf": dirichlet_pdf},
    "wishart": {"logpdf": wishart_logpdf},
    "multinomial": {"logpmf": multinomial_logpmf, "pmf": multinomial_pmf},
}
