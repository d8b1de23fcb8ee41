"""Devices, and what makes a translated program ready to run on one."""
