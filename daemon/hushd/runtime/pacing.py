"""When a message may go: after it has waited for others, and not more than so many in so long."""

from hushd.core.rules import Manner
from hushd.runtime.buckets import Bucket
from hushd.runtime.deeds import Errand


class Pace:
    """How fast one notifier is told.

    Attributes:
        hurry: The end is near: nothing waits for more to come.
        blocked: Until when all has to wait; None: nothing has to.
        throttled: There was more to tell than the rate allows.
    """

    def __init__(self, manner: Manner) -> None:
        """Start with nothing told."""
        self.hurry = False
        self.blocked: int | None = None
        self.throttled = False
        self._manner = manner
        self._bucket = Bucket(manner.rate)
        self._since: int | None = None  # when the first of a batch came

    def follow(self, manner: Manner) -> None:
        """Go by another manner; what was told counts still, unless the rate is another."""
        if manner.rate != self._manner.rate:
            self._bucket = Bucket(manner.rate)
        self._manner = manner
        self.blocked = None

    @property
    def joins(self) -> bool:
        """Say whether one message may tell of several alerts: a machine takes each by itself."""
        return not self._manner.refresh

    @property
    def merges(self) -> bool:
        """Say whether one message is to tell all there is."""
        return self.joins and (bool(self._manner.batch) or self.throttled)

    def rest(self) -> None:
        """Take note that there is nothing to tell."""
        self._since, self.throttled = None, False

    def gathers(self, now: int) -> bool:
        """Say whether a message waits for more to go into it."""
        if not (self.joins and self._manner.batch):
            return False
        self._since = now if self._since is None else self._since
        ends = self._since + self._manner.batch
        if self.hurry or ends <= now:
            return False
        self.blocked = ends
        return True

    def allows(self, errand: Errand, now: int) -> bool:
        """Say whether the rate allows a message now."""
        ready = self._bucket.ready(now, critical=errand.critical)
        if ready <= now:
            return True
        self.blocked = ready if self.blocked is None else min(ready, self.blocked)
        return False

    def told(self, errand: Errand, now: int) -> None:
        """Take note that a message went; what only reminds a machine counts for nothing."""
        if errand.first.counts:
            self._bucket.take(now, critical=errand.critical)
            self._since = None
