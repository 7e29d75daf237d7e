"""How does the time per decision grow with N, and how much memory does a million arms take?

Heuristic lil-rand-lucb on 1-sparse, K=2. Wanted: at N=10^6 at most 10 times the time at N=100, and
under 500 MB. Each size runs in a process of its own, after the initial sample of each arm.
"""

import subprocess
import sys

CHILD = """
import resource, sys, bestk
n = int(sys.argv[1])
runs = max(1, min(400, 10**5 // n))
def measure(cap):
    return bestk.simulate(
        "1-sparse", "lil-rand-lucb", "heuristic", arms=n, k=2, runs=runs, jobs=1, max_samples=cap)
first = measure(n)
whole = measure(n + max(30 * n // runs, 3 * 10**6 // runs))
time = (whole.seconds - first.seconds) / (whole.samples.sum() - first.samples.sum())
print(time, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main():
    sizes = (100, 1000, 10**4, 10**5, 10**6)
    subprocess.run([sys.executable, "-c", CHILD, "100"], check=True, capture_output=True)  # compile
    reference = None
    for n in sizes:
        done = subprocess.run(
            [sys.executable, "-c", CHILD, str(n)], check=True, capture_output=True, text=True
        )
        seconds, megabytes = map(float, done.stdout.split())
        reference = reference or seconds
        print(
            f"N={n:>9,}: {seconds * 1e9:6.0f} ns a decision = {seconds / reference:4.1f} times"
            f" N=100; {megabytes:.0f} MB"
        )
    print("wanted at N=1,000,000: at most 10 times, under 500 MB")


main()
