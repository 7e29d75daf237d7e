"""Replay of real data: the stored distribution of an arm is the arm, and a pull draws from it."""

from __future__ import annotations

import math
import zipfile
import zlib
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestk.arguments import flag, string
from bestk.decisions import TopK
from bestk.decisions.topk import parse_k
from bestk.errors import InputError, UnknownName
from bestk.kernels.types import GAUSSIAN, TABLE, FloatArray, IntArray, World
from bestk.rewards import Rewards
from bestk.simulation.instances import Instance

LARGEST_COUNT = 2.0**53  # of an arm's rewards: doubles count that far
DRAWS = ("table", "gaussian")
ROUNDING = 1e-12  # of a share of the rewards, forgiven

Data = NDArray[Any]  # whole or real numbers


@dataclass(frozen=True, eq=False)
class Pool:
    """What was observed of every arm: values with cumulated counts, one arm after the other."""

    values: FloatArray
    cumulated: IntArray
    first: IntArray  # arm a has the entries first[a] to first[a+1]-1
    levels: tuple[float, ...] | None  # of ratings: all that can occur
    draw: str
    items: int | None = None  # that every arm scores, each once; None: with replacement

    @property
    def counts(self) -> FloatArray:
        """How often each value occurs."""
        counts = np.diff(self.cumulated, prepend=0).astype(np.float64)
        counts[self.first[:-1]] = self.cumulated[self.first[:-1]]
        return counts

    def per_arm(self, entries: FloatArray) -> FloatArray:
        """Sums over the entries of each arm."""
        return np.add.reduceat(entries, self.first[:-1])

    @property
    def means(self) -> FloatArray:
        """The mean of what was observed of each arm."""
        counts = self.counts
        return self.per_arm(self.values * counts) / self.per_arm(counts)

    @property
    def sigma(self) -> float:
        """The pooled standard deviation: squares around each arm's mean, over n - 1 of each arm."""
        counts = self.counts
        around = self.values - np.repeat(self.means, np.diff(self.first))
        free = float(counts.sum()) - (len(self.first) - 1)
        return math.sqrt(float((around**2 * counts).sum()) / free) if free > 0 else 0.0

    def quantiles(self, q: float) -> FloatArray:
        """Of every arm the least value that a share q of its rewards does not exceed."""
        found = np.empty(len(self.first) - 1)
        for arm, (begin, end) in enumerate(pairwise(self.first.tolist())):
            order = np.argsort(self.values[begin:end], kind="stable")
            many = np.cumsum(self.counts[begin:end][order])
            at = int(np.searchsorted(many, q * many[-1] * (1.0 - ROUNDING)))
            found[arm] = self.values[begin:end][order[at]]
        return found

    def is_normal(self, sigma: float) -> bool:
        """Whether rewards are drawn from normal distributions of that standard deviation."""
        return self.draw == "gaussian" and self.sigma == sigma

    def world(self, means: FloatArray) -> World:
        """How kernels draw from it."""
        source = TABLE if self.draw == "table" else GAUSSIAN
        sigma = self.sigma if self.draw == "gaussian" else 0.0
        return World(source, means, sigma, self.values, self.cumulated, self.first)

    def check(self, rewards: Rewards) -> None:
        """Refuse an assumption that what is drawn does not keep."""
        if self.draw == "gaussian":
            if rewards.law != GAUSSIAN:
                raise InputError(
                    f"{rewards.name} rewards were refused: normal rewards are drawn, which are"
                    " gaussian or subgaussian"
                )
            if rewards.sigma < self.sigma:
                raise InputError(
                    f"sigma {rewards.sigma:g} was refused: rewards are drawn with the pooled"
                    f" standard deviation {self.sigma:g}, and a bound needs at least that"
                )
            return
        seen = self.counts > 0
        used = np.unique(self.values[seen])
        for value in (used[0], used[-1], *used):  # the ends are the likeliest to break it
            rewards.validate(float(value))
        low = np.minimum.reduceat(np.where(seen, self.values, np.inf), self.first[:-1])
        high = np.maximum.reduceat(np.where(seen, self.values, -np.inf), self.first[:-1])
        widest = int(np.argmax(high - low))
        if (high - low)[widest] > 2.0 * rewards.sigma:
            raise InputError(
                f"sigma {rewards.sigma:g} was refused: the rewards of arm {widest} lie between"
                f" {low[widest]:g} and {high[widest]:g}, for which half that range is needed"
                " (Hoeffding's lemma)"
            )


