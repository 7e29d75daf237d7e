"""What all programs share: read the numbers, sort them, and fail if they are not sorted."""

import os
import sys


def sort_numbers(sort):
    with open(os.environ["NUMBERS"], encoding="ascii") as file:
        numbers = [int(line) for line in file]
    result = sort(list(numbers))
    if result != sorted(numbers):
        sys.exit("the numbers are not sorted")
