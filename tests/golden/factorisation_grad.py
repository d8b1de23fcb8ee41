def factorisation_grad(u, v, x, mask):
    e = (x - u @ v.T) * mask
    d_e = e * 2.0                       # from line ..: e * e
    d_t = -(d_e * mask)                 # from line ..: x - u @ v.T
    return u * 0.2 + d_t @ v            # from line ..: u @ v.T
