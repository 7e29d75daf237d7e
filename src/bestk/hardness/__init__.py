"""How hard an instance is: gaps, H, the theorems' bounds, T* and the limit no policy can beat.

`best_k` and `combinatorial` are what users call. T* is solved by `staircase` for the K
best, with the geometry of `gaussian` or `bernoulli` rewards, and by `cutting_planes` with the sets
that `separation` finds for any decision class.
"""

from bestk.hardness.best_k import Difficulty, difficulty, first_time, kl_of_error, t_star
from bestk.hardness.combinatorial import CombinatorialDifficulty, combinatorial_difficulty

__all__ = [
    "CombinatorialDifficulty", "Difficulty", "combinatorial_difficulty", "difficulty", "first_time",
    "kl_of_error", "t_star",
]  # fmt: skip
