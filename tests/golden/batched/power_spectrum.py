def power_spectrum_batched(x):
    return np.abs(np.fft.rfft(x)) ** 2
