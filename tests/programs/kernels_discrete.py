"""Complete programs over integers and tables: checksums, dynamic programming, graphs, searches."""

from __future__ import annotations

import numpy as np

from kernels import program


@program(lambda r, n=20: (r.integers(0, 256, n).astype(np.uint8),))
def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        cur = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (cur & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            cur >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@program(lambda r, n=20: (r.integers(0, 256, n, dtype=np.uint8),))
def crc32_table(data):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            c = np.uint32(0xEDB88320) ^ (c >> np.uint32(1)) if c & np.uint32(1) else c >> np.uint32(1)
        table[i] = c
    crc = np.uint32(0xFFFFFFFF)
    for b in data:
        crc = table[(crc ^ b) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


@program(lambda r, n=30: (n,))
def sieve(n):
    is_p = np.ones(n + 1, dtype=bool)
    is_p[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if is_p[i]:
            is_p[i * i :: i] = False
    return is_p


@program(lambda r, n=30: (n,))
def collatz(n):
    best = 0
    arg = 0
    for i in range(1, n):
        k = i
        c = 0
        while k != 1:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            c += 1
        if c > best:
            best = c
            arg = i
    return arg, best


def match(b1, b2):
    if b1 + b2 == 3:
        return 1
    else:
        return 0


@program(lambda r, n=10: (n, r.integers(0, 4, n)))
def nussinov(N, seq):
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@program(lambda r, n=10: (r.integers(0, 4, n), r.integers(0, 4, n)))
def smith_waterman(a, b, gap=-2):
    H = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    best = 0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = 3 if a[i - 1] == b[j - 1] else -3
            H[i, j] = max(0, H[i - 1, j - 1] + s, H[i - 1, j] + gap, H[i, j - 1] + gap)
            if H[i, j] > best:
                best = H[i, j]
    return H, best


@program(lambda r, n=10: (r.integers(0, 4, n), r.integers(0, 4, n + 2)))
def levenshtein_rows(s, t):
    prev = np.arange(t.size + 1)
    for c in s:
        cur = np.concatenate([[prev[0] + 1], np.minimum(prev[1:] + 1, prev[:-1] + (t != c))])
        cur = np.minimum.accumulate(cur - np.arange(cur.size)) + np.arange(cur.size)
        prev = cur
    return prev[-1]


@program(lambda r, n=6: (r.integers(1, 20, n), r.integers(1, 50, n), 50))
def knapsack_vec(w, v, W):
    dp = np.zeros(W + 1, dtype=int)
    for wi, vi in zip(w, v):
        dp[wi:] = np.maximum(dp[wi:], dp[:-wi] + vi)
    return dp[W]


@program(lambda r, n=6: (r.integers(1, 30, n + 1),))
def matrix_chain(p):
    n = len(p) - 1
    m = np.zeros((n, n), dtype=np.int64)
    s = np.zeros((n, n), dtype=np.int64)
    for L in range(2, n + 1):
        for i in range(n - L + 1):
            j = i + L - 1
            m[i, j] = np.iinfo(np.int64).max
            for k in range(i, j):
                q = m[i, k] + m[k + 1, j] + p[i] * p[k + 1] * p[j + 1]
                if q < m[i, j]:
                    m[i, j] = q
                    s[i, j] = k
    return m, s


@program(lambda r, n=8: (r.integers(0, 5, n), r.integers(0, 5, n)))
def lcs(x, y):
    m = len(x)
    n = len(y)
    L = np.zeros((m + 1, n + 1), int)
    for i in range(m):
        for j in range(n):
            if x[i] == y[j]:
                L[i + 1][j + 1] = L[i][j] + 1
            else:
                L[i + 1][j + 1] = max(L[i + 1][j], L[i][j + 1])
    i, j = m, n
    out = np.full(m, -1)
    k = L[m, n]
    while i > 0 and j > 0:
        if x[i - 1] == y[j - 1]:
            k -= 1
            out[k] = x[i - 1]
            i -= 1
            j -= 1
        elif L[i - 1, j] > L[i, j - 1]:
            i -= 1
        else:
            j -= 1
    return L, out


@program(lambda r, n=8: (r.random((n, n)) + np.eye(n) * 0, 0))
def dijkstra_dense(w, src):
    n = w.shape[0]
    dist = np.full(n, np.inf)
    dist[src] = 0
    done = np.zeros(n, dtype=bool)
    for _ in range(n):
        u = np.argmin(np.where(done, np.inf, dist))
        done[u] = True
        dist = np.where(done, dist, np.minimum(dist, dist[u] + w[u]))
    return dist


@program(lambda r, n=8: (r.random((n, n)),))
def prim(w):
    n = len(w)
    w = np.minimum(w, w.T)
    key = np.full(n, np.inf)
    parent = np.full(n, -1)
    inT = np.zeros(n, bool)
    key[0] = 0
    total = 0.0
    for _ in range(n):
        best = -1
        bk = np.inf
        for v in range(n):
            if not inT[v] and key[v] < bk:
                bk = key[v]
                best = v
        inT[best] = True
        total += bk
        for v in range(n):
            if not inT[v] and w[best, v] < key[v]:
                key[v] = w[best, v]
                parent[v] = best
    return total, parent


@program(lambda r, n=20: (r.random(n),))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@program(lambda r, n=20: (np.sort(r.random(n)), r.random(20)))
def binsearch(a, q):
    out = np.full(q.size, -1)
    for k in range(q.size):
        lo, hi = 0, len(a)
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < q[k]:
                lo = mid + 1
            else:
                hi = mid
        out[k] = lo
    return out


@program(lambda r, n=1: (r.random((30, 2)), np.array([[0.1, 0.1], [0.9, 0.2], [0.8, 0.9], [0.2, 0.7]])))
def point_in_poly(pts, poly):
    n = len(poly)
    res = np.zeros(len(pts), dtype=bool)
    for k in range(len(pts)):
        x, y = pts[k]
        inside = False
        j = n - 1
        for i in range(n):
            xi, yi = poly[i]
            xj, yj = poly[j]
            if ((yi > y) != (yj > y)) and (x < (xj - xi) * (y - yi) / (yj - yi) + xi):
                inside = not inside
            j = i
        res[k] = inside
    return res
