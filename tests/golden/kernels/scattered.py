# out[places] = np.sqrt(y)
import triton
import triton.language as tl


@triton.jit
def scattered_out_claims(places_ptr, outside_ptr, last_ptr, out_size, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    places = tl.load(places_ptr + position, mask=mask)
    out_at = tl.where(mask, places, 0)
    out_at = tl.where(out_at < 0, out_at + out_size, out_at)
    inside = (out_at >= 0) & (out_at < out_size)
    tl.store(outside_ptr + tl.zeros_like(inside).to(tl.int32), 1, mask=mask & (inside == 0))
    tl.atomic_max(last_ptr + out_at, (position + 1).to(tl.int32), mask=mask & inside, sem="relaxed")

# out[places] = np.sqrt(y)
import triton
import triton.language as tl


@triton.jit
def scattered_out(places_ptr, last_ptr, y_ptr, out_ptr, out_size, positions, BLOCK: tl.constexpr):
    position = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = position < positions
    places = tl.load(places_ptr + position, mask=mask)
    out_at = tl.where(mask, places, 0)
    out_at = tl.where(out_at < 0, out_at + out_size, out_at)
    inside = (out_at >= 0) & (out_at < out_size)
    holds = tl.load(last_ptr + out_at, mask=mask & inside, other=0) == position + 1
    y = tl.load(y_ptr + position, mask=mask)
    t = tl.sqrt_rn(y)
    tl.store(out_ptr + out_at, t, mask=mask & inside & holds)
