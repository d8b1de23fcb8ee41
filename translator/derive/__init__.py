"""Derivatives: a program becomes its jvp or its vjp, which are programs too."""
