from common import sort_numbers


def selection_sort(numbers):
    for i in range(len(numbers)):
        least = i
        for j in range(i + 1, len(numbers)):
            if numbers[j] < numbers[least]:
                least = j
        numbers[i], numbers[least] = numbers[least], numbers[i]
    return numbers


sort_numbers(selection_sort)
