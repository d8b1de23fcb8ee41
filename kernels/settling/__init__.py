"""Deciding what becomes a kernel, and what joins it."""
