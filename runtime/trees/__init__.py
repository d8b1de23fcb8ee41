"""Pytrees: containers taken apart into leaves and put together again."""
