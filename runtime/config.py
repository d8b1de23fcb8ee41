"""`untraced.config`: what is decided before the first computation.

    untraced.config.cpu_devices = 8          or, in the environment,  UNTRACED_CPU_DEVICES=8
"""

from __future__ import annotations


class Config:
    """Settings of the process."""

    @property
    def cpu_devices(self) -> int:
        """How many devices the processor is taken for; they share its cores. RuntimeError where XLA runs already."""
        from ..tpu import client

        return client.device_count()

    @cpu_devices.setter
    def cpu_devices(self, count: int) -> None:
        from ..tpu import client

        if count == client.device_count():
            return
        client.starting().devices = client.checked_count("untraced.config.cpu_devices", count)

    def __setattr__(self, name: str, value: object) -> None:
        if not hasattr(type(self), name):
            raise AttributeError(f"untraced.config has no setting {name!r}; it has cpu_devices")
        super().__setattr__(name, value)


config = Config()
