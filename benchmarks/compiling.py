"""What does it cost to compile each program: every policy, reward family and decision class?

Wanted: each within 40 s on a quiet machine, with an empty cache. Times are seconds of processor
time, and beside each stands its ratio to the simulator of lil-rand-lucb in the same run.
"""

import os
import tempfile
import time

from bestk.ahead import programs_for
from bestk.compiled.programs import PLAY


def seconds(program):
    """One compilation into an empty folder."""
    started = time.process_time()
    program.compile()
    return time.process_time() - started


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BESTK_CACHE_DIR"] = folder
        (first,) = (p for p in programs_for(["lil-rand-lucb"], ["gaussian"]) if p.kind == PLAY)
        reference = seconds(first)
        found = {first: reference}
        for program in programs_for(classes=None):
            if program not in found:
                found[program] = seconds(program)
    for program, cost in sorted(found.items(), key=lambda pair: -pair[1]):
        print(f"{program.name:45s} {cost:5.2f} s {cost / reference:5.1f}")
    print(f"{len(found)} programs: {sum(found.values()):.0f} s")


main()
