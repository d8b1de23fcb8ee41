# np.tanh(x) * y + 1
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def half_precision_t(x_ptr, y_ptr, t_2_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    x = tl.load(x_ptr + i, mask=mask)
    t = (libdevice.tanh(x.to(tl.float32))).to(tl.float16)
    y = tl.load(y_ptr + i, mask=mask)
    t_1 = (t.to(tl.float32) * y.to(tl.float32)).to(tl.float16)
    t_2 = (t_1.to(tl.float32) + 1.0).to(tl.float16)
    tl.store(t_2_ptr + i, t_2, mask=mask)
