"""Waits and limits, with time given: nothing here sleeps."""

import datetime
import email.message
import math
from types import SimpleNamespace

import pytest

from bestk.errors import InputError
from bestk.study.retries import PATIENCE, Attempts, Limiter, asked_to_wait, is_too_often, per_second


def error(text="no", **attributes):
    made = OSError(text)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def headers(**values):
    return SimpleNamespace(headers={name.replace("_", "-"): each for name, each in values.items()})


@pytest.mark.parametrize(
    "refusal",
    [
        error(status_code=429),
        error(status=429),
        error(code=429),
        error(response=SimpleNamespace(status_code=429)),
        error("HTTP Error 429: Too Many Requests"),
        error("Rate limit reached for requests"),
        error("rate_limit_exceeded"),
    ],
)
def test_refusals_are_known_by_their_code_or_their_text(refusal):
    assert is_too_often(refusal)


@pytest.mark.parametrize("other", [None, error(status_code=500), error("item 14290"), error("")])
def test_other_failures_are_no_refusals(other):
    assert not is_too_often(other)


def test_an_endpoint_may_say_how_long_to_wait():
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    mail = email.message.Message()
    mail["retry-after"] = "4"
    for wait, found in [
        (2.5, error(retry_after=2.5)),
        (7.0, error(retry_after="7")),
        (9.0, error(retry_after=datetime.timedelta(seconds=9))),
        (3.0, error(response=headers(Retry_After="3"))),
        (3.0, error(response=headers(retry_after="3"))),
        (4.0, error(headers=mail)),
        (60.0, error(response=headers(Retry_After="Thu, 01 Jan 2026 00:01:00 GMT"))),
        (0.0, error(response=headers(Retry_After="soon"))),
        (0.0, error(retry_after=math.inf)),
        (0.0, error(response=headers(other="3"))),
        (0.0, None),
    ]:
        assert asked_to_wait(found, now.timestamp()) == wait


def test_waits_double_with_jitter_and_are_never_shorter_than_asked():
    attempts = Attempts()
    waits = []
    for _ in range(4):
        attempts.add(too_often=False)
        waits.append(attempts.wait(0.5, 0.0, chance=0.5))
    assert waits == [0.5, 1.0, 2.0, 4.0]
    assert attempts.wait(0.5, 0.0, chance=0.0) == 2.0
    assert attempts.wait(0.5, 100.0) == 100.0
    for _ in range(2000):
        attempts.add(too_often=False)
    assert attempts.wait(0.5, 0.0, chance=0.5) == 60.0
    assert len({attempts.wait(0.5, 0.0) for _ in range(10)}) > 1


def test_refusals_use_retries_up_slowly():
    attempts = Attempts()
    for _ in range(3 * PATIENCE):
        attempts.add(too_often=True)
    assert not attempts.used_up(3)
    attempts.add(too_often=True)
    assert attempts.used_up(3)
    failed = Attempts()
    failed.add(too_often=False)
    assert failed.used_up(0)
    assert not failed.used_up(1)
    refused = Attempts()
    refused.add(too_often=True)
    assert refused.used_up(0)  # whoever wants no retries gets none


def test_rates_are_numbers_or_texts():
    assert [per_second(rate) for rate in (None, 10, "10/s", "600/min", "36000/h", "2.5 / sec")] == [
        None, 10.0, 10.0, 10.0, 10.0, 2.5,
    ]  # fmt: skip
    for rate in (0, -1, "10", "10/day", "x/s", math.nan, True, []):
        with pytest.raises(InputError, match="rate"):
            per_second(rate)


def test_calls_keep_to_the_rate():
    limiter, now, starts = Limiter(100, rate=10.0), 0.0, []
    while len(starts) < 21:
        now += limiter.wait(now, 0)
        limiter.started(now)
        starts.append(now)
    assert starts[-1] == pytest.approx(2.0)
    now += 5.0  # a pause is not made up for
    for _ in range(2):
        now += limiter.wait(now, 0)
        limiter.started(now)
    assert now == pytest.approx(7.1)


def test_a_refusal_halves_the_calls_under_way_and_answers_bring_them_back():
    limiter = Limiter(32)
    for running in range(1, 33):
        assert limiter.wait(0.0, running - 1) == 0.0
        limiter.started(0.0)
    for running in range(7, 33):  # refused together: one cut
        limiter.refused(1.0, 0.0, running, 0.0)
    assert limiter.window == 3.5
    assert limiter.wait(1.0, 3) == math.inf
    assert limiter.wait(1.0, 2) == 0.0
    answers = 0
    while limiter.window < 7:
        limiter.answered(2.0, 1.5)
        answers += 1
    assert answers > 20  # slowly
    for _ in range(10_000):
        limiter.answered(2.0, 1.5)
    assert limiter.window == 32


def test_below_one_call_at_a_time_there_are_pauses():
    limiter, now = Limiter(4), 0.0
    for _ in range(4):
        now += limiter.wait(now, 0)
        limiter.started(now)
        limiter.refused(now + 1.0, now, 1, 0.0)
        now += 1.0
    assert limiter.window == 1 / 16
    limiter.started(now)
    assert limiter.wait(now, 0) > 5.0
    for _ in range(31):
        limiter.answered(now, now - 1.0)
    assert limiter.window > 1.0


def test_everybody_waits_as_long_as_the_endpoint_asks():
    limiter = Limiter(4)
    limiter.started(0.0)
    limiter.refused(1.0, 0.0, 4, 10.0)
    assert limiter.wait(1.0, 0) == 10.0
    assert limiter.wait(11.0, 0) == 0.0
