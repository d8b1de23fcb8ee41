"""PJRT: compiled programs, buffers, calls of NumPy inside them, devices, TPU topologies."""
