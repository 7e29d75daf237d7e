"""The coins that round bounded rewards and order items, restated: Philox4x32-10.

Salmon, Moraes, Dror and Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3". The counter is
(number of the observation, row of the arm, how often arms came or went before, the stream), the key
the study's seed.
"""

from __future__ import annotations

import numpy as np

from bestk.verification.arrays import Floats, Ints

LOW = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85
ROUNDING, ORDER = 2, 4  # streams: of the rounding of rewards, of orders of items


def coins(seed: int, rows: Ints, changes: Ints, numbers: Ints, stream: int = ROUNDING) -> Floats:
    """Numbers in (0, 1), one for each observation, which are numbered from 0."""
    n = numbers.astype(np.uint64)
    a, b, c = n & LOW, rows.astype(np.uint64), changes.astype(np.uint64)
    d = (np.uint64(stream) + ((n >> HALF) << np.uint64(8))) & LOW
    for turn in range(10):
        key = [
            np.uint64(((seed >> 32 * half & 0xFFFFFFFF) + turn * WEYL[half]) & 0xFFFFFFFF)
            for half in (0, 1)
        ]
        left, right = MULTIPLIERS[0] * a, MULTIPLIERS[1] * c
        a, b = (right >> HALF) ^ b ^ key[0], right & LOW
        c, d = (left >> HALF) ^ d ^ key[1], left & LOW
    # 52 bits and a half, so that neither 0 nor 1 can come out
    bits = ((a << HALF) | b) >> np.uint64(12)
    return (bits.astype(np.float64) + 0.5) * 2.0**-52
