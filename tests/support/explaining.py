"""Rules, and what is said of them in plain words."""

from hushd.cli.sentences import Writer
from hushd.cli.spells import Almanac
from hushd.config import Config, read_text
from hushd.core.times import parse_stamp
from hushd.plugin.loading import load

NOON = "2026-12-23T12:00:00+01:00"  # a Wednesday

CONFIG = """\
version: 1
site: {timezone: Europe/Berlin, holidays: [2026-12-25]}
sensors:
  noise: {topic: "hotel/{floor}/{room}/noise", unit: dBA, interval: 1m}
  street: {topic: "street/{room}/noise", unit: dBA, interval: 1m}
  heat: {topic: "heat/{area}"}
  door: {topic: door}
schedules:
  night: {from: 22:00, to: 06:00}
  evening: {from: 19:00, to: 22:00}
  rest-day: {days: "sun, holidays"}
  office:
    - {days: "mon-fri, not holidays", from: 08:00, to: 17:00}
    - {days: sat, from: 08:00, to: 12:00}
notifiers:
  desk: {type: log}
  phone: {type: log}
  lamp: {type: log}
defaults: {notify: [desk], no_data: ignore}
rules:
"""
SILENT = "Silence of the sensor means nothing."


def configured(rules: str, before: str = CONFIG) -> Config:
    return read_text("hushd.yaml", before + rules, load())


def explained(config: Config, name: str, at: str = NOON) -> list[str]:
    writer = Writer(config, Almanac(config.rules, parse_stamp(at)))
    rules = [*config.rules.rules, *config.resting]
    (rule,) = [rule for rule in rules if rule.name == name]
    return [f"- {text}" if item else text for text, item in writer.rule(rule)]


def said(body: str) -> list[str]:
    """Return the paragraphs of a rule whose keys are *body*."""
    rule = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return explained(configured(f"  it:\n{rule}"), "it")


#: keys of a rule
HEAT = "watch: heat\nmeasure: mean\nover: 5m\n"
NOISE = "watch: noise\neach: [room]\nwarning: {above: 40}\n"
BASE = f"{NOISE}measure: leq\nover: 15m\n"
#: how the limit of NOISE is said
QUIET = "warning raised above 40 dBA, cleared at 40 or less."
