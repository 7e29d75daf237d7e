"""Pulls that worker processes make: they have to find this module by its name."""

import os
import random
import signal
from pathlib import Path

WORTH = {"a": 0.1, "b": 0.9, "c": 0.5, "d": 0.2}


def draw(arm):
    """A reward that never comes twice."""
    return WORTH[arm] + random.uniform(-0.1, 0.1)


async def draw_later(arm):
    return draw(arm)


class DrawOrDie:
    """Kills its own process the first `deaths` times that it is asked for `arm`."""

    def __init__(self, folder, arm, deaths=1):
        self.folder, self.arm, self.deaths = Path(folder), arm, deaths

    def __call__(self, arm):
        if arm == self.arm:
            for number in range(self.deaths):
                try:
                    os.close(os.open(self.folder / f"death-{number}", os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    continue
                os.kill(os.getpid(), signal.SIGKILL)
        return draw(arm)
