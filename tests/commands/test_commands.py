"""Commands: nothing outlives them, no value becomes a command, the reward is what they print."""

import _thread
import os
import select
import sys
import threading

import pytest

from bestk.commands import process
from bestk.commands.process import kill_running, run_command
from bestk.commands.pull import CommandPull, NoReward, json_number, last_number
from bestk.commands.spawn import spawn
from bestk.commands.template import Template
from bestk.errors import ArmFailedError, InputError
from bestk.study import identify

LONG = 1000  # seconds that nobody waits for
NASTY = [
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a\ntouch pwned\n",
    "| touch pwned",
    "--flag",
    "two  words * ?",
    "{name} {{}} ${BESTK_ARM} %s \\ #",
    "é ✓ \x1b[31m",
]


@pytest.fixture
def fifo(tmp_path):
    """A pipe with a name, its reading end open: what is written to it, and when all have let go."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    yield path, end
    os.close(end)


def heard(end):
    """Wait for words from somebody who holds the pipe open."""
    assert select.select([end], [], [], 60)[0]
    return os.read(end, 100)


def all_gone(end):
    """Whether everyone who held the pipe open has died."""
    while True:
        try:
            if not os.read(end, 100):
                return True
        except BlockingIOError:  # held open, and silent
            if not select.select([end], [], [], 60)[0]:
                return False


# --- running ------------------------------------------------------------------------------------


def test_a_command_is_split_like_a_command_line_and_timed():
    done = run_command("""sh -c 'echo "$1"; echo oops >&2; exit 3' x "two words" """)
    assert done[:3] == (3, "two words\n", "oops\n")
    assert done.seconds > 0
    assert not done.timed_out


def test_a_shell_is_used_only_if_asked_for():
    assert run_command("echo a; echo b").output == "a; echo b\n"
    assert run_command("echo a; echo b", shell=True).output == "a\nb\n"
    assert run_command(["echo", "a;  b"], shell=True).output == "a;  b\n"


def test_the_time_is_that_of_the_command_with_and_without_a_limit():
    assert run_command("sleep 0.2").seconds >= 0.2
    assert run_command("sleep 0.2", timeout=LONG).seconds >= 0.2


def test_a_command_has_no_input_and_its_output_can_be_thrown_away():
    assert run_command("cat").output == ""
    assert run_command("echo a; echo b >&2", shell=True, output="null")[:3] == (0, "", "b\n")


@pytest.mark.parametrize(
    ("command", "code"), [("no-such-program", 127), ("/", 126), (["echo", "a\0b"], 126)]
)
def test_a_command_that_cannot_start_says_so_as_a_shell_would(command, code):
    done = run_command(command)
    assert done.code == code
    assert done.errors
    assert not done.timed_out


@pytest.mark.parametrize("command", ["", [], "echo 'open"])
def test_what_is_no_command_is_refused(command):
    with pytest.raises(InputError):
        run_command(command)


def test_output_that_is_not_text_does_no_harm():
    assert "7" in run_command(r"printf '\377\376 7'", shell=True).output


@pytest.mark.parametrize("endless", [1e10, 1e300, float("inf")])
def test_a_timeout_longer_than_any_wait_is_no_timeout(endless):
    done = run_command("true", timeout=endless)
    assert (done.code, done.errors, done.timed_out) == (0, "", False)


def test_a_timeout_kills_children_and_grandchildren(fifo):
    path, end = fifo
    script = f"exec 9>{path}; (sleep {LONG} & wait) & sleep {LONG} & wait"
    done = run_command(script, shell=True, timeout=1.0)
    assert done.timed_out
    assert done.code < 0
    assert 1.0 <= done.seconds < LONG
    assert all_gone(end)


def test_a_grandchild_that_holds_the_output_open_is_not_waited_for(fifo):
    path, end = fifo
    done = run_command(f"exec 9>{path}; sleep {LONG} & echo 7", shell=True)
    assert done[:2] == (0, "7\n")
    assert done.seconds < LONG
    assert all_gone(end)


def test_kill_running_ends_the_commands_of_all_threads(fifo):
    path, end = fifo
    ends = []
    script = f"exec 9>{path}; echo up >&9; sleep {LONG} & wait"
    threads = [
        threading.Thread(target=lambda: ends.append(run_command(script, shell=True)))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    said = b""
    while said.count(b"up") < 3:
        said += heard(end)
    kill_running()
    for thread in threads:
        thread.join(60)
    assert [done.code for done in ends] == [-9] * 3
    assert all_gone(end)


def test_an_interrupt_as_soon_as_a_command_has_started_ends_it(tmp_path, monkeypatch):
    found = []

    def start(*arguments):
        found.append(spawn(*arguments))
        _thread.interrupt_main()  # which ends no wait, as a signal does that comes just before it
        return found[0]

    monkeypatch.setattr(process, "spawn", start)
    with pytest.raises(KeyboardInterrupt):
        run_command(f"sleep 30; touch {tmp_path}/done", shell=True)
    with pytest.raises(ProcessLookupError):
        os.kill(found[0].pid, 0)
    assert not (tmp_path / "done").exists()


def test_no_command_outlives_the_program(fifo):
    path, end = fifo
    script = f"exec 9>{path}; echo up >&9; sleep {LONG} & wait"
    program = (
        "import threading; from bestk.commands.process import run_command\n"
        f"run = lambda: run_command({script!r}, shell=True)\n"
        "threading.Thread(target=run, daemon=True).start()\n"
        f"open({str(path)!r} + '.go').read()\n"
    )
    go = f"{path}.go"
    os.mkfifo(go)
    writer = threading.Thread(target=lambda: (heard(end), open(go, "w").close()))
    writer.start()
    assert run_command([sys.executable, "-c", program], timeout=LONG).code == 0
    writer.join(60)
    assert all_gone(end)


# --- filling in ---------------------------------------------------------------------------------

SHOW = "import sys; print(sys.argv[1:])"


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize("shell", [False, True])
def test_a_value_is_one_argument_whatever_it_contains(value, shell, tmp_path):
    template = Template(f"{sys.executable} -c '{SHOW}' {{x}} a={{x}}b {{name}}", shell=shell)
    command, env = template.fill(value, {"name": value, "x": value})
    done = run_command(command, shell=shell, cwd=tmp_path, env=env)
    assert done.output == f"{[value, f'a={value}b', value]}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("value", NASTY)
def test_a_value_stays_a_value_in_every_corner_of_a_script(value, tmp_path):
    for script in (
        "echo `echo {x}` $(echo {x})",
        "f() {{ echo {x}; }}; f 1",
        "cat <<E\n{x}\nE\n",
        "cat <<'E'\n{x}\nE\n",
        "# {x}",
        "case {x} in a) ;; esac; for y in {x}; do echo $y; done",
    ):
        command, env = Template(script, shell=True).fill("a", {"x": value})
        run_command(command, shell=True, cwd=tmp_path, env=env)
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_arguments_is_taken_as_it_is():
    template = Template(["echo", "a b", "{x}", "{{x}}", ""])
    assert template.fill("arm", {"x": "c d"}).command == ["echo", "a b", "c d", "{x}", ""]


def test_the_arm_is_in_the_environment():
    command, env = Template("echo $BESTK_ARM", shell=True).fill("my arm", {})
    assert run_command(command, shell=True, env=env).output == "my arm\n"


def test_braces_of_the_shell_are_doubled():
    command, env = Template("y=5; echo ${{y}} '{{}}' {x}", shell=True).fill("a", {"x": "1"})
    assert run_command(command, shell=True, env=env).output == "5 {} 1\n"


@pytest.mark.parametrize("text", ["'{x}'", '"{x}"', '"a\'{x}"', "'a\"{x}'", '"\\"{x}"', "\\{x}"])
def test_placeholders_inside_quotes_of_a_script_are_refused(text):
    with pytest.raises(InputError, match="refused"):
        Template(f"echo {text}", shell=True)


@pytest.mark.parametrize("text", ["'a'{x}", '"a"{x}', "'\\'{x}", "\\'{x}", '\\"{x}'])
def test_placeholders_after_quotes_of_a_script_are_fine(text):
    command, env = Template(f"printf %s {text}", shell=True).fill("a", {"x": "1"})
    assert run_command(command, shell=True, env=env).output.endswith("1")


def test_an_unknown_placeholder_names_itself_and_the_parameters():
    with pytest.raises(InputError, match=r"\{sise\}.*name, size"):
        Template("echo {sise}").fill("a", {"name": "a", "size": "1"})


@pytest.mark.parametrize("text", ["echo {", "echo }", "echo {x", "echo {a{b}}", ""])
def test_stray_braces_and_empty_commands_are_refused(text):
    with pytest.raises(InputError, match="refused"):
        Template(text)


def test_a_shell_wants_one_text():
    with pytest.raises(InputError, match="one text"):
        Template(["echo", "a"], shell=True)


# --- reading ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "reward"),
    [
        ("7\n", 7),
        ("-0.5", -0.5),
        ("+.5", 0.5),
        ("3.", 3),
        ("1.5e-3", 0.0015),
        ("2E+2 done", 200),
        ("pass 1: 0.8\npass 2: 0.9\nbye\n", 0.9),
        ("score=0.93, ok", 0.93),
        ("score:-2.", -2),
        ("(0.25)", 0.25),
        ("95% right", 95),
        ('{"score": 0.4}', 0.4),
        ("name,0.7", 0.7),
        ("0.6 by v2 of gpt-5 in a.5 x_1 /tmp/9", 0.6),
        ("\x1b[1m\x1b[32m0.5\x1b[0m\n", 0.5),
    ],
)
def test_the_reward_is_the_last_number(output, reward):
    assert last_number(output) == reward


@pytest.mark.parametrize("output", ["", "\n", "none", "v2", "infinite", "banana"])
def test_an_output_without_a_number_is_no_reward(output):
    with pytest.raises(NoReward, match="no number"):
        last_number(output)


@pytest.mark.parametrize(
    "text", ["12ms", "1,234", "2024-01-05", "1.2.3", "3/4", "10:30", "0x1F", "1_000", "5e", "1-2"]
)
def test_what_only_starts_like_a_number_is_not_guessed_at(text):
    with pytest.raises(NoReward, match="not a plain number"):
        last_number(f"0.5 {text}")


def test_nan_is_the_last_number_and_left_to_the_study_to_refuse():
    assert str(last_number("step 10: loss nan")) == "nan"
    assert last_number("5 -inf") == -float("inf")


@pytest.mark.parametrize(
    ("output", "field", "reward"),
    [
        ('{"score": 0.4}', "score", 0.4),
        ('{"score": 1}\n{"score": 2}\n', "score", 2),
        ('log 9\n{"a": {"b": [5, {"c": -1e3}]}}\ndone 8\n', "a.b.1.c", -1000),
        ('{\n  "inner":\n  {"score": 1},\n  "score": 3\n}\n{broken', "score", 3),
        ('  {"score": 4, "text": "{\\"score\\": 5}"}', "score", 4),
    ],
)
def test_the_reward_is_a_field_of_the_last_object(output, field, reward):
    assert json_number(output, field) == reward


@pytest.mark.parametrize(
    ("output", "field", "said"),
    [
        ("7", "score", "no JSON object"),
        ('{"scor": 1}', "score", "no field 'score'"),
        ('{"a": 1}', "a.b", "no field 'a.b'"),
        ('{"a": [1]}', "a.x", "no field"),
        ('{"a": [1]}', "a.1", "no field"),
        ('{"a": "1"}', "a", "not a number"),
        ('{"a": true}', "a", "not a number"),
        ('{"a": null}', "a", "not a number"),
    ],
)
def test_a_field_that_is_no_number_is_no_reward(output, field, said):
    with pytest.raises(NoReward, match=said):
        json_number(output, field)


# --- a pull -------------------------------------------------------------------------------------


def pull(command, tmp_path, **more):
    return CommandPull(Template(command, shell=True), {"a": {"name": "a"}}, tmp_path, **more)("a")


def test_a_pull_runs_in_its_folder_and_reads_the_reward(tmp_path):
    (tmp_path / "score").write_text("0.25")
    assert pull("cat score", tmp_path) == 0.25
    assert pull("""echo '{{"x": 2}}'""", tmp_path, json_field="x") == 2


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("echo 1; echo first >&2; echo 'no model' >&2; exit 4", "exit code 4: no model"),
        ("echo 1; exit 5", "exit code 5: 1"),
        ("exit 6", "exit code 6$"),
        (r"printf '\033[31mred\007\033[0m' >&2; exit 7", "exit code 7: red$"),
        ("kill -TERM $$", "ended by SIGTERM"),
        ("no-such-program {name}", "exit code 127: .*no-such-program"),
        ("echo nothing", "no number in the output .*nothing"),
    ],
)
def test_a_pull_that_fails_says_why(command, said, tmp_path):
    with pytest.raises(NoReward, match=said):
        pull(command, tmp_path)


def test_a_pull_that_takes_too_long_fails(tmp_path):
    with pytest.raises(NoReward, match="no end within 1 seconds"):
        pull(f"echo 1; sleep {LONG}", tmp_path, timeout=1)


@pytest.mark.parametrize(
    ("printed", "field"),
    [("inf", None), ("-Infinity", None), ("1e999", None), ('{"x": Infinity}', "x"),
     ('{"x": -1e999}', "x"), ('{"x": ' + "9" * 400 + "}", "x"), ('{"x": ' + "9" * 5000 + "}", "x")],
)  # fmt: skip
def test_an_infinite_reward_ends_the_run_at_once(printed, field, tmp_path):
    """It breaks the assumption: to draw again until a finite one comes would change the mean."""
    (tmp_path / "printed").write_text(printed)
    template = Template("echo x >> ran; cat printed", shell=True)
    pull = CommandPull(template, {"a": {}, "b": {}}, tmp_path, field)
    with pytest.raises(ArmFailedError, match="broke the assumption"):
        identify(["a", "b"], pull, k=1, retries=3)
    assert (tmp_path / "ran").read_text() == "x\n"


def test_a_command_may_keep_all_that_it_printed(tmp_path):
    (tmp_path / "printed").write_text('{"score": 0.5, "cost": 2}')
    template = Template("cat printed", shell=True)
    assert CommandPull(template, {"a": {}}, tmp_path, "score")("a") == 0.5
    kept = CommandPull(template, {"a": {}, "b": {}}, tmp_path, "score", keeps=True)
    assert kept("a") == (0.5, {"score": 0.5, "cost": 2})
    result = identify(["a", "b"], kept, k=1, cost=6)
    assert (result.samples, result.totals) == (3, {"score": 1.5, "cost": 6})
