"""What all figures share: matplotlib without a screen, a colour for each policy, how to save."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestk.errors import InputError
from bestk.output import replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# One colour and marker per policy, everywhere (Okabe and Ito's palette, safe for colour blindness).
STYLES: dict[str, tuple[str, str]] = {
    "lil-rand-lucb": ("#d55e00", "o"),
    "lucb++": ("#0072b2", "s"),
    "lil-lucb": ("#009e73", "D"),
    "lil-clucb": ("#cc79a7", "^"),
    "lucb": ("#e69f00", "v"),
    "lil-ucb": ("#56b4e9", "P"),
    "clucb": ("#000000", "s"),
    "e-lucb": ("#000000", "*"),
    "e-clucb": ("#d55e00", "*"),
    "uniform": ("#888888", "h"),
    "ugape": ("#999933", "<"),
    "glr": ("#0072b2", "*"),
    "sar": ("#117733", "X"),
    "sequential-halving": ("#332288", "d"),
    "csar": ("#88ccee", "p"),
    "track-and-stop": ("#882255", "H"),
    "eb-tc": ("#aa4499", "8"),
    "ttts": ("#ddcc77", ">"),
    "kl-lucb": ("#0072b2", "d"),
    "kl-racing": ("#009e73", "p"),
    "successive-elimination": ("#e69f00", "H"),
}
OTHERS = ("#882255", "#117733", "#332288", "#88ccee", "#aa4499", "#ddcc77")  # Tol's, muted
MARKS = "Xd>pH8"
LIMIT = "#555555"
Z95 = 1.959964  # two-sided 95%


def style_of(policy: str | None) -> tuple[str, str]:
    """The colour and the marker of a policy; one that is not bestk's gets them by its name."""
    name = policy or ""
    number = sum(name.encode())
    return STYLES.get(name, (OTHERS[number % len(OTHERS)], MARKS[number // 7 % len(MARKS)]))


def draw_line(
    axes: Axes, policy: str, points: Iterable[tuple[float | None, float, float]], **look: Any
) -> None:
    """A policy in its colour through points of x, mean and standard error, with 95% intervals."""
    colour, marker = style_of(policy)
    xs, means, errors = zip(*points, strict=True) if (points := list(points)) else ((), (), ())
    look = {"color": colour, "marker": marker, "capsize": 2, **look}
    axes.errorbar(xs, means, yerr=[Z95 * error for error in errors], **look)


def label_decades(axes: Axes, digits: str) -> None:
    """Ticks at 1, 2 and 5 of every decade, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,{digits}}"))


def load_matplotlib() -> Any:
    """pyplot without a screen, or a message that says how to get it."""
    try:
        import matplotlib
    except ImportError:
        raise InputError(
            "figures need matplotlib, which is not installed: pip install 'bestk[plot]'"
        ) from None
    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "bestk",  # the same results give the same file
        }
    )
    from matplotlib import pyplot

    return pyplot


def save_figure(drawing: Figure, *paths: Path) -> None:
    """Write a figure in the formats that the files' names end in, PNG or SVG, and close it."""
    try:
        for path in paths:
            with replacing(path) as draft:
                if path.suffix.lower() == ".svg":
                    drawing.savefig(draft, format="svg", metadata={"Date": None})
                else:
                    drawing.savefig(draft, format="png", dpi=150)
    finally:
        load_matplotlib().close(drawing)


def save_as(drawing: Figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and SVG."""
    written = [stem.with_suffix(f".{kind}") for kind in ("png", "svg")]
    save_figure(drawing, *written)
    return written
