"""Looks at processes that are not ours to wait for."""

from pathlib import Path


def alive(group: int) -> list[int]:
    """Return who lives in a process group; one that is dead and not waited for does not."""
    out = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        if fields[0] not in "ZX" and int(fields[2]) == group:
            out.append(int(stat.parent.name))
    return out
