"""Keys that stand once: the place, the broker, the store and what the daemon says."""

from hushd.config.language.words import PATH, SECRET, Date
from hushd.config.scalars import Flag, Label, Number, Size, Span, Text, Word
from hushd.config.shape import Many
from hushd.config.table import Either, Key, Table

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("auto", "console", "json", "journal")

_DATES = Many(Date(), "list of dates", example="a list of dates, such as [2026-12-25]")

HOLIDAYS = Table(
    "holidays",
    {
        "country": Key(
            Text("country", "[A-Z]{2}", 'write two capital letters, as in "DE"'),
            "its public holidays, by its two letters (ISO 3166-1); needs the package `holidays`",
            required=True,
        ),
        "region": Key(
            Label(),
            "those of a part of it, too: `BE` is Berlin in `DE`, `9` is Vienna in `AT`",
            otherwise="the whole country",
        ),
        "dates": Key(_DATES, "further ones", otherwise="none"),
    },
    example="{country: DE, region: BE}",
)

SITE = Table(
    "site",
    {
        "name": Key(Text(), "what the place is called in messages", "hushd"),
        "timezone": Key(
            Text("time zone"),
            "the zone of schedules and of stamps without an offset, such as Europe/Berlin",
            otherwise="none",
        ),
        "holidays": Key(
            Either(
                several=_DATES,
                named=HOLIDAYS,
                example="write a list of dates, or {country: DE, region: BE}",
            ),
            "the days that `holidays` means in a schedule",
            otherwise="none",
        ),
    },
)

TLS = Table(
    "tls",
    {
        "ca": Key(
            Text("path"),
            "a file of certificates to trust; relative to the configuration file",
            otherwise="what the system trusts",
        ),
        "cert": Key(
            Text("path"), "our certificate, for brokers that ask for one", otherwise="none"
        ),
        "key": Key(Text("path"), "the key of `cert`", otherwise="in the file of `cert`"),
        "insecure": Key(
            Flag(), "`true` talks to whoever answers: neither name nor certificate counts", "false"
        ),
    },
)

MQTT = Table(
    "mqtt",
    {
        "host": Key(Text("host name"), "the broker's name or address", "localhost"),
        "port": Key(
            Number(1, 65_535, whole=True), "the broker's port", otherwise="1883; 8883 with TLS"
        ),
        "url": Key(
            Text("URL"),
            "host and port in one: `mqtt://broker.lan:1883`, or with TLS `mqtts://broker.lan:8883`",
            otherwise="made of host and port",
        ),
        "client_id": Key(
            Text(pattern=r"[\x21-\x7e]{1,128}", hint="write 1 to 128 characters without blanks"),
            "the name of the session at the broker: unique there, and always the same",
            otherwise="derived from machine id and site name",
        ),
        "username": Key(Text(), "who logs in at the broker", otherwise="nobody"),
        "password": Key(SECRET, "where the password is kept", otherwise="none"),
        "tls": Key(TLS, "encrypt, and whom to trust; `{}` trusts what the system trusts"),
        "keepalive": Key(Span(), "how often an idle connection is probed, 5s to 18h", "30s"),
        "session_expiry": Key(
            Span(zero=True),
            "how long the broker keeps messages for us while we are away; `0s`: not at all",
            "1d",
        ),
        "status_topic": Key(
            Text("topic or `off`"),
            "where `online` or `offline` stands, retained; `off`: nowhere",
            otherwise="`hushd/CLIENT_ID/status`",
        ),
        "ingest": Key(
            Word(("auto", "bulk", "plain")),
            "how messages are received: by the chunk, or one by one by paho; `auto`: by the chunk "
            "where that works",
            "auto",
        ),
    },
    apart=(("url", "host"), ("url", "port")),
)

LOG = Table(
    "log",
    {
        "level": Key(Word(LEVELS), "the least that is worth a line", "info"),
        "format": Key(
            Word(FORMATS),
            "`console` is for people, `json` one object a line, `journal` the fields of systemd's "
            "journal; `auto` goes by where standard error leads",
            "auto",
        ),
    },
)

LIMITS = Table(
    "limits",
    {
        "series": Key(
            Number(1, 1_000_000, whole=True), "series in all; further ones are refused", "10000"
        ),
        "alerts_per_rule": Key(
            Number(1, 1_000_000, whole=True),
            "alerts of one rule; further ones are refused",
            "10000",
        ),
        "payload": Key(Size(16, 16 << 20), "the largest message that is read", "64KiB"),
        "inbox": Key(
            Number(10, 10_000_000, whole=True), "messages that may wait to be read", "10000"
        ),
    },
)

STORE = Table(
    "store",
    {
        "path": Key(PATH, "the file; relative to the state directory", "hushd.db"),
        "commit_interval": Key(
            Span(),
            "how long readings are gathered before they are written and acknowledged, 100ms to 1m; "
            "what changes an alert is written at once",
            "1s",
        ),
        "profile": Key(
            Word(("durable", "alerts-only")),
            "`alerts-only` spares a flash card: readings are not kept, so that windows have "
            "gaps after a restart",
            "durable",
        ),
        "on_error": Key(
            Word(("continue", "hold")),
            "where it cannot be written: go on in memory, or tell and acknowledge nothing until it can be",
            "continue",
        ),
        "required": Key(
            Flag(), "`true`: hushd does not start where the file cannot be written", "false"
        ),
    },
)

PLUGINS = Table(
    "plugins",
    {
        "directory": Key(
            Text("path"),
            "where drop-in plugins are; relative to the configuration file",
            otherwise="none",
        ),
        "disable": Key(
            Many(Text(), "list of names", example="a list of names, such as [rank]"),
            "plugins to leave out, by the name of their entry point or file",
            otherwise="none",
        ),
    },
)
