"""Figures with matplotlib: the paper's, and what a plan costs."""
