"""Policies with a number of pulls instead of an error probability: one file each.

Their theorems bound the error by a number that depends on the unknown means, so that none of them
certifies anything: `guarantee` is None. docs/budgets.md says which to use when.
"""
