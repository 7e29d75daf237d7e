"""Blocks of one pull of each arm, where every arm shall have so many before the policy decides.

Which arm comes first in a block is drawn anew for each, so that no arm always follows the same one.
"""

from __future__ import annotations

import random
from collections import Counter

from bestk.study.fold import Fold


def due(fold: Fold, least: int) -> int | None:
    """The arm whose turn it is; None once all have so many pulls, open ones included."""
    if least == 0:
        return None
    out = Counter(pull.arm for pull in fold.open.values())
    out.update(arm for arm, reward in fold.order.held.values() if reward is not None)
    asked = {arm: int(fold.tally.counts[arm]) + out[arm] for arm in fold.arms}
    block = min(asked.values())
    if block >= least:
        return None
    order = random.Random(f"{fold.specification.seed} {block}").sample(fold.arms, len(fold.arms))
    return next(arm for arm in order if asked[arm] == block)
