"""A note as a line of the daemon's log."""

from hushd.plugin import Context, Note
from hushd_notify.log import LOG


def test_a_note_is_one_line():
    lines = []
    notifier = LOG.open({}, Context("terminal", "here", lambda *a, **k: lines.append((a, k))))
    record = {"rule": "too-loud", "labels": {"room": "1"}, "value": 72.3}
    notifier.send(Note("raised", "Room 1 is loud", "text", "warning", "k", record))
    notifier.close()
    assert lines == [
        (
            ("alert.raised",),
            {
                "notifier": "terminal",
                "title": "Room 1 is loud",
                "severity": "warning",
                "key": "k",
                **record,
            },
        )
    ]
