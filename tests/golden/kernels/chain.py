# 0.5 * (x + y)
# np.sin(mixed) - mixed * x
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def chain_t(x_ptr, y_ptr, t_3_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    y = tl.load(y_ptr + i, mask=mask)
    t = x + y
    mixed = 0.5 * t
    t_1 = libdevice.sin(mixed)
    t_2 = mixed * x
    t_3 = t_1 - t_2
    tl.store(t_3_ptr + i, t_3, mask=mask)
