from common import sort_numbers


def insertion_sort(numbers):
    for i in range(1, len(numbers)):
        number, j = numbers[i], i
        while j > 0 and numbers[j - 1] > number:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number
    return numbers


sort_numbers(insertion_sort)
