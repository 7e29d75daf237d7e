from common import sort_numbers

sort_numbers(sorted)
