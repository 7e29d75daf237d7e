"""What is said of functions that return no number."""

import pytest

import bestk


@pytest.mark.parametrize(("value", "what"), [(None, "None"), ("good", "the text 'good'")])
def test_a_function_that_returns_no_number_is_told_so(value, what):
    with pytest.raises(bestk.ArmFailedError) as caught:
        bestk.identify("ab", lambda _: value, k=1, retries=0, progress=False)
    assert f"your function returned {what}; return a number" in str(caught.value)
    assert "storage=" not in str(caught.value)
