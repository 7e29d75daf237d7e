"""The paper's experiments: panels, results and claims as data, and the run of all of them."""
