"""The paper's experiments as data: panels, results, claims."""
