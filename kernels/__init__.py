"""Fused programs as Triton and CUDA kernels, compiled ahead of time and launched; host loops as C++."""
