"""Which 2 of 20 staffing plans of a service desk serve customers fastest?

The desk is open from 8 to 20 in four shifts. Two people work in each of them, and there is money
for three more: 20 ways to spread them. A pull simulates one day of one plan, event by event:
customers arrive at random, more of them around noon and after work, queue for the next free person,
and hang up when their patience is over. The reward is the day's mean wait in minutes, to be
minimised. A wait counts for 15 minutes at most, and so does a customer who hung up: this makes the
reward bounded, which is all that is assumed of it.

The simulation is plain Python and keeps a processor busy, so days run in processes of their own:
`identify` keeps four threads, each of which waits for a process. Every day is numbered, and its
randomness is a function of plan and number. No two plans share a day: common customers would make
the plans depend on each other, and the proof of the default policy wants them independent
(`params={"independent": False}` takes dependent ones, at the price of more days).
"""

import heapq
import random
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations_with_replacement, count
from multiprocessing import get_context

import bestk

HOURS = 3  # of a shift
ARRIVALS = (12, 32, 14, 26)  # customers an hour, in each shift
SERVICE, PATIENCE, CAP = 6.0, 12.0, 15.0  # minutes: means of the first two, the longest wait
BASE, EXTRA = 2, 3  # people in every shift, people to spread
ARRIVAL, DEPARTURE, SHIFT = range(3)
SEED = 1

PLANS = [
    tuple(BASE + shifts.count(shift) for shift in range(4))
    for shifts in combinations_with_replacement(range(4), EXTRA)
]


def mean_wait(plan, day):
    """One simulated day: the mean wait in minutes, from 0 to CAP."""
    rng = random.Random(f"{SEED} {plan} {day}")
    length = 60.0 * HOURS
    events = [(shift * length, SHIFT, shift) for shift in range(4)]
    for shift, rate in enumerate(ARRIVALS):
        now = shift * length
        while (now := now + rng.expovariate(rate / 60.0)) < (shift + 1) * length:
            events.append((now, ARRIVAL, 0))
    heapq.heapify(events)
    queue, waits = deque(), []
    staff = busy = 0
    while events:
        now, kind, shift = heapq.heappop(events)
        if kind == SHIFT:
            staff = plan[shift]  # who is in a conversation ends it, then goes
        elif kind == ARRIVAL:
            queue.append((now, now + rng.expovariate(1.0 / PATIENCE)))
        else:
            busy -= 1
        while queue and busy < staff:
            came, hangs_up = queue.popleft()
            if hangs_up < now:
                waits.append(CAP)
                continue
            waits.append(min(now - came, CAP))
            busy += 1
            heapq.heappush(events, (now + rng.expovariate(1.0 / SERVICE), DEPARTURE, 0))
    return sum(waits) / len(waits)


def main():
    days = {plan: count() for plan in PLANS}
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        result = bestk.identify(
            PLANS,
            lambda plan: processes.submit(mean_wait, plan, next(days[plan])).result(),
            k=2,
            delta=0.05,
            epsilon=0.1,  # minutes
            rewards=bestk.Bounded(0, CAP),
            maximize=False,
            parallel=4,
            seed=SEED,
        )
    print(result)
    print()
    for plan in result.top:
        print("people in the shifts from 8, 11, 14 and 17:", *plan)
    print(
        f"with probability at least {1 - result.error_bound:.0%} the mean wait of each is at most"
        f" {result.certifiable_epsilon:g} minutes longer than that of the second fastest plan"
    )


if __name__ == "__main__":
    main()
