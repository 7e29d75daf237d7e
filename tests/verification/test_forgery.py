"""Random edits of certificates and logs: none is accepted beyond the documented tolerances.

A part of them runs with the other tests; BESTK_FORGERIES=5000 runs more.
"""

import json
import math
import os
import random

import numpy as np
import pytest

import bestk
from bestk.errors import InputError
from bestk.study.certificate import make_certificate
from bestk.verification import read_certificate, verify
from helpers.certified import begin, copied, drive
from helpers.forging import Excuses, forged, forged_log

FORGERIES = int(os.environ.get("BESTK_FORGERIES", "360"))
KINDS = {
    "hybrid": (("e-lucb", "bounded", None, {}, True), {}),
    "normal": (("e-lucb", "gaussian", None, {"independent": False}, False), {}),
    "open": (("e-lucb", "bounded", None, {}, True), {"max_arms": 9}),
    "coins": (("lil-rand-lucb", "bernoulli", None, {"levels": "uniform"}, True), {}),
    "rounds": (("lucb", "gaussian", None, {}, True), {"epsilon": 0.6}),
    "regret": (("ugape", "ratings", None, {}, False), {"epsilon": 1.5}),
    "matroid": (("e-clucb", "ratings", "partition", {}, True), {}),
    "far": (("e-lucb", "bounded", None, {}, False), {"rewards": bestk.Bounded(1e8 - 1, 1e8 + 1)}),
    "sets": (("e-clucb", "bounded", "explicit", {}, True), {"epsilon": 2.0}),
}


@pytest.fixture(scope="module", params=KINDS)
def stopped(request, tmp_path_factory):
    """A study that has stopped: its kind, file, certificate and the scale of its rewards."""
    case, settings = KINDS[request.param]
    folder = tmp_path_factory.mktemp("study")
    dice = np.random.default_rng(7)
    study = begin(folder / "study.db", case, **settings)
    if request.param == "open":
        drive(study, case[1], dice, 20)
        study.add_arm("late")
        study.withdraw_arm("arm 5")
    drive(study, case[1], dice, offset=1e8 if request.param == "far" else 0.0)
    sigma = study.problem.rewards.sigma
    scale = sigma if case[1] == "gaussian" else 2 * sigma
    path = copied(folder / "study.db", folder)
    return request.param, path, make_certificate(path), scale


def accepted(text, path, folder):
    """The certificate that was read, if it is accepted."""
    file = folder / "cert.json"
    file.write_bytes(text)
    try:
        read = read_certificate(file)
        return read if verify(read, path).verified else None
    except InputError:
        return None


def test_no_random_edit_is_accepted(stopped, tmp_path):
    kind, path, certificate, scale = stopped
    dice, excuses = random.Random(kind), Excuses(certificate, scale)
    original = json.dumps(certificate).encode()
    assert accepted(original, path, tmp_path) == certificate
    refused = within = 0
    while refused + within < math.ceil(FORGERIES / len(KINDS)):
        if dice.random() < 0.15:
            other, text, how = forged_log(dice, path, certificate, tmp_path)
            assert accepted(text, other, tmp_path) is None, how
            refused += 1
            continue
        text, how = forged(dice, certificate)
        if text == original:
            continue  # moved to where it was
        read = accepted(text, path, tmp_path)
        if read is None:
            refused += 1
        else:
            assert excuses.allow(read), (how, difference(certificate, read))
            within += 1
    print(f"{kind}: {refused} refused, {within} within the tolerances")
    assert refused > 5 * within


def difference(own, given):
    """Where two certificates differ, for a message."""
    return {name: (own[name], given[name]) for name in own if own[name] != given[name]}
