"""Compile all kernels before the tests run on several cores, which would each compile them.

Two processes compile two halves: the simulator's loop, and the steps that a live study calls.
"""

import subprocess
import sys

SIMULATE = """
import bestk
bestk.simulate("1-sparse", arms=4, k=1, runs=1)
"""
STUDY = """
import bestk
for policy in ("e-lucb", "lil-rand-lucb"):
    study = bestk.Study("s", "abcd", k=1, policy=policy, rewards=bestk.Bernoulli())
    study.tell_many([(pull, 1) for pull in study.ask(4)])
    study.tell(*study.ask(), 1)
    study.result
"""

started = [subprocess.Popen([sys.executable, "-c", code]) for code in (SIMULATE, STUDY)]
sys.exit(max(process.wait() for process in started))
