"""Compile what several test files use, before they run on several cores.

Each of the others is compiled by the one file that wants it. Two processes share the work, the
largest programs first.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

from bestk.compiled.programs import LIVE, PLAY, Axes, Program
from bestk.kernels.types import (
    ALL_SAMPLES,
    BETTING,
    CLUCB,
    COINS,
    EVIDENCE,
    EXCHANGE,
    FOREST,
    LIL,
    LIL_UCB,
    LUCB_ROUNDS,
    NORMAL,
    PAIR,
    PARTITION,
    UGAPE,
)

E_LUCB = [Axes(PAIR, EVIDENCE, hybrid=True, kind=kind) for kind in (BETTING, COINS, NORMAL)]
PAPER = [
    Axes(CLUCB, LIL),
    Axes(CLUCB, ALL_SAMPLES),
    Axes(UGAPE, ALL_SAMPLES),
    Axes(PAIR, LUCB_ROUNDS),
    Axes(PAIR, LIL),
    Axes(LIL_UCB, LIL),
]
E_CLUCB = [
    Axes(EXCHANGE, EVIDENCE, structure, hybrid=True, kind=NORMAL)
    for structure in (PARTITION, FOREST)
]
PROGRAMS = [
    *(Program(LIVE, axes) for axes in E_LUCB + E_CLUCB),
    *(Program(PLAY, axes) for axes in E_LUCB),
    *(Program(kind, axes) for kind in (LIVE, PLAY) for axes in PAPER),
]


def main():
    with ProcessPoolExecutor(2) as pool:
        for program, done in [(p, pool.submit(p.compile)) for p in PROGRAMS]:
            done.result()
            print(f"{program.name}: {program.last_took()} s", file=sys.stderr)


if __name__ == "__main__":
    main()
