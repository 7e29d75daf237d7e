"""study.toml: what it says is taken, what it cannot mean is refused by name."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import bestk
from bestk.commands.study_file import KEYS, read_study_file
from bestk.errors import InputError

EXAMPLE = files("bestk.cli").joinpath("study.toml").read_text(encoding="utf-8")
DOCS = Path(__file__).parents[2] / "docs" / "study-file.md"
SMALL = """
[study]
k = 1
[pull]
command = "echo {value}"
[[arms]]
name = "a"
value = 1
[[arms]]
name = "b"
value = 0.5
"""


@pytest.fixture
def read(tmp_path):
    def read(text):
        path = tmp_path / "mine.toml"
        path.write_text(text, encoding="utf-8")
        return read_study_file(path)

    return read


def with_line(section, line):
    """The small file with another line in a section."""
    head = f"[{section}]\n"
    if section in ("study", "pull"):
        kept = SMALL.replace("k = 1\n", "") if line.startswith("k =") else SMALL
        kept = kept.replace('command = "echo {value}"\n', "") if line.startswith("comm") else kept
        return kept.replace(head, f"{head}{line}\n")
    return f"{SMALL}{head}{line}\n"


def test_a_small_file_has_the_defaults(read, tmp_path):
    found = read(SMALL)
    assert (found.name, found.arms, found.k, found.seed) == ("mine", ("a", "b"), 1, None)
    problem = found.problem
    assert (problem.delta, problem.epsilon, problem.policy) == (0.05, 0.0, "e-lucb")
    assert (problem.rewards, problem.maximize) == (bestk.Bounded(0, 1), True)
    assert (found.retries, found.parallel, found.pulls, found.seconds) == (3, 1, None, None)
    assert (found.storage, found.durability) == (tmp_path / "mine.db", "process")
    assert (found.pull("a"), found.pull("b")) == (1, 0.5)


def test_every_key_is_heard(read, tmp_path):
    found = read(
        """
