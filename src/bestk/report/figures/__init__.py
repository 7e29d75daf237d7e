"""Figures with matplotlib: the paper's, what a plan costs, and answers of decision classes."""
