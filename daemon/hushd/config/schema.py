"""What else is made from the description of the language: a JSON Schema and tables of keys."""

from collections.abc import Iterator, Mapping

from hushd.config.language import language
from hushd.config.language.notifiers import option_key
from hushd.config.scalars import DURATIONS, Json
from hushd.config.table import Key, Table
from hushd.plugin.catalog import Catalog
from hushd.plugin.records import NotifierType


def json_schema(catalog: Catalog | None = None) -> Json:
    """Return the JSON Schema (draft 2020-12) of the main file, for editors.

    It knows the shape of every key; what one key demands of another is found by reading.

    Args:
        catalog: With it, measures and notifiers are those installed; else any name fits.
    """
    main, _ = language(catalog or Catalog())
    defs = {part.name.replace(" ", "_"): part.definition() for part in main.parts()}
    top = defs.pop("main_file")
    if catalog is not None:
        for name in ("rule", "condition", "relative_to"):
            defs[name]["properties"]["measure"] = _measures(catalog)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration of hushd, version 1",
        **top,
        "$defs": {**DURATIONS, **dict(sorted(defs.items()))},
    }


def _measures(catalog: Catalog) -> Json:
    """Return the schema of a measure that is installed."""
    plain = [
        {"const": name, "description": aggregator.summary}
        for name, aggregator in sorted(catalog.aggregators.items())
        if aggregator.parameter is None
    ]
    with_number = []
    for name, aggregator in sorted(catalog.aggregators.items()):
        parameter = aggregator.parameter
        if parameter is not None:
            number: Json = {"type": "number", "description": aggregator.summary}
            if parameter.low is not None:
                number["minimum"] = parameter.low
            if parameter.high is not None:
                number["maximum"] = parameter.high
            with_number.append(
                {
                    "type": "object",
                    "properties": {name: number},
                    "required": [name],
                    "additionalProperties": False,
                }
            )
    return {"description": "what is computed from the window", "anyOf": [*plain, *with_number]}


def key_tables() -> str:
    """Return the tables of keys as Markdown, as docs/configuration.md shows them."""
    main, part = language(Catalog())
    seen: dict[str, Table] = {}
    for table in main.parts():
        seen.setdefault(table.name, table)
    return "\n".join(line for table in seen.values() for line in _table(table)) + (
        f"\nA {part.name} may hold: {', '.join(f'`{key}`' for key in part.keys)}.\n"
    )


def option_table(record: NotifierType) -> str:
    """Return the options of a notifier as Markdown, as docs/notifiers.md shows them."""
    keys = {option.name: option_key(option) for option in record.options}
    rows = "\n".join(_rows(keys)) if keys else "It has no options."
    return rows.replace("](#", "](configuration.md#")


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.name[0].upper()}{table.name[1:]}"
    yield ""
    if table.one_of:
        yield f"Exactly one of {', '.join(f'`{key}`' for key in table.one_of)}."
        yield ""
    if table.some_of:
        yield f"At least one of {', '.join(f'`{key}`' for key in table.some_of)}."
        yield ""
    for name, others in table.needs.items():
        yield f"`{name}` needs {' or '.join(f'`{other}`' for other in others)}."
        yield ""
    yield from _rows(table.keys)
    yield ""


def _rows(keys: Mapping[str, Key]) -> Iterator[str]:
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for name, key in keys.items():
        default = "required" if key.required else key.otherwise
        if key.default is not None:
            default = f"`{key.default}`"
        words = key.shape.words.replace("|", "\\|")
        yield f"| `{name}` | {words} | {default} | {key.doc} |"
