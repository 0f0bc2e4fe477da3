"""Programs: real ones, that obey, fail, hang, leave children behind and talk too much."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest
from processes import alive

from hushd.plugin import Context, Note, NotSentError, RefusedError
from hushd_notify.children import TAIL, run
from hushd_notify.command import COMMAND

NOTE = Note("raised", "Küche: \x00laut", "text", "warning", "k1", {"labels": {"room": "--help"}})
SECOND = 10**9


@pytest.fixture
def program(tmp_path) -> Callable[[str], str]:
    """Return a function that writes a Python program and returns its path."""

    def write(text: str) -> str:
        path = tmp_path / "program"
        path.write_text(f"#!{sys.executable} -I\nimport json, os, signal, sys, time\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


def options(*argv: str, **given: object) -> dict[str, object]:
    defaults = {option.name: option.default for option in COMMAND.options}
    return defaults | {"command": argv, "timeout": 10 * SECOND} | given


def send(*argv: str, **given: object) -> None:
    notifier = COMMAND.open(options(*argv, **given), Context("bell", "Hotel\nAdler", print))
    notifier.send(NOTE)
    notifier.close()


def ended(pids: Path) -> None:
    """Wait until nobody is left of the group, as the kernel takes a moment for it."""
    leader = int(pids.read_text().split()[0])
    until = monotonic() + 5
    while alive(leader):
        assert monotonic() < until
        sleep(0.01)


def test_a_program_gets_the_note_and_little_else(program, tmp_path, monkeypatch):
    for name in ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "MQTT_PASSWORD"):
        monkeypatch.setenv(name, "not for you")
    out = tmp_path / "out.json"
    path = program(
        "given = json.load(sys.stdin)\n"
        "told = [sys.argv[1:], given, dict(os.environ), os.getcwd(), os.getpgid(0) == os.getpid()]\n"
        "json.dump(told, open(sys.argv[2], 'w'))"
    )
    send(path, "$HOME; {title} *", str(out), environment={"DOOR": "front"})
    argv, given, environment, folder, leads = json.loads(out.read_text())
    assert argv == ["$HOME; {title} *", str(out)]  # no shell, and nothing is filled in
    assert given["key"] == "k1"
    assert given["title"] == NOTE.title
    assert given["alert"] == NOTE.record
    assert {k: v for k, v in environment.items() if k.startswith(("HUSHD_", "DOOR"))} == {
        "DOOR": "front",
        "HUSHD_KIND": "raised",
        "HUSHD_SEVERITY": "warning",
        "HUSHD_TITLE": "Küche: laut",
        "HUSHD_KEY": "k1",
        "HUSHD_SITE": "Hotel Adler",
        "HUSHD_NOTIFIER": "bell",
    }
    assert "not for you" not in str(environment)
    assert folder == "/"
    assert leads


def test_what_it_does_not_read_is_no_harm(program):
    notifier = COMMAND.open(options(program("pass")), Context("bell", "", print))
    notifier.send(NOTE._replace(text="x" * 1_000_000))


def test_a_failure_is_told_by_its_last_words(program):
    with pytest.raises(NotSentError, match=r"^exit code 3: no bell at door 7$"):
        send(
            program(
                "print('trying', flush=True); print('no bell\\tat door 7\\n', file=sys.stderr); sys.exit(3)"
            )
        )
    with pytest.raises(NotSentError, match=r"^exit code 4$"):
        send(program("sys.exit(4)"))
    with pytest.raises(OSError, match=r"^ended by SIGKILL$") as caught:
        send(program("os.kill(os.getpid(), signal.SIGKILL)"))
    assert not isinstance(caught.value, NotSentError)  # it may have rung before


def test_what_cannot_be_started_rang_no_bell(tmp_path):
    path = tmp_path / "program"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o755)
    with pytest.raises(NotSentError, match="cannot be started: No such file or directory"):
        send(str(path))


def test_its_output_is_bounded(program):
    path = program(
        "for _ in range(100): sys.stdout.write('x' * 100_000)\nprint('\\nend'); sys.exit(1)"
    )
    ended = run([path], b"", 20, {})
    assert len(ended.output) == TAIL
    assert ended.output.endswith(b"end\n")


HANGING = """
child = os.fork()
if not child:
    time.sleep(600)
open(sys.argv[1], 'w').write(f'{os.getpid()} {child}')
print('ready', flush=True)
"""


@pytest.mark.parametrize("stubborn", [False, True])
def test_one_that_hangs_is_ended_with_its_children(program, tmp_path, stubborn):
    pids = tmp_path / "pids"
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" if stubborn else ""
    began = monotonic()
    with pytest.raises(TimeoutError, match="not done after 1 s, and ended"):
        send(program(f"{ignore}{HANGING}time.sleep(600)"), str(pids), timeout=SECOND)
    assert monotonic() - began < (4 if stubborn else 2)
    ended(pids)


def test_what_it_leaves_behind_is_ended_and_not_waited_for(program, tmp_path):
    pids = tmp_path / "pids"
    began = monotonic()
    send(program(HANGING), str(pids))  # the child still holds the other end of the output
    assert monotonic() - began < 5
    ended(pids)


def test_who_leaves_the_group_and_talks_on_is_not_waited_for(program, tmp_path):
    pids = tmp_path / "pids"
    talker = HANGING.replace("time.sleep(600)", "os.setsid()\n    while True: print('x' * 1000)")
    began = monotonic()
    try:
        send(program(f"{talker}time.sleep(0.2)"), str(pids))
        assert monotonic() - began < 5
    finally:
        talking = int(pids.read_text().split()[1])  # it leads a group of its own by now
        assert alive(talking) == [talking]
        os.kill(talking, signal.SIGKILL)


def test_no_process_is_left_to_be_waited_for(program):
    before = {path.name for path in Path("/proc/self/task").iterdir()}
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        send(program("pass"))
    assert {path.name for path in Path("/proc/self/task").iterdir()} == before
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


def test_a_program_that_is_not_one_is_refused(program, tmp_path):
    path = Path(program("pass"))
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: path.chmod(0o775), "writable by others"),
        (lambda: path.chmod(0o644), "not a program that may be started"),
        (lambda: (path.chmod(0o755), tmp_path.chmod(0o777)), "writable by others"),
        (lambda: (tmp_path.chmod(0o700), path.unlink()), "there is no program"),
    ]
    for change, said in cases:
        change()
        assert COMMAND.check is not None
        assert [said in fault.message for fault in COMMAND.check(options(str(path)))] == [True]
        with pytest.raises(RefusedError, match=said):
            send(str(path))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_stranger_s_program_is_refused(program):
    path = program("pass")
    os.chown(path, 12345, -1)
    with pytest.raises(RefusedError, match="belongs to user 12345"):
        send(path)


@pytest.mark.parametrize(
    ("argv", "given", "said"),
    [
        ((), {}, "the list is empty"),
        (("bell",), {}, '"bell" is not an absolute path'),
        (("/bin/sh", "a\0b"), {}, "an argument cannot hold the character U+0000"),
        (("/bin/sh",), {"environment": {"HUSHD_KEY": "x"}}, "HUSHD_KEY is not yours to set"),
        (("/bin/sh",), {"environment": {"A=B": "x"}}, 'cannot set a variable "A=B" to this'),
    ],
)
def test_mistakes_are_found_when_the_configuration_is_read(argv, given, said):
    assert COMMAND.check is not None
    assert [fault.message for fault in COMMAND.check(options(*argv, **given))] == [said]
    assert list(COMMAND.check(options("/bin/sh"))) == []
    assert COMMAND.executes