[study]
name = "n"
k = 2
delta = 0.1
epsilon = 1
rewards = "ratings"
levels = [1, 2, 3.5]
direction = "minimize"
policy = "lucb++"
variant = "heuristic"
seed = 7
params = { bound = "lil" }
[pull]
command = ["echo", '{"s": {"x": 3.5}}']
json_field = "s.x"
timeout = 9
retries = 3
parallel = 4
[budget]
pulls = 10
seconds = 1.5
[storage]
file = "sub/x.db"
durability = "full"
[[arms]]
name = "a"
[[arms]]
name = "b"
[[arms]]
name = "c"
""".replace('{"s": {"x": 3.5}}', '{{"s": {{"x": 3.5}}}}')
    )
    problem = found.problem
    assert (found.name, found.k, found.seed, found.arms) == ("n", 2, 7, ("a", "b", "c"))
    assert (problem.delta, problem.epsilon, problem.maximize) == (0.1, 1, False)
    assert problem.rewards == bestk.Ratings((1, 2, 3.5))
    assert (problem.policy, problem.variant, problem.params) == (
        "lucb++", "heuristic", {"bound": "lil"},
    )  # fmt: skip
    assert (found.retries, found.parallel, found.pulls, found.seconds) == (3, 4, 10, 1.5)
    assert (found.storage, found.durability) == (tmp_path / "sub" / "x.db", "full")
    assert (found.pull.timeout, found.pull("a")) == (9, 3.5)


@pytest.mark.parametrize(
    ("line", "rewards"),
    [
        ("low = -1\nhigh = 4", bestk.Bounded(-1, 4)),
        ('rewards = "gaussian"\nsigma = 2', bestk.Gaussian(2)),
        ('rewards = "subgaussian"', bestk.SubGaussian(0.5)),
        ('rewards = "bernoulli"', bestk.Bernoulli()),
    ],
)
def test_rewards_take_their_parameters(read, line, rewards):
    assert read(with_line("study", line)).problem.rewards == rewards


def test_parameters_become_texts(read):
    arms = "[[arms]]\nname = 'c d'\nx = true\ny = -1.50\nz = 12\nvalue = 'é'\n"
    assert read(SMALL + arms).pull.values["c d"] == {
        "name": "c d", "x": "true", "y": "-1.5", "z": "12", "value": "é",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("section", "line", "said"),
    [
        ("study", "kk = 1", "unknown key of [study] 'kk': did you mean 'k'?"),
        ("study", "epsilom = 1", "did you mean 'epsilon'?"),
        ("pull", "comand = 'x'", "did you mean 'command'?"),
        ("budget", "pull = 1", "did you mean 'pulls'?"),
        ("storage", "path = 'x'", "unknown key of [storage] 'path'"),
        ("budgets", "pulls = 1", "unknown section 'budgets': did you mean 'budget'?"),
        ("study", "k = '1'", "k = '1' of [study]"),
        ("study", "k = 1.0", "k = 1.0"),
        ("study", "k = true", "k = True"),
        ("study", "k = 0", "at least 1"),
        ("study", "k = 2", "K=2"),
        ("study", "name = 3", "name = 3"),
        ("study", "name = ''", "name = ''"),
        ("study", "delta = 'small'", "delta = 'small'"),
        ("study", "delta = nan", "delta = nan"),
        ("study", "delta = 2", "delta"),
        ("study", "epsilon = inf", "epsilon = inf"),
        ("study", "epsilon = -1", "epsilon"),
        ("study", "rewards = 'gausian'", "did you mean 'gaussian'?"),
        ("study", "rewards = 'bernoulli'\nlow = 0", "low and high"),
        ("study", "rewards = 'ratings'", "levels"),
        ("study", "levels = ['a']", "levels = ['a'] of [study]"),
        ("study", "levels = []", "levels = []"),
        ("study", "low = 2", "range [2, 1.0]"),
        ("study", "sigma = '1'", "sigma = '1'"),
        ("study", "direction = 'up'", '"maximize" or "minimize"'),
        ("study", "policy = 'lucb+'", "unknown policy 'lucb+': did you mean 'lucb++'?"),
        ("study", "policy = 'lil-rand-lucb'\nvariant = 'odd'", "unknown variant 'odd'"),
        ("study", "params = 3", "params = 3"),
        ("study", "params = { no = 1 }", "parameter 'no'"),
        ("study", "seed = -1", "seed = -1"),
        ("study", "seed = 1.5", "seed = 1.5"),
        ("pull", "command = ''", "command = ''"),
        ("pull", "command = []", "command = []"),
        ("pull", "command = ['a', 1]", "command = ['a', 1]"),
        ("pull", "command = 'echo {valeu}'", "{valeu} in the command was refused: arm 'a' has"),
        ("pull", "command = 'echo {'", "a single {"),
        ("pull", 'command = "echo \'a"', "No closing quotation"),
        ("pull", "command = ['echo']\nshell = true", "one text"),
        ("pull", "shell = 1", "shell = 1"),
        ("pull", "json_field = 3", "json_field = 3"),
        ("pull", "timeout = 0", "timeout = 0"),
        ("pull", "timeout = inf", "timeout = inf"),
        ("pull", "retries = -1", "retries = -1"),
        ("pull", "backoff = -1", "backoff = -1"),
        ("pull", "rate = 'fast'", "rate = 'fast'"),
        ("pull", "on_fail = 'withdraw'", "on_fail = 'withdraw'"),
        ("pull", "extra = true", "give json_field"),
        ("budget", "cost = 2", "give extra"),
        ("study", "costs = 'price'", "price = None of arm 'a'"),
        ("study", "costs = 'value'\npolicy = 'lucb'", "e-lucb and e-clucb"),
        ("pull", "repeats = 2", "a cell of [items]"),
        ("pull", "parallel = 0", "parallel = 0"),
        ("pull", "parallel = 1.5", "parallel = 1.5"),
        ("budget", "pulls = 0", "pulls = 0"),
        ("budget", "seconds = -1", "seconds = -1"),
        ("budget", "seconds = 1" + "0" * 400, "seconds = 1"),
        ("storage", "file = 1", "file = 1"),
        ("storage", "durability = 'some'", '"process" or "full"'),
        ("[arms]", "value = 1", "arm 3 was refused: its name must be a text, not None"),
        ("[arms]", "name = 4\nvalue = 1", "not 4"),
        ("[arms]", "name = 'a'\nvalue = 1", "arm 'a' was refused: it is listed twice"),
        ("[arms]", "name = 'c'", "{value} in the command was refused: arm 'c' has name"),
        ("[arms]", "name = 'c'\nvalue = [1]", "value = [1] of arm 'c'"),
        ("[arms]", "name = 'c'\nvalue = 2024-01-05", "of arm 'c'"),
        ("[arms]", 'name = "c\\u0000"\nvalue = 1', "its name must be a text"),
        ("[arms]", 'name = "c"\nvalue = "\\u0000"', "value = '\\x00' of arm 'c'"),
    ],
)
def test_what_a_file_cannot_mean_is_refused_by_name(read, section, line, said, tmp_path):
    with pytest.raises(InputError, match=re.escape(said)) as refusal:
        read(with_line(section, line))
    assert "mine.toml" in str(refusal.value)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_a_parameter_of_the_arms_says_what_pulls_cost(read):
    found = read(with_line("study", "costs = 'value'") + "[budget]\ncost = 3\n")
    assert (found.problem.costs, found.cost) == ((1.0, 0.5), 3)
    assert found.open().problem.costs == (1.0, 0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "k is missing from [study]"),
        ("[study]\nk = 1", "command is missing from [pull]"),
        ("study = 3", "study was refused: it must be a section"),
        ("[study]\nk = 1\n[pull]\ncommand = 'echo'", "the arms are missing"),
        ("arms = ['a']\n[study]\nk = 1\n[pull]\ncommand = 'echo'", "the arms are missing"),
        ("arms = []\n[study]\nk = 1\n[pull]\ncommand = 'echo'", "at least 2"),
        ("[study\n", "line 1"),
    ],
)
def test_a_file_with_parts_missing_is_refused(read, text, said):
    with pytest.raises(InputError, match=re.escape(said)):
        read(text)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    with pytest.raises(InputError, match="no such file; `bestk init`"):
        read_study_file(tmp_path / "none.toml")
    with pytest.raises(InputError, match="directory"):
        read_study_file(tmp_path)
    (tmp_path / "x.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"x\.toml was refused"):
        read_study_file(tmp_path / "x.toml")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("k = 1", "k = 1\ndelta = 0.01", "delta=0.01 was refused: the study was begun with 0.05"),
        ("k = 1", "k = 1\nvariant = 'heuristic'", "variant=heuristic"),
        ("k = 1", "k = 1\nrewards = 'bernoulli'", "rewards="),
        ("k = 1", "k = 1\ndirection = 'minimize'", "maximize=False"),
        ("k = 1", "k = 1\nseed = 3", "seed=3"),
        ('"b"', '"c"', "arms"),
    ],
)
def test_other_settings_than_the_study_was_begun_with_are_refused(read, before, after, said):
    small = SMALL.replace("k = 1\n", "k = 1\npolicy = 'lil-rand-lucb'\n")
    assert read(small).open().result.samples == 0
    with pytest.raises(InputError, match=re.escape(said)):
        read(small.replace(before, after)).open()


def test_a_key_that_was_removed_is_a_changed_setting(read):
    policy = "k = 1\npolicy = 'lil-rand-lucb'\n"
    read(SMALL.replace("k = 1\n", f"{policy}variant = 'heuristic'\n")).open()
    with pytest.raises(InputError, match="variant=None was refused"):
        read(SMALL.replace("k = 1\n", policy)).open()
    with pytest.raises(InputError, match="policy=e-lucb was refused"):
        read(SMALL).open()


def test_the_reference_lists_every_key_and_its_example_is_valid(read):
    text = DOCS.read_text(encoding="utf-8")
    for section, keys in KEYS.items():
        part = text.split(f"## `[{section}]`")[1].split("\n## ")[0]
        listed = {
            key for row in re.findall(r"^\| (`.*?) \|", part, re.MULTILINE)
            for key in re.findall(r"`(\w+)`", row)
        }  # fmt: skip
        assert listed == set(keys)
    example = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    assert read(example[1]).arms == ("short", "polite", "long")


def test_the_file_that_init_writes_mentions_most_keys_and_is_valid(read):
    assert read(EXAMPLE).arms == ("often", "sometimes", "rarely")
    uncommented = re.sub(r"^# (?=[a-z_]+ = |\[)", "", EXAMPLE, flags=re.MULTILINE)
    assert set(tomllib.loads(uncommented)) == {*KEYS, "arms"} - {"items"}
