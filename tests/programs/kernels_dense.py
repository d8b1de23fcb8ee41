"""Complete programs of dense and sparse linear algebra: factorisations, solutions, products, in loops over slices."""

from __future__ import annotations

import math

import numpy as np

from kernels import program


def spd(r, n):
    """A symmetric positive definite matrix."""
    m = r.random((n, n))
    return m @ m.T / n + np.eye(n) * 2


def csr(r, n=10):
    """Row starts, columns and values of a sparse matrix, and a vector."""
    m = r.random((n, n)) < 0.4
    rows = np.concatenate([[0], np.cumsum(m.sum(1))]).astype(np.uint32)
    cols = np.nonzero(m)[1].astype(np.uint32)
    return rows, cols, r.random(cols.size), r.random(n)


@program(lambda r, n=8: (spd(r, n),))
def cholesky_cols(A):
    n = A.shape[0]
    for k in range(n):
        A[k, k] = math.sqrt(A[k, k])
        A[k + 1 :, k] /= A[k, k]
        for j in range(k + 1, n):
            A[j:, j] -= A[j:, k] * A[j, k]
    return np.tril(A)


@program(lambda r, n=8: (r.random((n, n)) + np.eye(n) * n,))
def lu_rank1(a):
    n = a.shape[0]
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])


@program(lambda r, n=8: (r.random((n, n)),))
def lu_pivot(a):
    n = len(a)
    piv = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            tmp = a[k].copy()
            a[k] = a[p]
            a[p] = tmp
            piv[k], piv[p] = piv[p], piv[k]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k : k + 1] * a[k : k + 1, k + 1 :]
    return a, piv


@program(lambda r, n=8: (r.random((n, n)), r.random(n)))
def gauss_elim(A, b):
    n = b.size
    A = A.copy()
    b = b.copy()
    for i in range(n):
        m = np.abs(A[i:, i]).argmax() + i
        A[[i, m]] = A[[m, i]]
        b[[i, m]] = b[[m, i]]
        for j in range(i + 1, n):
            f = A[j, i] / A[i, i]
            A[j, i:] -= f * A[i, i:]
            b[j] -= f * b[i]
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - np.dot(A[i, i + 1 :], x[i + 1 :])) / A[i, i]
    return x


@program(lambda r, n=8: (r.random((n + 3, n)),))
def householder_qr(A):
    m, n = A.shape
    Q = np.eye(m)
    R = A.copy()
    for k in range(n):
        x = R[k:, k]
        e = np.zeros_like(x)
        e[0] = 1.0
        alpha = -np.copysign(np.linalg.norm(x), x[0])
        v = x - alpha * e
        v /= np.linalg.norm(v)
        R[k:, :] -= 2.0 * np.outer(v, v @ R[k:, :])
        Q[:, k:] -= 2.0 * np.outer(Q[:, k:] @ v, v)
    return Q, R


@program(lambda r, n=8: (r.random((n + 2, n)),))
def mgs_vec(V):
    V = V.copy()
    n, k = V.shape
    U = np.zeros((n, k))
    U[:, 0] = V[:, 0] / np.linalg.norm(V[:, 0])
    for i in range(1, k):
        U[:, i] = V[:, i]
        for j in range(i):
            U[:, i] = U[:, i] - (U[:, i] @ U[:, j]) * U[:, j]
        U[:, i] = U[:, i] / np.linalg.norm(U[:, i])
    return U


@program(lambda r, n=8: (np.concatenate([[4.0 * n], r.random(n - 1)]), r.random(n)))
def levinson(t, b):
    n = len(t)
    f = np.zeros(n)
    x = np.zeros(n)
    g = np.zeros(n)
    f[0] = 1 / t[0]
    g[0] = 1 / t[0]
    x[0] = b[0] / t[0]
    for k in range(1, n):
        ef = np.dot(t[k:0:-1], f[:k])
        eb = np.dot(t[1 : k + 1], g[:k])
        ex = np.dot(t[k:0:-1], x[:k])
        den = 1 - ef * eb
        fn = np.zeros(n)
        gn = np.zeros(n)
        fn[:k] = f[:k] / den
        fn[1 : k + 1] -= ef / den * g[:k]
        gn[1 : k + 1] = g[:k] / den
        gn[:k] -= eb / den * f[:k]
        f = fn
        g = gn
        x = x + (b[k] - ex) * g
    return x


@program(lambda r, n=8: (1.3, 0.7, r.random((n, n)), r.random((n, n)), r.random((n, n))))
def k_symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],), dtype=C.dtype)
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2


@program(lambda r, n=8: (1.3, r.random((n, n)), r.random((n, n))))
def k_trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha


@program(lambda r, n=8: (r.random((n, n)), r.random((n, n))))
def block_matmul(A, B, bs=4):
    n = A.shape[0]
    C = np.zeros((n, n))
    for i in range(0, n, bs):
        for j in range(0, n, bs):
            for k in range(0, n, bs):
                C[i : i + bs, j : j + bs] += A[i : i + bs, k : k + bs] @ B[k : k + bs, j : j + bs]
    return C


