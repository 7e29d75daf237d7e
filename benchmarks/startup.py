"""What does starting cost, in processor time? Wanted: `import bestk` under 0.3 s, `bestk --help`
under 0.5 s, and a second process simulating within 2 s. Ratios are to a bare interpreter."""

import resource
import statistics
import subprocess
import sys
from pathlib import Path

BESTK = str(Path(sys.executable).with_name("bestk"))
ONE = ["simulate", "--instance", "1-sparse", "--arms", "10", "--k", "2", "--runs", "1", "--json"]


def cpu(*command):
    """Median processor time of five runs."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main():
    subprocess.run([BESTK, *ONE], check=True, capture_output=True)  # compile, if need be
    bare = cpu(sys.executable, "-c", "pass")
    for label, wanted, command in (
        ("import bestk", 0.3, (sys.executable, "-c", "import bestk")),
        ("bestk --help", 0.5, (BESTK, "--help")),
        ("a second process, one run simulated", 2.0, (BESTK, *ONE)),
    ):
        time = cpu(*command)
        print(f"{label}: {time:.2f} s = {time / bare:.1f} bare starts (wanted: under {wanted} s)")


main()
