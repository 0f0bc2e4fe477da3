"""Topic filters with named levels: ``hotel/{floor}/{room}/noise``."""

from dataclasses import dataclass

from hushd.core.readings import Labels

_SHARED = (
    "write the topic without $share: each member of a shared subscription sees only every "
    "n-th message, so windows and alerts would be wrong; split the work by a topic level"
)
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_LABEL_CHARACTERS = _LETTERS | frozenset("0123456789_")


@dataclass(frozen=True, slots=True)
class TopicTemplate:
    """A topic filter whose ``{name}`` levels become labels; ``{name*}`` at the end is ``#``."""

    text: str
    filter: str  # for the broker: "hotel/+/+/noise"
    labels: tuple[str, ...]  # in the order of the topic
    _fixed: tuple[tuple[int, str], ...]  # (position, what must stand there)
    _named: tuple[tuple[str, int], ...]  # (label, position), sorted; the rest's is negative
    _levels: int  # before the rest, if there is one
    _rest: bool

    @classmethod
    def parse(cls, text: str) -> "TopicTemplate":
        """Return the template that *text* describes.

        A plain ``+`` or ``#`` is allowed too: what stands there is no label.

        >>> TopicTemplate.parse("hotel/{floor}/{room}/noise").filter
        'hotel/+/+/noise'

        Raises:
            ValueError: not a topic filter, or a level that mixes text and ``{name}``.
        """
        if not text:
            raise ValueError('write a topic, such as "home/{room}/noise"')
        if text.startswith("$share/"):
            raise ValueError(_SHARED)
        if any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
            raise ValueError("write the topic without control characters")
        if len(text.encode(errors="replace")) > 65_535:
            raise ValueError("write a topic of at most 65535 bytes")
        levels = text.split("/")
        out: list[str] = []
        fixed: list[tuple[int, str]] = []
        named: list[tuple[str, int]] = []
        rest = False
        for i, level in enumerate(levels):
            last = i == len(levels) - 1
            if level == "#" or (level.startswith("{") and level.endswith("*}")):
                if not last:
                    raise ValueError(f'put "{level}" at the end: it stands for all that follows')
                rest = True
                out.append("#")
                if level != "#":
                    named.append((_label(level[1:-2]), -1))
            elif level == "+":
                out.append("+")
            elif level.startswith("{") and level.endswith("}"):
                out.append("+")
                named.append((_label(level[1:-1]), i))
            elif any(character in level for character in "+#{}"):
                raise ValueError(
                    f'a label or wildcard takes a whole level: "a/{{room}}/b", not "a/{level}/b"'
                )
            else:
                out.append(level)
                fixed.append((i, level))
        labels = tuple(name for name, _ in named)
        for name in labels:
            if labels.count(name) > 1:
                raise ValueError(f'use the label "{name}" only once')
        return cls(
            text,
            "/".join(out),
            labels,
            tuple(fixed),
            tuple(sorted(named)),
            len(levels) - rest,
            rest,
        )

    def match(self, topic: str) -> Labels | None:
        """Return the labels of *topic*, or None when the filter does not cover it.

        As in MQTT 4.7: ``a/#`` covers ``a`` too (its rest is then empty), and a wildcard
        at the first level does not cover topics that start with ``$``.
        """
        levels = topic.split("/")
        n = self._levels
        if len(levels) != n and not (self._rest and len(levels) > n):
            return None
        if any(levels[i] != level for i, level in self._fixed):
            return None
        if topic.startswith("$") and self.filter[0] in "+#":
            return None
        return tuple(
            (name, levels[i] if i >= 0 else "/".join(levels[n:])) for name, i in self._named
        )


def _label(name: str) -> str:
    """Return *name* if a label may be called so."""
    if is_label(name):
        return name
    raise ValueError(
        f'call the label "{{{name}}}" by small letters, digits and "_", as in "{{room}}"'
    )


def is_label(name: str) -> bool:
    """Say whether a label may be called *name*."""
    return name[:1] in _LETTERS and name != "" and _LABEL_CHARACTERS.issuperset(name)
