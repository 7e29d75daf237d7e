"""The paper's confidence bound, and how a wanted error is split over arms and sides.

`lil` is the radius of Lemma 2.1; `levels` is the one place where levels are split.
"""