def replay(
    data: Data,
    *,
    k: int | str,
    draw: str = "table",
    without_replacement: bool = False,
    maximize: bool = True,
    name: str = "replay",
) -> Instance:
    """An instance whose arms are what was observed of them.

    An integer (N, L) array holds counts over L evenly spaced levels in [0, 1]; a float (N, M) array
    is a table of observed rewards, NaN where there is none. A pull draws from the arm's row with
    replacement (`draw="table"`), or from a normal distribution with the row's mean and the standard
    deviation pooled over all rows (`draw="gaussian"`), for rows too short to be drawn from.

    With `without_replacement` the columns are items (docs/evaluation.md): every arm scores them in
    a random order of its own, each once, and scores may be whole numbers too.
    """
    if string(draw, "draw") not in DRAWS:
        raise UnknownName("draw", draw, DRAWS)
    array = np.asarray(data)
    if flag(without_replacement, "without_replacement"):
        array = _scores(array, draw)
    if array.ndim != 2 or array.dtype.kind not in "iuf":
        raise InputError(
            f"data of shape {array.shape} and type {array.dtype} were refused: a table with a row"
            " for each arm is needed: integers (counts per level) or floats (observed rewards)"
        )
    pool = _from_table(array, draw) if array.dtype.kind == "f" else _from_counts(array, draw)
    if without_replacement:
        pool = replace(pool, items=array.shape[1])
    if draw == "gaussian" and pool.sigma <= 0.0:
        raise InputError("draw gaussian was refused: no row has two different rewards")
    n_arms = len(array)
    return Instance(name, None, pool.means, TopK(n_arms, parse_k(k, n_arms)), maximize, pool)


def _scores(array: Data, draw: str) -> Data:
    """A table of scores of arms (rows) on items (columns), none missing."""
    if draw != "table":
        raise InputError(
            f"draw {draw} was refused: without replacement scores are those of a table"
        )
    if array.ndim != 2 or array.dtype.kind not in "biuf" or array.size == 0:
        raise InputError(
            f"data of shape {array.shape} and type {array.dtype} were refused: a table of scores is"
            " needed, with a row for each arm and a column for each item"
        )
    table = array.astype(np.float64)
    for arm, item in np.argwhere(np.isnan(table))[:1]:
        raise InputError(
            f"the score of arm {arm} on item {item} is missing: without replacement all are needed"
        )
    return table


def _from_counts(array: Data, draw: str) -> Pool:
    n_arms, n_levels = array.shape
    if n_levels < 2:
        raise InputError("counts were refused: ratings need at least two levels")
    bad = np.flatnonzero((array < 0).any(axis=1) | (array.sum(axis=1) <= 0))
    if bad.size:
        raise InputError(
            f"counts of arm {bad[0]} were refused: {array[bad[0]].tolist()}; none may be negative"
            " and some must be positive"
        )
    if array.astype(np.float64).sum(axis=1).max() > LARGEST_COUNT:
        raise InputError("counts were refused: an arm may have 2^53 rewards at most")
    levels = np.arange(n_levels) / (n_levels - 1)
    return Pool(
        np.tile(levels, n_arms),
        np.cumsum(array, axis=1, dtype=np.int64).ravel(),
        np.arange(n_arms + 1, dtype=np.int64) * n_levels,
        tuple(levels.tolist()),
        draw,
    )


def _from_table(array: Data, draw: str) -> Pool:
    known = ~np.isnan(array)
    sizes = known.sum(axis=1)
    values = array[known].astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError("rewards were refused: the table has infinite ones")
    if (sizes == 0).any():
        raise InputError(f"arm {np.argmin(sizes)} was refused: it has no reward in the table")
    first = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    cumulated = np.arange(1, values.size + 1) - np.repeat(first[:-1], sizes)
    return Pool(values, cumulated, first, None, draw)


def read_replay(
    path: Path,
    array: str,
    *,
    k: int | str,
    draw: str = "table",
    without_replacement: bool = False,
    maximize: bool = True,
) -> Instance:
    """Replay of one array of an .npz file."""
    data = read_array(path, array)
    return replay(data, k=k, draw=draw, without_replacement=without_replacement, maximize=maximize)


def read_array(path: Path, array: str | None = None) -> Data:
    """An array of an .npz file; the only one if none is named."""
    try:
        file = np.load(path, allow_pickle=False)
        if not isinstance(file, np.lib.npyio.NpzFile):
            raise InputError(f"{path} was refused: it is not an .npz file")
        with file:
            if array is None and len(file.files) != 1:
                names = ", ".join(file.files)
                raise InputError(f"which array of {path}? It has {names or 'none'}; name one")
            name = file.files[0] if array is None else array
            if name not in file:
                raise UnknownName(f"array of {path}", name, file.files)
            found: Data = file[name]
            return found
    except InputError:
        raise
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
