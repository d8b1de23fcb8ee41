"""Transformations of functions (grad, jvp, vjp, vmap and kin), rules that users give, and checks of derivatives."""
