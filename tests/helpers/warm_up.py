"""The programs that tests run, compiled before they are spread over several cores.

Kernels are compiled for many combinations of policy, class and rewards; tests keep to these. All
cores share the work, what takes longest first.
"""

import sys
from concurrent.futures import ProcessPoolExecutor

from bestk.compiled.programs import AROUND, LIVE, PLAY, Axes, Program
from bestk.kernels.types import (
    ALL_SAMPLES,
    BETTING,
    CLUCB,
    COINS,
    CPE,
    DAG,
    EVIDENCE,
    EXCHANGE,
    EXPLICIT,
    FINITE,
    FOREST,
    LIL,
    LIL_UCB,
    LUCB_ROUNDS,
    NO_ORACLE,
    NORMAL,
    PAIR,
    PARTITION,
    QUANTILE,
    ROADS,
    SETS,
    UGAPE,
)


def e_lucb(kind):
    return Axes(PAIR, EVIDENCE, hybrid=True, kind=kind)


def e_clucb(structure):
    return Axes(EXCHANGE, EVIDENCE, structure, hybrid=True, kind=NORMAL)


PROGRAMS = [
    Program(LIVE, e_clucb(FOREST)),
    *(Program(LIVE, e_lucb(kind)) for kind in (BETTING, COINS)),
    *(Program(PLAY, e_clucb(structure)) for structure in (FOREST, PARTITION)),
    *(Program(PLAY, e_lucb(kind)) for kind in (NORMAL, COINS, FINITE, QUANTILE)),
    *(Program(kind, e_lucb(NORMAL)._replace(pairs=True)) for kind in (LIVE, PLAY)),
    *(Program(PLAY, Axes(PAIR, EVIDENCE, glr=True, kind=kind)) for kind in (NORMAL, COINS)),
    *(Program(PLAY, Axes(SETS, EVIDENCE, structure)) for structure in (DAG, EXPLICIT)),
    *(
        Program(kind, axes)
        for kind in (LIVE, PLAY)
        for axes in (Axes(UGAPE, ALL_SAMPLES), Axes(PAIR, LUCB_ROUNDS), Axes(CLUCB, LIL))
    ),
    Program(PLAY, Axes(CLUCB, ALL_SAMPLES)),
    Program(PLAY, Axes(PAIR, LIL)),
    *(
        Program(PLAY, Axes(CPE, LIL, structure))
        for structure in (PARTITION, FOREST, DAG, ROADS, EXPLICIT)
    ),
    Program(PLAY, Axes(CPE, ALL_SAMPLES, PARTITION)),
    Program(LIVE, Axes(CPE, ALL_SAMPLES, ROADS)),
    Program(AROUND, Axes(CPE, LIL, NO_ORACLE)),
    *(Program(kind, Axes(LIL_UCB, LIL)) for kind in (LIVE, PLAY)),
]


def main():
    with ProcessPoolExecutor() as pool:  # one for every core
        for program, done in [(p, pool.submit(p.compile)) for p in PROGRAMS]:
            done.result()
            print(f"{program.name}: {program.last_took()} s", file=sys.stderr)


if __name__ == "__main__":
    main()
