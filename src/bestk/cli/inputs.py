"""Options that commands share; an instance and its rewards, from those of `simulate` and `plan`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestk.errors import InputError
from bestk.output import check_output

if TYPE_CHECKING:
    from bestk.rewards import Rewards
    from bestk.simulation import Instance
    from bestk.storage.addresses import Address


def address(text: str) -> Address:
    """A file's name, or an address whose password is not shown."""
    from bestk.storage.addresses import read_address

    try:
        return read_address(text)
    except InputError as error:
        raise typer.BadParameter(str(error)) from None  # not the text, which has a password


File = Annotated[
    str,
    typer.Argument(
        parser=address, help="The study's file, or its postgresql:// address.",
        show_default=False,
    ),
]  # fmt: skip
StudyName = Annotated[
    str | None,
    typer.Option("--study", help="Which study.", show_default="the only one in the file"),
]
PLOTS = (".png", ".svg")
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
JsonList = Annotated[bool, typer.Option("--json", help="Print one JSON list.")]

K = Annotated[str | None, typer.Option(help="How many arms to find: an integer, or N/2.")]
Name = Annotated[
    str | None,
    typer.Option(
        help="1-sparse, exponential, lil-exponential, means or replay, or one of your own"
        " (bestk --load FILE.py)."
    ),
]
Arms = Annotated[int | None, typer.Option(help="Number of arms N.")]
Alpha = Annotated[float | None, typer.Option(help="Exponent of exponential and lil-exponential.")]
Data = Annotated[
    Path | None, typer.Option(help="With --instance replay: an .npz file of observed rewards.")
]
Array = Annotated[
    str | None,
    typer.Option(help="Array of the file. Integers: counts per level in [0, 1]; floats: rewards."),
]
Draw = Annotated[
    str | None,
    typer.Option(
        help="table: from an arm's row, with replacement; gaussian: normal with the row's mean"
        " and the pooled standard deviation.",
        show_default="table",
    ),
]
WithoutReplacement = Annotated[
    bool,
    typer.Option(
        "--without-replacement",
        help="With --instance replay: columns are items, and every arm scores each item once"
        " (docs/evaluation.md).",
    ),
]
Minimize = Annotated[bool, typer.Option("--minimize", help="Rewards are costs: find the smallest.")]
Delta = Annotated[float, typer.Option(help="Error probability allowed (nu in the paper).")]
Slack = Annotated[
    float, typer.Option(help="Slack: arms this close to the K-th best may be answered.")
]
Family = Annotated[
    str | None,
    typer.Option(
        help="What is assumed about rewards: gaussian, subgaussian or bernoulli; for replayed data"
        " and instances of your own also ratings or bounded. quantile assumes nothing and compares"
        " arms by --quantile instead of means.",
        show_default="gaussian; bounded without replacement",
    ),
]
Sigma = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of gaussian rewards, or its bound for subgaussian ones.",
        show_default="0.5; the pooled one with --draw gaussian",
    ),
]
Low = Annotated[float | None, typer.Option(help="Smallest bounded reward.", show_default="0")]
High = Annotated[float | None, typer.Option(help="Largest bounded reward.", show_default="1")]
Quantile = Annotated[
    float | None,
    typer.Option(
        help="Compare arms by this quantile of their rewards; the median is 0.5. Implies --rewards"
        " quantile, and the numbers of the instance are then the arms' quantiles.",
        show_default="0.5 with --rewards quantile",
    ),
]
Relative = Annotated[
    bool,
    typer.Option("--relative", help="The slack is a factor 1 + epsilon of a (positive) quantile."),
]
LawName = Annotated[
    str | None,
    typer.Option(
        "--law",
        help="Distribution of rewards around a quantile: normal or log-normal.",
        show_default="normal",
    ),
]
Spread = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of --law; for log-normal, of the logarithm.",
        show_default="0.5",
    ),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same numbers.")]
