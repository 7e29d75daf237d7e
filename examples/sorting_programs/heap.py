from heapq import heapify, heappop

from common import sort_numbers


def heap_sort(numbers):
    heapify(numbers)
    return [heappop(numbers) for _ in range(len(numbers))]


sort_numbers(heap_sort)
