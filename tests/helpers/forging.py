"""Random edits of certificates and logs, and what docs/certificate.md excuses of them."""

import copy
import json
import math
import shutil
import sqlite3

from helpers.certified import sha_of

UNCHECKED = (("bestk",), ("made",))  # documented: what made it, and when, prove nothing


# --- certificates ---------------------------------------------------------------------------------


def leaves(value, keys=()):
    """Where every single value is."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*keys, key))
    else:
        yield keys


def insides(value, kind, keys=()):
    """Where every object, or every list of some length, is."""
    if isinstance(value, kind) and value:
        yield keys
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from insides(value[key], kind, (*keys, key))


def at(value, keys):
    for key in keys:
        value = value[key]
    return value


def put(value, keys, new):
    at(value, keys[:-1])[keys[-1]] = new


def nudge(dice, certificate):
    """A number a little, or a lot, larger or smaller."""
    places = [keys for keys in leaves(certificate) if type(at(certificate, keys)) in (int, float)]
    keys = dice.choice(places)
    value = at(certificate, keys)
    if type(value) is int:
        new = dice.choice([value + 1, value - 1, 2 * value, -value, value + dice.randrange(10**9)])
    else:
        size = dice.choice([1.0, abs(value)]) * 10.0 ** -dice.uniform(0, 17)
        new = dice.choice([value + size, value - size, -value, 0.0, math.nextafter(value, 1e300)])
    put(certificate, keys, new)


def move(dice, certificate):
    """The value of one place to another."""
    here, there = dice.choices(list(leaves(certificate)), k=2)
    put(certificate, here, copy.deepcopy(at(certificate, there)))


def retype(dice, certificate):
    """Another type, as like the old value as it can be."""
    keys = dice.choice(list(leaves(certificate)))
    value = at(certificate, keys)
    others = [None, True, False, str(value), [value], {"value": value}, 0, 1, 0.0, 1.0]
    if isinstance(value, int | float):
        others += [int(value), float(value), bool(value)]
    put(certificate, keys, dice.choice(others))


def drop(dice, certificate):
    """A key less."""
    inside = at(certificate, dice.choice(list(insides(certificate, dict))))
    del inside[dice.choice(list(inside))]


def grow(dice, certificate):
    """A key more."""
    inside = at(certificate, dice.choice(list(insides(certificate, dict))))
    inside[dice.choice(["note", "Format", "low ", "weights", ""])] = dice.choice([None, 1, "x", {}])


def reorder(dice, certificate):
    """A list in another order, or shorter, or longer."""
    inside = at(certificate, dice.choice(list(insides(certificate, list))))
    how = dice.randrange(3)
    if how == 0:
        dice.shuffle(inside)
    elif how == 1:
        inside.pop(dice.randrange(len(inside)))
    else:
        inside.append(copy.deepcopy(dice.choice(inside)))


def reword(dice, certificate):
    """A text with a letter more, less or changed, or no text."""
    places = [keys for keys in leaves(certificate) if type(at(certificate, keys)) is str]
    keys = dice.choice(places)
    text = at(certificate, keys)
    place = dice.randrange(len(text) + 1)
    more = dice.choice(["", " ", "x", "0", "\n", "\u0430", "\x1b"])
    new = [text[:place] + more + text[place + dice.randrange(2) :], "", text.upper(), text[::-1]]
    put(certificate, keys, dice.choice(new))


def repeat_key(dice, certificate):
    """The text of the certificate with a key twice in some object."""
    keys = dice.choice(list(insides(certificate, dict)))
    inside = at(certificate, keys)
    name = dice.choice(list(inside))
    marked = {**inside, "?": dice.choice([inside[name], None, 1])}
    changed = copy.deepcopy(certificate)
    if keys:
        put(changed, keys, marked)
    else:
        changed = marked
    return json.dumps(changed).replace('"?"', json.dumps(name), 1).encode()


def retype_byte(dice, certificate):
    """The text of the certificate with another byte somewhere."""
    text = bytearray(json.dumps(certificate).encode())
    place = dice.randrange(len(text))
    how = dice.randrange(3)
    if how == 0:
        text[place] = dice.choice(b'0123456789eE.-+,: "{}[]nNtxI\xff\x00')
    elif how == 1:
        del text[place : place + dice.choice([1, 1, 2, 50])]
    else:
        text[place:place] = dice.choice([b"0", b"-", b"1e", b"NaN", b"Infinity", b" ", b'""', b"}"])
    return bytes(text)


CHANGES = [nudge, nudge, nudge, move, move, retype, drop, grow, reorder, reword]


def forged(dice, certificate):
    """The text of a certificate after a random edit, and what was done."""
    change = dice.choice([*CHANGES, repeat_key, retype_byte])
    if change in CHANGES:
        other = copy.deepcopy(certificate)
        change(dice, other)
        return json.dumps(other).encode(), change.__name__
    return change(dice, certificate), change.__name__


# --- logs -----------------------------------------------------------------------------------------

SCHEMA = [
    "CREATE VIEW seen AS SELECT * FROM log_1",
    "CREATE TRIGGER later AFTER INSERT ON studies BEGIN SELECT 1; END",
    "DROP TABLE log_1",
    "PRAGMA application_id = 0",
    "PRAGMA user_version = 99",
    "UPDATE studies SET name = 'another'",
    "ALTER TABLE log_1 RENAME COLUMN at TO time",
]


def forged_log(dice, path, certificate, folder):
    """A copy of the file with its log edited; the certificate, which may be given the new hash."""
    other, events = folder / "forged.db", certificate["log"]["events"]
    for left in folder.glob("forged.db*"):  # with the write-ahead log of the one before
        left.unlink()
    shutil.copy(path, other)
    connection = sqlite3.connect(other, isolation_level=None)
    row, column, value = _edit(dice, connection, events)
    if row is None:
        statement, values = dice.choice(SCHEMA), ()
    elif column == "seq":
        statement, values = dice.choice(
            [
                ("DELETE FROM log_1 WHERE seq = ?", (row,)),
                ("UPDATE log_1 SET seq = seq + 10000000 WHERE seq >= ?", (row,)),
                ("UPDATE log_1 SET seq = -1 WHERE seq = ?", (row,)),
            ]
        )
    else:
        statement, values = f"UPDATE log_1 SET {column} = ? WHERE seq = ?", (value, row)
    connection.execute(statement, values)
    connection.close()
    if column == "reward" and dice.random() < 0.5:  # whoever writes the log can hash it, too
        certificate = copy.deepcopy(certificate)
        certificate["log"]["sha256"] = sha_of(other, events)
        statement += " (and its hash)"
    return other, json.dumps(certificate).encode(), statement


def _edit(dice, connection, events):
    """An event up to the stop, one of its columns and another value for it."""
    if dice.random() < 0.1:
        return None, None, None
    column = dice.choice(["seq", "kind", "key", "arm", "reward", "reward", "data", "at"])
    wanted = "kind IN (2, 6)" if column == "reward" else "1"  # observations
    query = f"SELECT seq, {column} FROM log_1 WHERE seq <= ? AND {wanted}"
    row, old = dice.choice(connection.execute(query, (events,)).fetchall())
    if column in ("kind", "arm"):
        return row, column, old + dice.choice([1, -1, 7])
    if column in ("reward", "at"):
        return row, column, dice.choice([old + 1e-3, old - 0.5, -old - 1.0, old * 1e9 + 1.0])
    return row, column, f"{old}{dice.choice('x1 ]')}"


# --- what is excused ------------------------------------------------------------------------------


class Excuses:
    """The tolerances of docs/certificate.md, twice: the certificate itself may be off by one."""

    def __init__(self, certificate, scale):
        self.certificate, self.scale = certificate, scale

    def allow(self, other):
        """Whether another certificate says the same, up to the tolerances."""
        return self._same(self.certificate, other, ())

    def _same(self, own, given, keys):
        if keys in UNCHECKED:
            return type(given) is str
        if type(own) is not type(given):
            return False
        if isinstance(own, dict):
            return own.keys() == given.keys() and all(
                self._same(own[key], given[key], (*keys, key)) for key in own
            )
        if isinstance(own, list):
            return len(own) == len(given) and all(
                self._same(own[place], given[place], (*keys, place)) for place in range(len(own))
            )
        if own == given:
            return True
        if isinstance(own, float):
            return abs(own - given) <= 2.0 * self._room(keys, own)
        return self._is_tie(given, keys)

    def _room(self, keys, own):
        last, size = 4 * math.ulp(own), self.scale
        if keys[0] == "levels":
            return 1e-9 * own + last
        if keys[0] == "arms" and keys[-1] == "sum":
            pulls = self.certificate["arms"][keys[1]]["pulls"]
            return 1e-9 * size * pulls + last + pulls * math.ulp(own)
        if keys[0] == "arms":
            return (1e-6 if keys[-1] in ("low", "high") else 1e-9) * size + last
        if keys[0] == "stop" and keys[-1] == "epsilon":
            return last
        return self._of_statistic() if keys[0] == "stop" else 0.0

    def _of_statistic(self):
        """Two bounds, or those of all arms."""
        arms = [arm for arm in self.certificate["arms"] if arm["low"] is not None]
        ends = max(abs(arm[end]) for arm in arms for end in ("low", "high"))
        many = len(arms) if self.certificate["stop"]["rival"] is None else 2
        return many * (1e-6 * self.scale + 100 * math.ulp(ends))

    def _is_tie(self, given, keys):
        """The name of another arm with the same bound; or another way to stop, on the edge."""
        stop, room = self.certificate["stop"], self._of_statistic()
        if keys == ("stop", "rule"):
            edge = abs(stop["statistic"] - stop["epsilon"]) <= 2.0 * room
            return edge and {given, stop["rule"]} == {"bounds", "evidence"}
        if keys in (("stop", "weakest", "label"), ("stop", "rival", "label")):
            bound = stop[keys[1]]["bound"]
            return any(
                arm["label"] == given and abs(arm[end] - bound) <= 2.0 * room
                for arm in self.certificate["arms"]
                for end in ("low", "high")
                if arm["low"] is not None
            )
        return False
