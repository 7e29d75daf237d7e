"""`bestk init`: a study.toml to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from bestk.cli.console import say
from bestk.output import write_new

EXAMPLE = """\
# A study for `bestk run`: which of these commands print the largest numbers on average?
# It runs as it stands. Every key is described in docs/study-file.md of bestk.

[study]
name = "coins"
k = 1                       # how many of the arms are wanted
delta = 0.05                # the answer is wrong with at most this probability
epsilon = 0.0               # arms this close to the k-th best are good enough
rewards = "bernoulli"       # 0 or 1; or bounded (low, high), ratings (levels), gaussian (sigma)
direction = "maximize"      # or "minimize", where the numbers are costs

[pull]
# Run once for every pull. {name} and an arm's parameters are filled in, each into one argument;
# no shell is involved. The reward is the last number printed.
command = [
    "python3", "-c", "import random, sys; print(int(random.random() < float(sys.argv[1])))",
    "{chance}",
]
# json_field = "score"      # the reward is this field of the JSON object printed
# shell = true              # hand the command, one text, to sh: for pipes and redirections
timeout = 60                # seconds; a longer command is killed, and the pull has failed
retries = 2                 # an arm that fails more often in a row ends the run
parallel = 2                # commands at a time

[budget]
pulls = 5000                # give up after so many; over all runs of the study
# seconds = 600             # and after so much time; of one run

# [storage]
# file = "study.db"         # every answer is kept there: run it again to resume after a crash
# durability = "full"       # survive a power cut too

[[arms]]
name = "often"
chance = 0.9

[[arms]]
name = "sometimes"
chance = 0.3

[[arms]]
name = "rarely"
chance = 0.1
"""


def init(
    file: Annotated[Path, typer.Argument(help="Output file; must not exist yet.")] = Path(
        "study.toml"
    ),
) -> None:
    """Write a commented study.toml that runs as it stands; an existing file is left alone.

    Example: bestk init && bestk run study.toml
    """
    write_new(file, EXAMPLE)
    say(f"wrote {file}; run it with: bestk run {shlex.quote(str(file))}")
