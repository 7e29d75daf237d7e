"""What do two jobs gain over one? Wanted: at least 1.7 times."""

import statistics

import bestk

INSTANCE = bestk.make_instance("1-sparse", arms=1000, k=2)


def speed(jobs):
    result = bestk.simulate(INSTANCE, "lil-rand-lucb", "heuristic", runs=300, jobs=jobs)
    return result.samples.sum() / result.seconds


def main():
    speed(2)
    ratios = []
    for _ in range(5):
        one = speed(1)
        ratios.append(speed(2) / one)
    print(f"two jobs = {statistics.median(ratios):.2f} times one (wanted: 1.7)")


main()
