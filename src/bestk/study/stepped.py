"""A policy in Python, stepped along the log of a study.

Same log, same state, same next round: it draws from a generator of the study's seed, is told every
round in the order asked, and is asked for the next one when the last is settled.
"""

from __future__ import annotations

from dataclasses import replace

from bestk.errors import PolicyError
from bestk.policies.configure import Configured
from bestk.policies.driving import Driven, policy_generator
from bestk.problem import Problem
from bestk.study.rounds import Round


class Stepped:
    """One policy, as far as it was stepped."""

    def __init__(self, configured: Configured, problem: Problem, seed: int) -> None:
        question = replace(problem, params=dict(configured.params))
        self._driven = Driven(configured, question, policy_generator(seed, 0))
        self._told = 0  # rounds
        self._asked: list[int] | None = None  # the round that it waits for

    def ask(self, done: list[Round]) -> list[int]:
        """The round after these; empty: it stops."""
        self._follow(done)
        return self._next()

    def answer(self, done: list[Round]) -> list[int]:
        """Its answer after these rounds."""
        self._follow(done)
        return self._driven.answer()

    def _next(self) -> list[int]:
        if self._asked is None:
            self._asked = self._driven.ask()
        return self._asked

    def _follow(self, done: list[Round]) -> None:
        for arms, rewards in done[self._told :]:
            if self._next() != arms:
                raise PolicyError(
                    f"policy {self._driven.name} was refused: in round {self._told + 1} it asks for"
                    " other arms than the study's log holds; either it was changed since the study"
                    " was begun, or it draws from elsewhere than the generator it is started with"
                )
            for arm, reward in zip(arms, rewards, strict=True):
                self._driven.tell(arm, reward)
            self._told += 1
            self._asked = None