MaxSamples = Annotated[
    int | None,
    typer.Option(help="Cut a run off here; it then counts as unfinished.", show_default="10^9"),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A policy's own parameter; may be repeated. Each of several policies takes those that"
        " it has.",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        help="Samples after which every run ends and gives its answer; fixed-budget policies need"
        " it."
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        help="Threads (for policies in Python: processes); results do not depend on it.",
        show_default="all cores",
    ),
]


def top_k_instance(
    instance: str | None,
    k: str | None,
    arms: int | None,
    alpha: float | None,
    means: str | None,
    minimize: bool,
    replay: tuple[Path | None, str | None, str | None],
    without_replacement: bool = False,
) -> Instance:
    """A Best-K instance: of the paper, of the user's own means, or of replayed data."""
    from bestk import simulation
    from bestk.simulation.families import find_maker

    if k is None and (instance is None or find_maker(instance) is None):
        raise InputError("--k is missing: how many arms should be found?")
    if instance == "replay":
        if any(value is not None for value in (arms, alpha, means)):
            raise InputError("--instance replay takes its arms from --data")
        assert k is not None
        data, array, draw = replay
        if data is None or array is None:
            raise InputError("--instance replay needs --data FILE.npz and --array NAME")
        return simulation.read_replay(
            data, array, k=k, draw=draw or "table", without_replacement=without_replacement,
            maximize=not minimize,
        )  # fmt: skip
    refuse_data(replay, without_replacement)
    if instance is None and means is None:
        raise InputError(f"give --instance ({', '.join(simulation.known_instances())}) or --means")
    own = None if means is None else simulation.read_means(means)
    return simulation.make_instance(
        instance or "means", arms=arms, k=k, alpha=alpha, means=own, maximize=not minimize
    )


def refuse_data(
    replay: tuple[Path | None, str | None, str | None], without_replacement: bool
) -> None:
    """Refuse the options of replayed data where nothing is replayed."""
    if without_replacement:
        raise InputError("--without-replacement goes with --instance replay")
    if any(value is not None for value in replay):
        raise InputError("--data, --array and --draw go with --instance replay")


def assumed_rewards(
    made: Instance,
    rewards: str | None,
    sigma: float | None,
    low: float | None,
    high: float | None,
    q: float | None = None,
    relative: bool = False,
) -> Rewards:
    """The assumption of that name; replayed data fill in the levels and the pooled sigma."""
    from bestk.rewards import Ratings, make_rewards

    pool, levels = made.pool, None
    if rewards is None and (q is not None or relative):
        rewards = "quantile"
    own = made.assumed
    if rewards is None and own is not None:
        if any(value is not None for value in (sigma, low, high)):
            raise InputError(f"name the assumption too: the instance assumes {own.name} rewards")
        return own
    if rewards is None:
        rewards = "gaussian" if made.items is None else "bounded"
    if rewards == "ratings":
        if isinstance(own, Ratings):
            return own
        if pool is None:
            raise InputError(
                "--rewards ratings was refused: the levels come from replayed data; give --instance"
                " replay with --data and --array"
            )
        levels = pool.levels
    if pool is not None and pool.draw == "gaussian" and sigma is None:
        sigma = pool.sigma
    return make_rewards(
        rewards, sigma, low=low, high=high, levels=levels, q=q, relative=relative or None
    )


def read_params(entries: list[str] | None) -> dict[str, str]:
    """What `--param NAME=VALUE` says; the policies read the values."""
    for entry in entries or ():
        if "=" not in entry:
            raise InputError(f"--param '{entry}' was refused: write it as NAME=VALUE")
    pairs = (entry.split("=", 1) for entry in entries or ())
    return {name.strip(): value.strip() for name, value in pairs}


def check_plot(plot: Path) -> None:
    """Refuse a figure that cannot be written before the work, not after."""
    from bestk.report.figures.drawing import load_matplotlib

    if plot.suffix.lower() not in PLOTS:
        endings = " or ".join(PLOTS)
        raise InputError(f"--plot {plot} was refused: its name must end in {endings}")
    check_output(plot)
    load_matplotlib()
