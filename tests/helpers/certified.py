"""Studies that have stopped, of every kind, and what tests do to their files."""

import hashlib
import json
import shutil
import sqlite3

import numpy as np

import bestk
from bestk.storage import events as ev
from bestk.storage.events import Event
from bestk.study import Study
from bestk.study.certificate import _certificate
from bestk.study.specification import Specification
from bestk.verification import verify

MEANS = [0.1, 0.85, 0.4, 0.2, 0.9, 0.15]
REWARDS = {
    "gaussian": bestk.Gaussian(0.5),
    "subgaussian": bestk.SubGaussian(0.5),
    "bernoulli": bestk.Bernoulli(),
    "ratings": bestk.Ratings((1, 2, 5)),
    "bounded": bestk.Bounded(-1, 1),
}
EDGES = [("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("b", "c")]
CLASSES = {
    "explicit": bestk.ExplicitSets([[0, 1], [2, 3, 4], [1, 4], []], 6),
    "partition": bestk.PartitionMatroid(list("xxyyyx"), {"x": 1, "y": 2}),
    "tree": bestk.SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 1)]),
    "matching": bestk.BipartiteMatching([(i, j) for i in range(3) for j in range(2)]),
    "perfect": bestk.BipartiteMatching([(i, j) for i in range(2) for j in range(2)], True),
    "path": bestk.Path(EDGES, "a", "d"),
    "roads": bestk.Path(EDGES, "a", "d", directed=False),
    "program": bestk.BinaryProgram([[1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]], [0, 1], [1, 2]),
}
BY_EVIDENCE = {"bound": "evidence"}

# policy, family, class (None: the 2 best of 6), parameters, whether to maximise
CASES = [
    *[("e-lucb", family, None, {}, up) for family in REWARDS for up in (True, False)],
    *[("e-lucb", family, None, {"independent": False}, True) for family in REWARDS],
    *[("e-clucb", family, None, {}, False) for family in ("gaussian", "bounded")],
    *[("lil-clucb", family, None, BY_EVIDENCE, True) for family in REWARDS],
    ("e-lucb", "gaussian", None, {"weights": "0.2,0.2,0.6"}, True),
    ("lil-rand-lucb", "gaussian", None, {}, True),
    ("lil-rand-lucb", "ratings", None, {"levels": "uniform", "eps": 0.02}, False),
    ("lil-rand-lucb", "bounded", None, BY_EVIDENCE, True),
    ("lucb++", "bernoulli", None, {}, True),
    ("lucb++", "ratings", None, BY_EVIDENCE, False),
    ("lil-lucb", "bounded", None, {}, True),
    ("lil-lucb", "bernoulli", None, BY_EVIDENCE, True),
    ("uniform", "subgaussian", None, {}, True),
    ("uniform", "gaussian", None, BY_EVIDENCE, True),
    ("lil-clucb", "gaussian", None, {}, True),
    ("lucb", "gaussian", None, {}, True),
    ("lucb", "bounded", None, {}, False),
    ("clucb", "bernoulli", None, {}, True),
    ("ugape", "ratings", None, {}, True),
    ("ugape", "gaussian", None, {}, False),
    *[("e-clucb", "bounded", name, {}, name != "roads") for name in CLASSES],
    ("e-clucb", "gaussian", "tree", {}, False),
    ("e-clucb", "bernoulli", "partition", {"independent": False}, True),
    ("lil-clucb", "gaussian", "matching", {}, True),
    ("lil-clucb", "bernoulli", "tree", BY_EVIDENCE, True),
    ("lil-clucb", "gaussian", "roads", {}, False),
    ("clucb", "bounded", "partition", {}, True),
    ("clucb", "gaussian", "program", {}, True),
]

ONE_OF_EACH_KIND = [
    ("e-lucb", "gaussian", None, {}, True),
    ("e-lucb", "bounded", None, {}, False),
    ("lucb", "gaussian", None, {}, True),
    ("ugape", "ratings", None, {}, True),
    ("e-clucb", "bounded", "tree", {}, True),
    ("clucb", "gaussian", "program", {}, True),
]


def name_of(case):
    policy, family, kind, params, maximize = case
    settings = [f"{key}={value}" for key, value in params.items()]
    return "-".join([policy, family, kind or "top", *settings, "max" if maximize else "min"])


def draw(dice, family, mean):
    """A reward of that family; the larger the mean the larger on average."""
    if family in ("gaussian", "subgaussian"):
        return float(dice.normal(mean, 0.5))
    if family == "bernoulli":
        return float(dice.random() < mean)
    if family == "ratings":
        return float(dice.choice([1, 2, 5], p=[1 - mean, mean / 4, 3 * mean / 4]))
    return float(2 * dice.beta(4 * mean, 4 - 4 * mean) - 1)


def drive(study, family, dice, until=None, offset=0.0):
    """Three pulls at a time, answered in any order, some late, some lost, until the rule stops."""
    means = dict(zip(study.arms, np.resize(MEANS, len(study.arms)), strict=True))
    late = []
    while out := [*late, *study.ask(3)]:
        dice.shuffle(out)
        late = [out.pop()] if len(out) > 2 and dice.random() < 0.3 else []
        for pull in out:
            fate = dice.random()
            if fate < 0.03:
                study.fail(pull, "no luck")
            elif fate < 0.05:
                study.forget(pull)
            else:
                study.tell(pull, offset + draw(dice, family, means[pull.arm]))
        if until is not None and study.samples >= until:
            break


def begin(path, case, **more):
    policy, family, kind, params, maximize = case
    what = {"arms": [f"arm {i}" for i in range(6)], "k": 2, "epsilon": 0.3}
    if kind is not None:
        slack = 2.0 if kind in ("program", "matching") else 1.0  # of the total; oracles in Python
        what = {"decision": CLASSES[kind], "epsilon": slack}
    settings = {**what, "rewards": REWARDS[family], "delta": 0.1, "seed": 4, **more}
    return Study("s", storage=path, policy=policy, params=params, maximize=maximize, **settings)


def forge(path):
    """The certificate that the first stop in a log would bear out, if it did."""
    connection = sqlite3.connect(path)  # whatever the checksums say
    rows = connection.execute("SELECT kind, key, arm, reward, data, at FROM log_1 ORDER BY seq")
    events = list(map(Event._make, rows))
    connection.close()
    stop = next(n for n, event in enumerate(events, 1) if event.kind == ev.STOPPED)
    return _certificate("s", Specification.from_json(events[0].data), iter(events), stop)


def failed(certificate, path):
    """The names of the checks that do not hold."""
    return {check.name for check in verify(certificate, path).failed}


def copied(path, folder):
    """The file, to do something to."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return shutil.copy(path, folder / "copy.db")


def edit(path, statement, *values):
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


def sha_of(path, many):
    digest = hashlib.sha256()
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT kind, key, arm, reward, data, at FROM log_1 ORDER BY seq LIMIT ?", (many,)
    )
    for row in rows:
        digest.update(json.dumps(row, separators=(",", ":")).encode() + b"\n")
    connection.close()
    return digest.hexdigest()
