"""Lists, and mappings whose keys are the user's."""

from collections.abc import Iterator
from typing import Any

from hushd.config.document import Node, scalar
from hushd.config.problems import Report, shorten
from hushd.config.scalars import BAD, Json, Scalar, Shape, Word, some


class Many(Shape):
    """A list; read as a tuple of (place, value)."""

    def __init__(self, shape: Shape, words: str, least: int = 0, example: str = "") -> None:
        self.shape = shape
        self.words = words
        self.least = least
        self.example = example

    def read(self, node: Node, report: Report) -> Any:
        hint = some(self.example and f"write {self.example}")
        if node.kind != "list":
            what = "a mapping" if node.kind == "map" else f'"{shorten(node.raw)}"'
            report.error(
                node.mark,
                "the value is missing"
                if node.kind == "nothing"
                else f"expected a list, not {what}",
                *hint,
            )
            return BAD
        if len(node.items) < self.least:
            report.error(node.mark, "the list is too short", *hint)
            return BAD
        values = tuple((item.mark, self.shape.read(item, report)) for item in node.items)
        return BAD if any(value is BAD for _, value in values) else values

    def schema(self) -> Json:
        out: Json = {"type": "array", "items": self.shape.schema()}
        if self.least:
            out["minItems"] = self.least
        return out

    def parts(self) -> Iterator[Any]:
        return self.shape.parts()


class Pair(Shape):
    """Two numbers, the lower one first."""

    words = "`[low, high]`"

    def __init__(self, shape: Scalar) -> None:
        self.shape = shape

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "list" or len(node.items) != 2:
            report.error(node.mark, "expected two numbers", "write [low, high], such as [20, 130]")
            return BAD
        low, high = (self.shape.read(item, report) for item in node.items)
        if low is BAD or high is BAD:
            return BAD
        if low > high:
            report.error(node.mark, "the first number is greater than the second", "swap them")
            return BAD
        return low, high

    def schema(self) -> Json:
        items = self.shape.schema()
        return {"type": "array", "items": items, "minItems": 2, "maxItems": 2}


class Entries(Shape):
    """A mapping whose keys are the user's; read as ``{name: (place, value)}``."""

    def __init__(
        self,
        key: Scalar,
        shape: Shape,
        words: str,
        least: int = 0,
        example: str = "",
        most: int | None = None,
    ) -> None:
        self.key = key
        self.shape = shape
        self.words = words
        self.least = least
        self.example = example
        self.most = most

    def read(self, node: Node, report: Report) -> Any:
        if node.kind != "map":
            what = "a list" if node.kind == "list" else f'"{shorten(node.raw)}"'
            report.error(
                node.mark,
                "nothing stands under this key"
                if node.kind == "nothing"
                else f"expected a mapping, not {what}",
                *some(self.example and f"write {self.example}"),
            )
            return BAD
        if len(node.entries) < self.least or (self.most and len(node.entries) > self.most):
            count = len(node.entries)
            message = f"expected {_count(self.most)}, not {count or 'none'}"
            report.error(node.mark, message, *some(self.example and f"write {self.example}"))
            return BAD
        out = {}
        for name, entry in node.entries.items():
            try:
                self.key.take(scalar(name, entry.key, plain=False))
            except ValueError as exc:
                what = "unknown key" if isinstance(self.key, Word) else "cannot use as a name:"
                report.error(entry.key, f'{what} "{shorten(name)}"', str(exc))
                continue
            out[name] = (entry.key, self.shape.read(entry.node, report))
        return out

    def schema(self) -> Json:
        out: Json = {
            "type": "object",
            "propertyNames": self.key.schema(),
            "additionalProperties": self.shape.schema(),
        }
        if self.least:
            out["minProperties"] = self.least
        if self.most:
            out["maxProperties"] = self.most
        return out

    def parts(self) -> Iterator[Any]:
        return self.shape.parts()


def _count(most: int | None) -> str:
    return "one entry" if most == 1 else "at least one entry"
