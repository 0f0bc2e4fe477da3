"""How many messages in how long: a token bucket, with one token kept for what is critical."""

from hushd.core.rules import Rate


class Bucket:
    """Lets *rate* pass, at once if it was quiet before; None lets everything pass.

    Written with the time at which the bucket will be full again instead of a count of tokens
    (the generic cell rate algorithm), so that it is exact.

    >>> bucket = Bucket(Rate(2, 100))
    >>> bucket.take(0), bucket.take(0), bucket.ready(0), bucket.ready(0, critical=True)
    (None, None, 50, 0)
    """

    def __init__(self, rate: Rate | None) -> None:
        """Start full."""
        self._rate = rate
        self._full = 0
        self._reserve = 0

    def ready(self, now: int, *, critical: bool = False) -> int:
        """Return when a message may go: *now* or later."""
        if self._rate is None:
            return now
        ready = self._full + self._rate.span // self._rate.number - self._rate.span
        if critical:
            ready = min(ready, self._reserve)
        return max(now, ready)

    def take(self, now: int, *, critical: bool = False) -> None:
        """Take note that a message went."""
        if self._rate is None:
            return
        if critical and self.ready(now) > now:
            self._reserve = now + self._rate.span
        else:
            self._full = max(self._full, now) + self._rate.span // self._rate.number