@program(lambda r, n=10: (spd(r, n), r.random(n)))
def cg(A, b):
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    it = 0
    for i in range(len(b) * 2):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        it += 1
        if np.sqrt(new) < 1e-10:
            break
        p = r + (new / rs) * p
        rs = new
    return x, it


@program(lambda r, n=8: (r.random((n, n)) + np.eye(n) * n, r.random(n), np.zeros(n)))
def gauss_seidel_solver(A, b, x):
    n = len(b)
    for it in range(30):
        xo = x.copy()
        for i in range(n):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ xo[i + 1 :]) / A[i, i]
        if np.max(np.abs(x - xo)) < 1e-10:
            break
    return x, it


@program(lambda r, n=6: (spd(r, n),))
def inv_gauss_jordan(a):
    n = a.shape[0]
    aug = np.hstack([a, np.eye(n)])
    for i in range(n):
        aug[i] /= aug[i, i]
        for j in range(n):
            if j != i:
                aug[j] -= aug[j, i] * aug[i]
    return aug[:, n:]


@program(lambda r, n=8: (1.2, 0.5, r.random((n, n)), *[r.random(n) for _ in range(8)]))
def k_gemver(alpha, beta, A, u1, v1, u2, v2, w, x, y, z):
    A += np.multiply.outer(u1, v1) + np.multiply.outer(u2, v2)
    x += beta * y @ A + z
    w += alpha * A @ x


@program(csr)
def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in range(A_row.size - 1):
        cols = A_col[A_row[i] : A_row[i + 1]]
        vals = A_val[A_row[i] : A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@program(lambda r, n=10: (r.integers(0, n, 5 * n), r.integers(0, n, 5 * n), r.random(5 * n), r.random(n)))
def coo_mv(row, col, val, x):
    y = np.zeros_like(x)
    np.add.at(y, row, val * x[col])
    return y, np.bincount(row, weights=val * x[col], minlength=x.size)


@program(lambda r, n=8: ((r.random((n, n)) < 0.3).astype(float),))
def pagerank(A):
    n = A.shape[0]
    deg = A.sum(axis=1)
    P = np.where(deg[:, None] > 0, A / np.where(deg == 0, 1, deg)[:, None], 1.0 / n)
    x = np.ones(n) / n
    for it in range(100):
        new = 0.85 * (x @ P) + 0.15 / n
        if np.abs(new - x).sum() < 1e-8:
            x = new
            break
        x = new
    return x, it


@program(
    lambda r, n=8: (
        n,
        3,
        2,
        r.random((n, n)) + 1j * r.random((n, n)),
        r.random((n, n)) + 1j * r.random((n, n)),
        r.random(5) + 1j * r.random(5),
    )
)
def contour(NR, NM, slab_per_bc, Ham0, Ham1, int_pts):
    P0 = np.zeros((NR, NM), dtype=np.complex128)
    P1 = np.zeros((NR, NM), dtype=np.complex128)
    Y = np.cos(np.arange(NR * NM)).reshape(NR, NM) + 0j
    Ham = np.stack([Ham0, Ham1, Ham0 * 0.5])
    for z in int_pts:
        Tz = np.zeros((NR, NR), dtype=np.complex128)
        for n in range(slab_per_bc + 1):
            zz = np.power(z, slab_per_bc / 2 - n)
            Tz += zz * Ham[n]
        if NR == NM:
            X = np.linalg.inv(Tz)
        else:
            X = np.linalg.solve(Tz, Y)
        if abs(z) < 1.0:
            X = -X
        P0 += X
        P1 += z * X
    return P0, P1


@program(
    lambda r, n=3: (
        3,
        2,
        4,
        3,
        n,
        2,
        r.random((3, 2, 2, 2, n, n)) + 0j,
        r.random((2, n, 4, n)) + 0j,
        r.integers(0, 2, (4, 3)),
        r.random((4, 3, n)) + 0j,
        r.random((4, 4, n, n)) + 0j,
    )
)
def scattering(Nkz, Nqz, NA, NB, Norb, N3D, dummy, dH2, neigh, dHd, D):
    G = np.cos(np.arange(Nkz * 4 * NA * Norb * Norb)).reshape(Nkz, 4, NA, Norb, Norb) + 0j
    dH = np.sin(np.arange(NA * NB * N3D * Norb * Norb)).reshape(NA, NB, N3D, Norb, Norb) + 0j
    DD = np.cos(np.arange(Nqz * 2 * NA * NB * N3D * N3D)).reshape(Nqz, 2, NA, NB, N3D, N3D) + 0j
    Sigma = np.zeros_like(G)
    for k in range(Nkz):
        for E in range(4):
            for q in range(Nqz):
                for w in range(2):
                    for i in range(N3D):
                        for j in range(N3D):
                            for a in range(NA):
                                for b in range(NB):
                                    if E - w >= 0:
                                        dHG = G[k, E - w, neigh[a, b]] @ dH[a, b, i]
                                        dHD = dH[a, b, j] * DD[q, w, a, b, i, j]
                                        Sigma[k, E, a] += dHG @ dHD
    return Sigma
