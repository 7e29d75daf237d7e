"""The five funniest of 138 cartoon captions: a live study on an SQLite file. `make demo` runs it.

Readers of The New Yorker rated the captions of a contest: unfunny, somewhat funny or funny. Here a
hundred raters at a time are asked for one rating each, of the captions that the study wants to know
more about; an answer is drawn from the ratings that the caption really got (data/README.md says
where they come from). A rating is worth 0, 1/2 or 1. The study stops as soon as it is certain, with
error at most 5%, that no caption of its answer is worse by more than 0.05 than the fifth best, and
the page that `bestk report` makes shows why.

The same seed gives the same ratings: the answer to a pull is a function of its number. `--resume`
goes on with the file that an interrupted run left behind; otherwise the demo starts afresh.
"""

import argparse
import csv
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from rich.console import Console, Group
from rich.live import Live

import bestk
from bestk.report import words
from bestk.report.page.study import write
from bestk.report.terminal.standings import Standings

DATA = Path(__file__).parent / "data" / "captions_c559.csv"
COLUMNS, WORTH = ("unfunny", "somewhat_funny", "funny"), (0.0, 0.5, 1.0)
RATERS = 100  # asked at once
EPSILON = 0.05


def read_captions():
    """Every caption with its shares of ratings, cumulated."""
    with DATA.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shares = {}
    for row in rows:
        counts = np.cumsum([int(row[column]) for column in COLUMNS])
        shares[row["caption"]] = counts / counts[-1]
    return shares


def rate(shares, pull, seed):
    """What one reader says of a caption."""
    ticket = np.random.default_rng([seed, pull.index]).random()
    return WORTH[int(np.searchsorted(shares[pull.arm], ticket, side="right"))]


def run(study, shares, seed):
    """Ask and tell until the study stops; a terminal shows how it goes."""
    console = Console(stderr=True)
    with Live(console=console, transient=True) if console.is_terminal else nullcontext() as live:
        while pulls := study.ask(RATERS):
            study.tell_many([(pull, rate(shares, pull, seed)) for pull in pulls])
            if live is not None:
                result = study.result
                leaders = Standings(result, rows=10, numbers=False)
                slack = result.certifiable_epsilon
                sure = "" if slack is None else f"; certain up to {slack:.3f}, wanted {EPSILON}"
                live.update(Group(leaders, f"{result.samples:,} ratings{sure}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("build/demo"))
    parser.add_argument("--resume", action="store_true", help="go on with the file that is there")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()

    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "captions.db"
    if not given.resume:
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
    shares = read_captions()
    study = bestk.Study(
        "captions",
        shares,
        k=5,
        delta=0.05,
        epsilon=EPSILON,
        rewards=bestk.Ratings(WORTH),
        storage=file,
        seed=given.seed,
    )
    try:
        run(study, shares, given.seed)
    except KeyboardInterrupt:
        sys.exit(f"interrupted; {study.samples:,} ratings are kept, --resume goes on with them")

    result = study.result
    print(f"The five funniest of {len(shares)} captions:")
    arms = {arm.label: arm for arm in result.arms}
    for rank, caption in enumerate(result.top, 1):
        arm = arms[caption]
        print(f"{rank}. {caption}")
        print(f"   {arm.mean:.3f}, between {arm.low:.3f} and {arm.high:.3f}; {arm.pulls:,} ratings")
    print(*words.certificate(study.specification, result))
    print(f"{result.samples:,} ratings, all in {file}; the report is in", end=" ")
    print(write(file, given.folder / "captions.html"))


if __name__ == "__main__":
    main()
