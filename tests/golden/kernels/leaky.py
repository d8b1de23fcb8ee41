# x * gain + offset[:, None]
# scaled > 0
# np.where(positive, scaled, slope * scaled)
import triton
import triton.language as tl


@triton.jit
def leaky_positive(x_ptr, gain_ptr, offset_ptr, positive_ptr, t_2_ptr, slope, n_1, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    i_1 = i % n_1
    i_0 = i // n_1
    x = tl.load(x_ptr + i, mask=mask)
    gain = tl.load(gain_ptr + i_1, mask=mask)
    t = x * gain
    offset = tl.load(offset_ptr + i_0, mask=mask)
    scaled = t + offset
    positive = scaled > 0.0
    t_1 = slope.to(tl.float32) * scaled
    t_2 = tl.where(positive, scaled, t_1)
    tl.store(positive_ptr + i, positive, mask=mask)
    tl.store(t_2_ptr + i, t_2, mask=mask)
