"""Batching: the program of one element becomes the program of many."""
