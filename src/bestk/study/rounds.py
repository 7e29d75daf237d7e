"""The rounds of a study whose policy is plain Python: what it asked for, and what came back.

The log alone says it, so that a study can be read where its policy is not registered.
"""

from __future__ import annotations

from collections import deque

Round = tuple[list[int], list[float]]  # arms in the order asked, and the reward of each


class Rounds:
    """Rounds that a study's log holds, in which every pull has its reward once all came back.

    A round is what the policy asked for at once. Its pulls are handed out in its order; one that is
    lost is handed out again, as a new pull of the same arm. Pulls that no round has asked for (two
    processes began the same round) count as evidence, and the policy is not told of them.
    """

    def __init__(self) -> None:
        self.done: list[Round] = []
        self._arms: list[int] = []  # of the present round
        self._rewards: list[float] = []
        self._places: dict[str, int] = {}  # of open pulls, in the present round
        self._waiting: deque[int] = deque()  # places that are yet to be handed out, or once more

    @property
    def is_settled(self) -> bool:
        """Whether no round is under way."""
        return not self._arms

    @property
    def next(self) -> list[int]:
        """The arm to be handed out next, if there is one."""
        return [self._arms[self._waiting[0]]] if self._waiting else []

    def is_out(self, key: str) -> bool:
        """Whether the present round waits for that pull."""
        return key in self._places

    def begin(self, arms: list[int]) -> None:
        """The policy has asked for these; if a round is under way, another process was quicker."""
        if self.is_settled:
            self._arms, self._rewards = arms, [0.0] * len(arms)
            self._waiting = deque(range(len(arms)))

    def hand_out(self, key: str, arm: int) -> None:
        """A pull of an arm was handed out."""
        for place in self._waiting:  # nearly always the first
            if self._arms[place] == arm:
                self._waiting.remove(place)
                self._places[key] = place
                return

    def tell(self, key: str, reward: float) -> None:
        """A pull came back."""
        place = self._places.pop(key, None)
        if place is None:
            return
        self._rewards[place] = reward
        if not self._waiting and not self._places:
            self.done.append((self._arms, self._rewards))
            self._arms = []

    def lose(self, key: str) -> None:
        """A pull will never come back: its place is handed out again, before later ones."""
        place = self._places.pop(key, None)
        if place is not None:
            self._waiting = deque(sorted([place, *self._waiting]))
