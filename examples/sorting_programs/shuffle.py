"""Write new numbers in random order, before every run: the mean is then one over inputs too."""

import os
from random import randrange

COUNT = 1000

with open(os.environ["NUMBERS"], "w", encoding="ascii") as file:
    for _ in range(COUNT):
        file.write(f"{randrange(10**6)}\n")
