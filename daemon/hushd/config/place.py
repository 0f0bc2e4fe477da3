"""The place and the broker: what stands once in a configuration."""

from collections.abc import Callable, Iterable
from datetime import tzinfo

from hushd.config.problems import Mark, Report, shorten, suggest
from hushd.config.records import Mqtt, Site, Tls
from hushd.config.secret import Keeper, Secret
from hushd.config.table import Section
from hushd.core.times import UNITS, format_duration


class Place:
    """Checks the sections ``site`` and ``mqtt``; opens time zones and secrets for the others."""

    def __init__(self, main: Section, report: Report, keeper: Keeper) -> None:
        self.main = main
        self.report = report
        self.keeper = keeper
        self.zone: tzinfo | None = None

    def site(self) -> Site:
        section: Section | None = self.main["site"]
        if section is None:
            return Site()
        if section["timezone"]:
            self.zone = self.open_zone(section["timezone"], section.place("timezone"))
        return Site(section["name"] or "hushd", section["timezone"] or "", self.zone)

    def open_zone(self, name: str, mark: Mark) -> tzinfo | None:
        """Return the time zone of that name."""
        from zoneinfo import ZoneInfo, available_timezones  # noqa: PLC0415  it reads files

        try:
            return ZoneInfo(name)
        except (OSError, ValueError, KeyError):
            zones = available_timezones()
            hints = suggest_zone(name, zones)
            if not zones:
                hints = ("this machine has no time zone database; install tzdata",)
            self.report.error(mark, f'unknown time zone "{shorten(name)}"', *hints)
            return None

    def mqtt(self) -> Mqtt:
        section: Section | None = self.main["mqtt"]
        if section is None:
            return Mqtt()
        host, port, username = section["host"], section["port"], section["username"]
        password = self.secret(section["password"])
        tls = self.tls(section["tls"])
        if section["url"]:
            host, port, encrypted = self.broker(section["url"], section.place("url"))
            if encrypted:
                tls = tls or Tls()
            elif tls is not None:
                self.report.error(
                    section.place("url"), "tls with a URL without it", "write mqtts://HOST"
                )
        elif host and (why := _bad_host(host)):
            named = "this" if "@" in host else f'"{shorten(host)}"'  # a password may be in it
            self.report.error(section.place("host"), f"cannot use {named} as a host", why)
        if password is not None and username is None and section.ok("username"):
            self.report.error(
                section.place("password"),
                "a password without a username",
                "add username: who logs in",
            )
        keepalive = section["keepalive"]
        if keepalive and not 5_000 <= keepalive // 10**6 <= 65_535_000:
            self.report.error(
                section.place("keepalive"),
                f'cannot use "{format_duration(keepalive)}" as keepalive',
                "write a duration from 5s to 18h",
            )
        expiry = section["session_expiry"]
        return Mqtt(
            host or "localhost",
            port or (1883 if tls is None else 8883),
            section["client_id"],
            username,
            password,
            keepalive or 30 * UNITS["s"],
            tls,
            Mqtt().session_expiry if expiry is None else expiry,
            section["ingest"] or "auto",
            self.status_topic(section),
        )

    def tls(self, section: Section | None) -> Tls | None:
        """Return whom to trust."""
        if section is None:
            return None
        paths = {
            key: self.keeper.path(section[key], section.place(key))
            for key in ("ca", "cert", "key")
            if section[key]
        }
        if "key" in paths and "cert" not in paths and section.ok("cert"):
            self.report.error(section.place("key"), "a key without a certificate", "add cert: PATH")
        if section["insecure"]:
            self.report.warn(
                section.place("insecure"),
                "whoever answers is taken for the broker, and may read the password",
                "name the broker's certificate authority: ca: PATH",
            )
        return Tls(**paths, insecure=bool(section["insecure"]))

    def status_topic(self, section: Section) -> str | None:
        """Return the topic; the empty text if there is to be none."""
        topic: str | None = section["status_topic"]
        if topic is None:
            return None
        if topic == "off":
            return ""
        if any(c in "+#" or not c.isprintable() for c in topic) or len(topic.encode()) > 1000:
            self.report.error(
                section.place("status_topic"),
                f'cannot publish to "{shorten(topic)}"',
                'write a topic without wildcards, as in "hushd/adler/status", or off',
            )
        return topic

    def broker(self, url: str, mark: Mark) -> tuple[str, int, bool]:
        """Return host and port of a URL, and whether it asks for TLS."""
        hint = "write mqtt://HOST, or mqtts://HOST with TLS, perhaps with :PORT"
        nothing = "localhost", 1883, False
        scheme, found, rest = url.partition("://")
        if found and scheme in {"ws", "wss"}:
            self.report.error(mark, f'this version does not know "{scheme}://" yet', hint)
            return nothing
        encrypted = scheme in {"mqtts", "ssl"}
        if not found or not (encrypted or scheme in {"mqtt", "tcp"}):
            self.report.error(mark, f'cannot read "{shorten(_safe(url))}"', hint)
            return nothing
        if "@" in rest:
            self.report.error(
                mark,
                "a user name or password does not belong into a URL",
                "write username: and password: {credential: NAME} beside it",
            )
            return nothing
        expanded = self.keeper.expand(rest, mark)
        if expanded.missing:
            return nothing
        authority = expanded.reveal().rstrip("/")
        host, colon, digits = authority.rpartition(":")
        if not colon or authority.endswith("]"):
            host, digits = authority, "8883" if encrypted else "1883"
        host = host.removeprefix("[").removesuffix("]")
        if not (digits.isascii() and digits.isdigit() and 1 <= int(digits[:6]) <= 65_535):
            self.report.error(mark, "cannot read the port", hint)
            return nothing
        if why := _bad_host(host):
            self.report.error(mark, f'cannot use "{shorten(host)}" as a host', why)
        return host, int(digits), encrypted

    def secret(self, section: Section | None) -> Secret | None:
        """Return the secret that a section names."""
        if section is None:
            return None
        look: dict[str, Callable[[str, Mark], Secret]] = {
            "credential": self.keeper.credential,
            "file": self.keeper.file,
            "env": self.keeper.variable,
        }
        for key, find in look.items():
            if section[key]:
                return find(section[key], section.place(key))
        return None


def _bad_host(host: str) -> str:
    """Return why no connection to *host* can be tried; such names end paho's thread."""
    if ":" in host:  # IPv6
        fine = all(c in "0123456789abcdefABCDEF:.%" or c.isalnum() for c in host)
        return "" if fine else "write a host name or an address"
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or any(not 1 <= len(label.encode()) <= 63 for label in labels):
        return "write a host name, such as broker.lan: 1 to 63 letters between dots"
    if any(c.isspace() or c in "/@?#[]\\" or not c.isprintable() for c in host):
        return "write a host name or an address, and nothing else"
    return ""


def _safe(url: str) -> str:
    """Return *url* without what may be a password."""
    return url.rpartition("@")[2]


def suggest_zone(name: str, zones: Iterable[str]) -> tuple[str, ...]:
    """Return a hint for an unknown time zone: the list of all is too long to show."""
    hints = suggest(name, zones)
    if hints and hints[0].startswith("did"):
        return hints
    city = [zone for zone in zones if zone.lower().endswith(f"/{name.lower()}")]
    return (f'did you mean "{min(city)}"?',) if city else ('write one such as "Europe/Berlin"',)
