"""The configuration: YAML text in, checked records out, every problem with its place.

:func:`read` is the door; :class:`ConfigError` holds all that is wrong.
"""

from hushd.config.problems import ConfigError, Problem, render
from hushd.config.reading import read, read_text
from hushd.config.records import (
    Config,
    Internal,
    Limits,
    Logging,
    Message,
    Mqtt,
    NotifierConfig,
    SensorConfig,
    Site,
    Tls,
)
from hushd.config.secret import Secret

__all__ = [
    "Config",
    "ConfigError",
    "Internal",
    "Limits",
    "Logging",
    "Message",
    "Mqtt",
    "NotifierConfig",
    "Problem",
    "Secret",
    "SensorConfig",
    "Site",
    "Tls",
    "read",
    "read_text",
    "render",
]
