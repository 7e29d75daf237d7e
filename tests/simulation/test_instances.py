"""The paper's instances, number by number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestk.decisions import TopK
from bestk.errors import InputError
from bestk.simulation import make_instance, read_means


def test_one_sparse_has_k_means_at_one_half():
    np.testing.assert_array_equal(make_instance("1-sparse", arms=5, k=2).means, [0.5, 0.5, 0, 0, 0])


@given(st.integers(2, 300), st.data(), st.sampled_from([0.3, 0.6, 1.0]))
def test_exponential_means_follow_section_5(n, data, alpha):
    k = data.draw(st.integers(1, n - 1))
    means = make_instance("exponential", arms=n, k=k, alpha=alpha).means
    for i in (1, k, k + 1, n):  # the paper counts from 1
        if i <= k:
            expected = (n - k) / n + k / n * ((k - i) / k) ** alpha
        else:
            expected = (n - k) / n - (n - k) / n * ((i - k) / (n - k)) ** alpha
        assert means[i - 1] == pytest.approx(expected, abs=1e-15)
    assert np.all(np.diff(means) < 0)
    assert means[k - 1] == pytest.approx((n - k) / n)
    gap = (n - k) / n * (1 / (n - k)) ** alpha
    assert means[k - 1] - means[k] == pytest.approx(gap)


def test_lil_exponential_means_follow_section_5():
    means = make_instance("lil-exponential", arms=4, k=1, alpha=0.6).means
    assert means == pytest.approx([1.0] + [1 - (i / 4) ** 0.6 for i in (1, 2, 3)])


def test_half_of_an_odd_number_is_refused():
    assert make_instance("1-sparse", arms=10, k="N/2").k == 5
    with pytest.raises(InputError, match="odd"):
        make_instance("1-sparse", arms=11, k="N/2")


@pytest.mark.parametrize("k", [0, -1, 5, 6])
def test_k_outside_its_range_is_refused(k):
    with pytest.raises(InputError, match="1 to 4"):
        make_instance("1-sparse", arms=5, k=k)


def test_fewer_than_two_arms_are_refused():
    with pytest.raises(InputError, match="at least 2"):
        make_instance("1-sparse", arms=1, k=1)


def test_an_unknown_instance_gets_the_nearest_name():
    with pytest.raises(InputError, match="did you mean '1-sparse'"):
        make_instance("one-sparse", arms=5, k=1)


def test_a_tie_at_the_boundary_is_seen_and_one_elsewhere_is_not():
    assert make_instance(k=2, means=[3.0, 1.0, 1.0]).tied
    assert not make_instance(k=1, means=[3.0, 1.0, 1.0]).tied


def test_means_are_read_from_a_list_and_from_a_file(tmp_path):
    assert read_means("0.5, 1e-1,-2") == [0.5, 0.1, -2.0]
    path = tmp_path / "means.txt"
    path.write_text("0.5\n\n0.25\n")
    assert read_means(str(path)) == [0.5, 0.25]


@pytest.mark.parametrize(
    ("text", "message"),
    [("0.5,abc", "mean 2: 'abc'"), ("0.5,nan", "not finite"), ("nowhere.txt", "no file")],
)
def test_means_that_are_not_numbers_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_means(text)


def test_a_means_file_with_text_names_the_line(tmp_path):
    path = tmp_path / "means.txt"
    path.write_text("0.5\nhello\n")
    with pytest.raises(InputError, match="line 2: 'hello'"):
        read_means(str(path))


@given(st.lists(st.sampled_from([-1.0, 0.0, 0.5]), min_size=2, max_size=9), st.data())
def test_the_top_k_oracle_takes_the_first_of_equal_weights(weights, data):
    k = data.draw(st.integers(1, len(weights) - 1))
    expected = sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:k]
    best = TopK(len(weights), k).best(np.array(weights))
    assert list(np.flatnonzero(best)) == sorted(expected)
