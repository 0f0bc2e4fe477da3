"""The stories of failures and ends, with the store that keeps what is told in a file."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outbox_stories import ATTEMPTS, fuses, happenings, judge, stories, tell

from hushd.config.records import Store as Settings
from hushd.core.rules import Rules
from hushd.runtime.ledger import Ledger
from hushd.runtime.logs import Quiet
from hushd.runtime.store import Store

pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"  # so processes end here
)


def in_file(folder: str) -> Callable[[], Store]:
    def reopened() -> Ledger:
        ledger = Ledger(Path(folder) / "hushd.db", Settings(), Quiet())
        ledger.recover(Rules((), ()), {})
        return ledger

    return reopened


@settings(max_examples=25, deadline=None)
@given(stories, st.lists(st.sampled_from(list(ATTEMPTS)), max_size=12), fuses, st.booleans())
def test_all_that_holds_for_the_store_in_a_file_too(story, attempts, ends, every):
    happened = happenings(story)
    with TemporaryDirectory() as folder:
        ear, posted, left = tell(happened, attempts, ends, in_file(folder), every=every)
        judge(happened, ear, posted, left, every=every, ordered=False)
        left.close()
