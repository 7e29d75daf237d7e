"""What does starting cost, with an empty cache of compiled kernels and with a full one?

Wanted on a quiet machine: `import bestk` under 0.3 s, `bestk --help` under 0.5 s, the first pull of
`identify` and the first command of a race within 1 s, `status` of the demo's study within 1 s and
`report` within 2 s; a simulation within 20 s cold and 1 s warm. Times are wall clock, and beside
each stands its ratio to a bare start of Python in the same run. Bytecode is kept, as it is where
packages are installed.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BESTK = str(Path(sys.executable).with_name("bestk"))
DEMO = Path("build/demo/captions.db")
FIRST = """
import time; started = time.perf_counter()
import bestk
bestk.identify(["a", "b"], lambda arm: print(time.perf_counter() - started) or 1, k=1, budget=1)
"""
SIMULATE = ("simulate", "--instance", "1-sparse", "--arms", "100", "--k", "2", "--json")


def surroundings(cache):
    """The environment with that folder of compiled kernels."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "BESTK_CACHE_DIR": cache}


def seconds(*command, cache):
    """One run with that folder of compiled kernels."""
    environment = surroundings(cache)
    started = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, env=environment)
    assert done.returncode in (0, 3), done.stderr  # 3: a race without a certificate
    return time.perf_counter() - started


def first_pull(cache):
    """Seconds from the import to the first pull."""
    environment = surroundings(cache)
    command = [sys.executable, "-c", FIRST]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return float(done.stdout.split()[0])


def first_command(cache):
    """Seconds until a race starts its first command, which writes down when."""
    with tempfile.TemporaryDirectory() as folder:
        clock = Path(folder) / "clock.sh"
        clock.write_text(f"[ -e {folder}/first ] || date +%s.%N > {folder}/first")
        started = time.time()
        seconds(BESTK, "race", f"sh {clock}", "sleep 0.3", "--budget", "2", cache=cache)
        return float((Path(folder) / "first").read_text()) - started


def main():
    bare = min(seconds(sys.executable, "-c", "pass", cache="") for _ in range(5))
    print(f"a bare start of Python: {bare:.3f} s")

    def tell(what, found, wanted):
        print(f"{what}: {found:.2f} s = {found / bare:.0f} bare starts (wanted: under {wanted} s)")

    with tempfile.TemporaryDirectory() as cold:
        for label, wanted, command in (
            ("import bestk", 0.3, (sys.executable, "-c", "import bestk")),
            ("bestk --help", 0.5, (BESTK, "--help")),
        ):
            tell(label, min(seconds(*command, cache=cold) for _ in range(3)), wanted)
        tell("first pull, cold", min(first_pull(cold) for _ in range(3)), 1)
        tell("first command of a race, cold", first_command(cold), 1)
        if DEMO.exists():
            for command, wanted in (("status", 1), ("report", 2)):
                more = ("--output", f"{cold}/page.html") if command == "report" else ()
                found = min(seconds(BESTK, command, DEMO, *more, cache=cold) for _ in range(3))
                tell(f"bestk {command} of the demo, cold", found, wanted)
        tell("bestk simulate, cold", seconds(BESTK, *SIMULATE, cache=cold), 20)
        tell(
            "bestk simulate, warm", min(seconds(BESTK, *SIMULATE, cache=cold) for _ in range(3)), 1
        )


main()
