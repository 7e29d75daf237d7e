from common import sort_numbers


def bubble_sort(numbers):
    for end in range(len(numbers) - 1, 0, -1):
        for j in range(end):
            if numbers[j] > numbers[j + 1]:
                numbers[j], numbers[j + 1] = numbers[j + 1], numbers[j]
    return numbers


sort_numbers(bubble_sort)
