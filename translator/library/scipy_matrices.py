"""scipy.linalg beyond scipy_linalg.py: LU factors, banded and matrix equations, roots and polar factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ops.selection import stop_gradient
from .scipy_linalg import expm, finite_operands, solve_triangular, toeplitz
from .scipy_support import band_offsets
from .support import known, only_plain


def lu_factor(a: Any, overwrite_a: Any = False, check_finite: Any = True) -> Any:
    """Gaussian elimination with the largest element of each column as pivot, of one matrix. The size of a complex
    number is |re| + |im| here, as in LAPACK.
    """
    a = np.asarray(a)
    only_plain("scipy.linalg.lu_factor", a.ndim == 2)
    m, n = a.shape
    lu = a.astype(np.result_type(a, np.float32))
    pivots = np.zeros(min(m, n), dtype=np.int32)
    rows, columns = np.arange(m), np.arange(n)
    for k in range(min(m, n)):
        p = np.argmax(np.where(rows < k, -1.0, np.abs(np.real(lu[:, k])) + np.abs(np.imag(lu[:, k]))))
        pivots[k] = p
        row = lu[p].copy()
        lu[p] = lu[k]
        lu[k] = row
        pivot = np.where(row[k] == 0, 1.0, row[k])  # a column of zeros is left as it is
        below = np.where(rows > k, lu[:, k] / pivot, 0.0)
        lu -= np.outer(below, np.where(columns > k, row, 0.0))
        lu[:, k] = np.where(rows > k, below, lu[:, k])
    return lu, pivots


def permutation(pivots: Any, m: int) -> Any:
    """The row of the matrix that elimination has put at each place."""
    order = np.arange(m)
    for k in range(pivots.shape[0]):
        p = pivots[k]
        at = order[p]
        order[p] = order[k]
        order[k] = at
    return order


def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0, overwrite_b: Any = False, check_finite: Any = True) -> Any:
    """The solution x of a x = b by the factors and pivots that `lu_factor` gives; with `trans` of the transposed (1) or
    adjoint (2) matrix.
    """
    lu, pivots = lu_and_piv
    b, trans = np.asarray(b), known(trans)
    order = permutation(pivots, lu.shape[0])
    if trans == 0:
        return solve_triangular(lu, solve_triangular(lu, b[order], 0, True, True))
    x = solve_triangular(lu, solve_triangular(lu, b, trans), trans, True, True)
    return x[np.argsort(order, kind="stable")]


def lu(
    a: Any, permute_l: Any = False, overwrite_a: Any = False, check_finite: Any = True, p_indices: Any = False
) -> Any:
    """p, l, u with p @ l @ u = a; with `permute_l` p @ l and u, with `p_indices` p as the order of rows."""
    both, pivots = lu_factor(a)
    m, n = both.shape
    lower = np.tril(both[:, : min(m, n)], -1) + np.eye(m, min(m, n), dtype=both.dtype)
    upper = np.triu(both[: min(m, n)])
    places = np.argsort(permutation(pivots, m), kind="stable").astype(np.int32)
    if known(permute_l):
        return lower[places], upper
    return (places if known(p_indices) else np.eye(m, dtype=np.real(both).dtype)[places]), lower, upper


def solve_banded(
    l_and_u: Any, ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, check_finite: Any = True
) -> Any:
    """By the whole matrix: n**2 elements, and the work of np.linalg.solve."""
    below, above = known(l_and_u)
    ab, b = np.asarray(ab), np.asarray(b)
    if below + above + 1 != ab.shape[-2]:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({below + above + 1}) "
                         f"does not equal ab.shape[0] ({ab.shape[-2]})")
    n = ab.shape[-1]
    a = np.zeros((n, n), dtype=ab.dtype)
    for row, rows, columns in band_offsets(n, below, above):
        a[rows, columns] = ab[row, columns]
    return np.linalg.solve(a, b)


def solveh_banded(
    ab: Any, b: Any, overwrite_ab: Any = False, overwrite_b: Any = False, lower: Any = False, check_finite: Any = True
) -> Any:
    """By the whole matrix: n**2 elements, and the work of np.linalg.solve."""
    ab, b = np.asarray(ab), np.asarray(b)
    width, n = ab.shape[0] - 1, ab.shape[-1]
    down, up = (width, 0) if known(lower) else (0, width)
    a = np.zeros((n, n), dtype=ab.dtype)
    for row, rows, columns in band_offsets(n, down, up):
        a[rows, columns] = ab[row, columns]
        a[columns, rows] = np.conj(ab[row, columns])
    return np.linalg.solve(a, b)


def solve_toeplitz(c_or_cr: Any, b: Any, check_finite: Any = True) -> Any:
    """The solution x of toeplitz(c, r) x = b, from c or the pair (c, r)."""
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    return np.linalg.solve(toeplitz(c, r), b)


def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """`a x + x b = q` as one system of equations: the work grows with the sixth power of the size."""
    a, b, q = np.asarray(a), np.asarray(b), np.asarray(q)
    m, n = a.shape[0], b.shape[0]
    whole = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return np.reshape(np.linalg.solve(whole, np.reshape(q, (m * n,))), (m, n))


def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """`a x + x a^H = q`."""
    return solve_sylvester(a, np.conj(np.asarray(a)).T, q)


def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """`a x a^H - x + q = 0`."""
    a, q = np.asarray(a), np.asarray(q)
    n = a.shape[0]
    whole = np.eye(n * n) - np.kron(a, np.conj(a))
    return np.reshape(np.linalg.solve(whole, np.reshape(q, (n * n,))), (n, n))


STEPS = 24  # Newton's method has converged long before, or does not


def _root(a: Any) -> Any:
    """The principal square root by the scaled iteration of E. Denman and A. Beavers (N. Higham, "Functions of
    Matrices", (6.28) and (6.29))."""
    n = a.shape[0]
    x, y = a, np.eye(n, dtype=a.dtype)
    for _ in range(STEPS):
        sizes = np.linalg.slogdet(stop_gradient(x))[1] + np.linalg.slogdet(stop_gradient(y))[1]
        scale = np.exp(-sizes / (2 * n))
        x, y = scale * x, scale * y
        x, y = 0.5 * (x + np.linalg.inv(y)), 0.5 * (y + np.linalg.inv(x))
    return x


def sqrtm(A: Any, disp: Any = None, blocksize: Any = None) -> Any:
    """The principal square root. Where it is not real, or there is none, CPython has the call."""
    a = np.asarray(A)
    only_plain("scipy.linalg.sqrtm", a.ndim == 2 and disp is None)
    a = a.astype(np.result_type(a, np.float32))
    x = _root(a)
    left = np.max(np.abs(x @ x - a))
    if not left <= np.finfo(a.dtype).eps ** 0.5 * np.max(np.abs(a)):
        raise OverflowError("the principal square root of the matrix is complex, or there is none")
    return x


ROOTS = 8  # of which the last is within 0.26 of the unit matrix for eigenvalues between 1e-26 and 1e26
LEGENDRE = (
    (0.0254460438286207, 0.06474248308443487),
    (0.12923440720030277, 0.13985269574463843),
    (0.2970774243113014, 0.19091502525255935),
    (0.5, 0.20897959183673465),
    (0.7029225756886985, 0.19091502525255935),
    (0.8707655927996972, 0.13985269574463843),
    (0.9745539561713793, 0.06474248308443487),
)  # nodes and weights of seven points between 0 and 1


def logm(A: Any, disp: Any = None) -> Any:
    """The principal logarithm, 2 ** k * log(A ** (1 / 2 ** k)): roots until the diagonal Pade approximant of degree 7,
    the sum over Gauss's points of the integral of (A - I) / (t (A - I) + I), has all digits (N. Higham, "Functions of
    Matrices", (11.18) and table 11.1). Where it is not real, or there is none, CPython has the call."""
    a = np.asarray(A)
    only_plain("scipy.linalg.logm", a.ndim == 2 and disp is None)
    a = a.astype(np.result_type(a, np.float32))
    x = a
    for _ in range(ROOTS):
        x = _root(x)
    power = x
    for _ in range(ROOTS):
        power = power @ power
    left = np.max(np.abs(power - a))
    if not left <= np.finfo(a.dtype).eps ** 0.5 * np.max(np.abs(a)):
        raise OverflowError("the principal logarithm of the matrix is complex, or there is none")
    unit = np.eye(a.shape[0], dtype=a.dtype)
    d = x - unit
    total = np.zeros_like(d)
    for node, weight in LEGENDRE:
        total = total + weight * np.linalg.solve(unit + node * d, d)
    return 2.0**ROOTS * total


def polar(a: Any, side: Any = "right") -> Any:
    """By singular values, whose derivatives need them to be distinct."""
    a = np.asarray(a)
    w, s, vh = np.linalg.svd(a, False)
    u = w @ vh
    if known(side) == "right":
        return u, (np.conj(vh).T * s) @ vh
    return u, (w * s) @ np.conj(w).T


def hermitian_of(a: Any, lower: Any) -> Any:
    """The Hermitian matrix of which one triangle is given."""
    t = np.tril(a) if known(lower) else np.triu(a)
    return np.where(np.eye(a.shape[0], dtype=bool), np.real(t), t + np.conj(t).T)


def standard_form(a: Any, b: Any, lower: Any) -> Any:
    """The matrix whose eigenvalues are the w of a x = w b x, and Cholesky's factor c of b: c^-1 a c^-H."""
    c = np.linalg.cholesky(np.tril(b) if known(lower) else np.conj(np.triu(b)).T)
    half = solve_triangular(c, hermitian_of(a, lower), 0, True)
    return solve_triangular(c, np.conj(half).T, 0, True), c


def eigvalsh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """The eigenvalues of a symmetric or Hermitian a, or of a x = w b x, in ascending order."""
    plain = subset_by_index is None and subset_by_value is None and known(type) == 1
    only_plain("scipy.linalg.eigvalsh", plain)
    if b is None:
        return np.linalg.eigvalsh(a, "L" if known(lower) else "U")
    return np.linalg.eigvalsh(standard_form(np.asarray(a), np.asarray(b), lower)[0])


def eigh(
    a: Any,
    b: Any = None,
    *,
    lower: Any = True,
    eigvals_only: Any = False,
    overwrite_a: Any = False,
    overwrite_b: Any = False,
    type: Any = 1,
    check_finite: Any = True,
    subset_by_index: Any = None,
    subset_by_value: Any = None,
    driver: Any = None,
) -> Any:
    """The values. Signs of vectors depend on the driver, and those of SciPy's are not NumPy's."""
    only_plain("scipy.linalg.eigh", known(eigvals_only), "for vectors")
    return eigvalsh(
        a, b, lower=lower, type=type, subset_by_index=subset_by_index, subset_by_value=subset_by_value, driver=driver
    )


def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: Any = True, check_finite: Any = True) -> Any:
    """Blocks of the exponential of [[A, E], [0, A]] (N. Higham, "Functions of Matrices", (3.16))."""
    a, e = np.asarray(A), np.asarray(E)
    n = a.shape[0]
    whole = expm(np.concatenate([np.concatenate([a, e], 1), np.concatenate([np.zeros_like(a), a], 1)], 0))
    return (whole[:n, :n], whole[:n, n:]) if known(compute_expm) else whole[:n, n:]


NAMES = finite_operands(
    {
        solve_continuous_lyapunov: "a q",
        solve_discrete_lyapunov: "a q",
        polar: "a",
        eigvalsh: "a b",
        eigh: "a b",
        expm_frechet: "A E",
    }
)
TRANSFORMED: dict[str, Any] = {f.__name__: f for f in (sqrtm, logm)} | finite_operands(
    {
        lu_factor: "a",
        lu_solve: "b",
        lu: "a",
        solve_banded: "ab b",
        solveh_banded: "ab b",
        solve_toeplitz: "c_or_cr b",
        solve_sylvester: "a b q",
    }
)
"""For derivatives and batches: SciPy's own take a twentieth of the time, and of the memory for banded systems."""
