"""The host side of a GPU program: its source, launches, graphs, tuning."""
