"""Loops as C++ for the host, and as kernels with a thread or a lane for each."""
