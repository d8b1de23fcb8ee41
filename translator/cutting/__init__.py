"""Cutting a function, where only CPython can go on, into regions that compile and a driver that calls them."""
