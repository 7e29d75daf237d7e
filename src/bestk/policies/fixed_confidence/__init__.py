"""Reference policies of the field, as their papers have them: one file each.

`pairs` and `thresholds` are what those with a likelihood-ratio stop share, `kl_bounds` what KL-LUCB
and KL-racing do.
"""
