"""What does `bestk race` add to the time of a command? Wanted: at most 0.3 ms more than what
`hyperfine -N` says of `true`, both measured in turns here. Skipped where hyperfine is absent.

On a machine that others use, look at the lowest tenth: whoever computes between two runs, as a race
does, waits for a processor more often than who sleeps."""

import json
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from bestk.commands.race import Race

ROUNDS, RUNS = 12, 100
COMMANDS = ("true", "true again")


def by_hyperfine(folder):
    found = Path(folder, "times.json")
    command = ["hyperfine", "-N", "true", "--warmup", "3", "--runs", str(RUNS), "--style", "none"]
    subprocess.run([*command, "--export-json", str(found)], check=True, capture_output=True)
    return json.loads(found.read_text())["results"][0]["times"]


def by_race(**settings):
    race = Race(COMMANDS, seed=1, warmup=3, **settings)
    race.warm_up()
    race.run(budget=RUNS)
    return [run.seconds for run in race.runs()]


def main():
    if shutil.which("hyperfine") is None:
        print("skipped: hyperfine is not installed")
        return
    ways = {"hyperfine -N": [], "race": [], "race --max-time": []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            ways["hyperfine -N"] += by_hyperfine(folder)
            ways["race"] += by_race()
            ways["race --max-time"] += by_race(max_time=1.0)
    print("way: median, lowest tenth, least, in ms; in brackets, more than hyperfine")
    first = None
    for name, times in ways.items():
        tenth = statistics.quantiles(times, n=10)[0]
        found = [1e3 * x for x in (statistics.median(times), tenth, min(times))]
        first = first or found
        cells = (f"{x:.3f} ({x - y:+.3f})" for x, y in zip(found, first, strict=True))
        print(f"{name}: {', '.join(cells)}")


main()
