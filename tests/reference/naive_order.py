"""Which observations of a log count, slowly: the list is made anew from the whole log."""

from bestk.storage import events as ev

LOST = (ev.FORGOTTEN, ev.EXPIRED, ev.FAILED)


def counted(events, by_arm=False):
    """(arm, reward) of every observation that counts, in order; the reward None for a hole."""
    places = []  # one entry for every pull and every observation from elsewhere: arm, state
    place_of, ids = {}, set()
    for event in events:
        if event.kind == ev.ASKED and event.key not in place_of:
            place_of[event.key] = len(places)
            places.append([event.arm, "open"])
        elif event.kind == ev.OBSERVED and event.key not in ids:
            ids.add(event.key)
            places.append([event.arm, event.reward])
        elif event.kind == ev.TOLD and places[place_of[event.key]][1] == "open":
            places[place_of[event.key]][1] = event.reward
        elif event.kind in LOST and places[place_of[event.key]][1] == "open":
            places[place_of[event.key]][1] = None
    found, blocked = [], set()
    for arm, value in places:
        if value == "open":
            blocked.add(arm)
        elif not (arm in blocked if by_arm else blocked):
            found.append((arm, value))
    return found
