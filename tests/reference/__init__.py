"""The algorithms once more: slow, obvious, straight from the pseudocode."""
