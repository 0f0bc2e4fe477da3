"""What an editor sees of a configuration."""

from typing import Any

from hushd.config.document import Node


def plain(node: Node) -> Any:
    """Return what a document says as an editor's YAML 1.2 parser would."""
    if node.kind == "map":
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    return [plain(item) for item in node.items] if node.kind == "list" else node.value
