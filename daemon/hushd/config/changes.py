"""Changes to a configuration before it is read: what if this rule said something else?

A change is made in the tree of the file, so that what comes of it is checked as all else
is, and what is wrong with it is told under its own name.
"""

from collections.abc import Iterable, Sequence

from hushd.config.document import Entry, Node, parse
from hushd.config.problems import Mark, Report, Source, shorten, suggest

EXAMPLE = "write RULE.KEY=VALUE, as in night-noise.warning.above=42"


def change(roots: Sequence[Node], changes: Iterable[str], option: str, report: Report) -> None:
    """Make all *changes* in the files that *roots* are; *option* is what brought them."""
    for text in changes:
        path, sign, value = text.partition("=")
        rule, *keys = (part.strip() for part in path.split("."))
        source = Source(f"{option} {shorten(text, 100)}")
        whole = Mark(source, 0, 0)
        if not (sign and rule and keys and all(keys)):
            report.error(whole, "that is no change", EXAMPLE)
            continue
        found = [node for root in roots if (node := _rule(root, rule)) is not None]
        if not found:
            known = [name for root in roots for name in _rules(root)]
            report.error(whole, f'there is no rule "{rule}"', *suggest(rule, known))
            continue
        wrapped = parse(source.name, f"{keys[-1]}: {value.strip()}", report)
        if wrapped is not None and keys[-1] in wrapped.entries:
            _put(found[0], keys, wrapped.entries[keys[-1]], whole, report)


def _put(node: Node, keys: Sequence[str], entry: Entry, whole: Mark, report: Report) -> None:
    """Put *entry* where *keys* lead; mappings on the way are made, lists must be there."""
    done = []
    for key in keys[:-1]:
        done.append(key)
        if node.kind == "list" and _index(node, key) is not None:
            node = node.items[int(key)]
        elif node.kind == "map":
            if key not in node.entries:
                node.entries[key] = Entry(entry.key, Node("map", entry.node.mark))
            node = node.entries[key].node
        else:
            report.error(whole, f'"{".".join(done)}" leads nowhere', *_way(node))
            return
    if node.kind == "map":
        node.entries[keys[-1]] = entry
    elif node.kind == "list" and _index(node, keys[-1]) is not None:
        node.items[int(keys[-1])] = entry.node
    else:
        report.error(whole, f'"{".".join(keys)}" leads nowhere', *_way(node))


def _way(node: Node) -> tuple[str, ...]:
    if node.kind != "list":
        return ("what stands there has no keys",)
    return (f"it is a list: write a number from 0 to {len(node.items) - 1}",)


def _index(node: Node, key: str) -> int | None:
    return int(key) if key.isascii() and key.isdigit() and int(key) < len(node.items) else None


def _rules(root: Node) -> dict[str, Entry]:
    section = root.entries.get("rules")
    return {} if section is None else section.node.entries


def _rule(root: Node, name: str) -> Node | None:
    entry = _rules(root).get(name)
    return None if entry is None else entry.node
