"""From files to records: what is where, secrets, rules.d, plugins."""

import os
import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushd.config import ConfigError, Secret, Tls, read, read_text
from hushd.core.aggregation import Aggregation, Aggregator
from hushd.core.rules import Limit, Measure, NoData, Over, Sensor
from hushd.plugin import Catalog, Decoder, Fault, NotifierType, Option, Sample, Wanted
from hushd.plugin.catalog import Broken

MINUTE = 60 * 10**9
HEAD = """\
version: 1
sensors:
  noise: {topic: "hotel/{floor}/{room}/noise", value: "json:level", unit: dBA}
notifiers:
  phone: {type: log}
  manager: {type: log}
"""
RULE = """\
rules:
  loud:
    watch: noise
    measure: leq
    over: 15m
    warning: {above: 40}
    notify: [phone, manager]
"""


def with_rule(text, catalog, head=HEAD, **options):
    """Return the only rule of a configuration."""
    config = read_text(
        "x.yaml", f"{head}rules:\n  loud:\n    watch: noise\n{text}", catalog, **options
    )
    (rule,) = config.rules.rules
    return rule


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hushd.yaml").write_text(HEAD + RULE)
    (tmp_path / "rules.d").mkdir()
    return tmp_path


def messages(caught):
    return [problem.message for problem in caught.value.problems]


def test_a_sensor_in_full(catalog):
    head = """\
version: 1
site: {name: Adler, timezone: Europe/Berlin}
sensors:
  noise:
    topic: hotel/{room}/noise
    value: json:level
    time: {path: json:ts}
    lateness: 30s
    future: 0s
    duplicates: max
    labels: {wing: json:wing}
    interval: 10s
    hold: 1m
    unit: dBA
    valid: [20, 130]
    retained: use
    expect: [{wing: 0755, room: 101}]
notifiers: {phone: {type: log}}
"""
    config = read_text("x.yaml", head + RULE.replace(", manager", ""), catalog)
    assert config.rules.sensors == (
        Sensor(
            "noise",
            ("room", "wing"),
            "dBA",
            lateness=MINUTE // 2,
            future=0,
            duplicates="max",
            interval=MINUTE // 6,
            hold=MINUTE,
            expect=((("room", "101"), ("wing", "0755")),),  # as written
        ),
    )
    sensor = config.sensors["noise"]
    assert (sensor.unit, sensor.valid, sensor.retained) == ("dBA", (20.0, 130.0), "use")
    assert sensor.template.filter == "hotel/+/noise"
    sample = sensor.decode(b'{"level": 41.5, "ts": "2025-03-22 23:15:28", "wing": "east"}')
    assert sample == [Sample(41.5, 1_742_681_728 * 10**9, (("wing", "east"),))]
    assert config.site.zone == ZoneInfo("Europe/Berlin")


def test_the_short_form_of_a_sensor(catalog):
    head = "version: 1\nsensors: {noise: hotel/{room}/noise}\nnotifiers: {phone: {type: log}}\n"
    config = read_text("x.yaml", head.replace("hotel/{room}/noise", '"hotel/{room}/noise"')
                       + RULE.replace(", manager", ""), catalog)  # fmt: skip
    assert config.rules.sensors == (Sensor("noise", ("room",)),)
    assert config.sensors["noise"].decode(b"63.2") == [Sample(63.2)]


def test_a_rule_in_full(catalog):
    rule = with_rule(
        """\
    about: Quiet, please.
    where: {floor: [2, 1], room: attic}
    each: [room]
    measure: {percentile: 95}
    over: 15m
    min_samples: 3
    min_coverage: 0.75
    for: 1m
    clear_for: 2m
    critical: {outside: [20, 60], clear: [25, 55], for: 0s}
    warning: {above: 40, clear: 37}
    no_data: {after: 10m, severity: info, level: clear, notify: [manager]}
    notify: {critical: [manager], info: [phone, phone]}
""",
        catalog,
    )
    assert rule.where == (("floor", ("1", "2")), ("room", ("attic",)))
    assert (rule.each, rule.measure) == (("room",), Measure("percentile", 95.0))
    assert (rule.min_samples, rule.min_coverage) == (3, 0.75)
    assert rule.limits == (  # mildest first
        Limit("warning", "above", 40.0, 37.0, MINUTE, 2 * MINUTE),
        Limit("critical", "outside", (20.0, 60.0), (25.0, 55.0), 0, 2 * MINUTE),
    )
    assert rule.no_data == NoData(10 * MINUTE, "info", "clear", ("manager",))
    assert rule.notify == (("info", ("phone",)), ("critical", ("manager",)))
    assert rule.about == "Quiet, please."


@pytest.mark.parametrize(
    ("text", "over", "coverage"),
    [
        ("measure: leq, over: 15m", Over(15 * MINUTE), 0.5),
        ("measure: leq, over: 20 samples", Over(None, 20), 0.0),
        ("measure: count, over: 15m", Over(15 * MINUTE), 0.0),  # judged however full
        ("measure: {time_above: 60}, over: 15m", Over(15 * MINUTE), 0.0),
        ("measure: last", Over(), 0.0),
    ],
)
def test_windows_and_their_coverage(text, over, coverage, catalog):
    lines = "".join(f"    {part}\n" for part in text.split(", "))
    rule = with_rule(
        f"{lines}    warning: {{above: 40, for: 1m}}\n    notify: [phone, manager]\n", catalog
    )
    assert (rule.over, rule.min_coverage) == (over, coverage)


def test_a_limit_may_be_a_duration_where_the_measure_is_one(catalog):
    rule = with_rule(
        "    measure: {time_above: 60}\n    over: 1h\n    warning: {above: 1m30s, clear: 30}\n"
        "    notify: [phone, manager]\n",
        catalog,
    )
    assert rule.limits == (Limit("warning", "above", 90.0, 30.0),)


def test_defaults_are_replaced_whole(catalog):
    head = HEAD + (
        "defaults:\n  notify: {critical: [manager]}\n  no_data: {after: 1h, severity: info}\n"
        "  for: 5m\n  clear_for: 3m\n  min_samples: 7\n  min_coverage: 0.9\n"
    )
    body = "    measure: leq\n    over: 15m\n    warning: {above: 40}\n    critical: {above: 50, for: 0s}\n"
    rule = with_rule(body, catalog, head)
    assert [(limit.wait, limit.clear_wait) for limit in rule.limits] == [
        (5 * MINUTE, 3 * MINUTE),
        (0, 3 * MINUTE),
    ]
    assert rule.no_data == NoData(60 * MINUTE, "info")
    assert (rule.min_samples, rule.min_coverage) == (7, 0.9)
    assert rule.notify == (("critical", ("manager",)),)
    own = with_rule(f"{body}    no_data: {{level: clear}}\n    notify: [phone]\n", catalog, head)
    assert own.no_data == NoData(None, "warning", "clear")  # nothing of the default's
    assert own.notify == (("info", ("phone",)),)
    assert with_rule(f"{body}    no_data: ignore\n", catalog, head).no_data is None


def test_each_is_all_labels_unless_it_is_said(catalog):
    body = (
        "    measure: leq\n    over: 15m\n    warning: {above: 40}\n    notify: [phone, manager]\n"
    )
    assert with_rule(body, catalog).each == ("floor", "room")
    assert with_rule(f"{body}    each: []\n", catalog).each == ()


def test_a_resting_rule_is_checked_and_not_run(catalog):
    config = read_text("x.yaml", f"{HEAD}{RULE}    enabled: false\n", catalog)
    assert config.rules.rules == ()
    assert config.warnings == ()  # what it watches is not unused
    with pytest.raises(ConfigError):
        read_text("x.yaml", f"{HEAD}{RULE.replace('leq', 'lqe')}    enabled: false\n", catalog)


def test_the_rules_are_data_only(catalog):
    rules = read_text("x.yaml", HEAD + RULE, catalog).rules
    assert pickle.loads(pickle.dumps(rules)) == rules
    assert rules.fingerprint == read_text("y.yaml", HEAD + RULE, catalog).rules.fingerprint


def test_mqtt_limits_and_internal(catalog):
    text = HEAD + RULE + (
        'mqtt: {url: "mqtt://[::1]:2883", client_id: h, keepalive: 1m}\n'
        "limits: {series: 5, alerts_per_rule: 6, payload: 1KiB, inbox: 70}\n"
        "internal: {severity: critical, notify: [manager]}\nclock: stamps\n"
    )  # fmt: skip
    config = read_text("x.yaml", text, catalog)
    assert (config.mqtt.host, config.mqtt.port, config.mqtt.client_id) == ("::1", 2883, "h")
    assert config.mqtt.keepalive == MINUTE
    assert (config.rules.series, config.rules.alerts_per_rule) == (5, 6)
    assert (config.limits.payload, config.limits.inbox) == (1024, 70)
    assert (config.internal.severity, config.internal.notify) == ("critical", ("manager",))
    assert config.clock == "stamps"


def test_internal_troubles_go_to_the_default_notifiers(catalog):
    text = HEAD + RULE + "defaults: {notify: {info: [phone], critical: [manager, phone]}}\n"
    assert read_text("x.yaml", text, catalog).internal.notify == ("phone", "manager")


@pytest.mark.parametrize(
    ("mqtt", "port", "tls"),
    [
        ("{host: a}", 1883, None),
        ("{url: 'mqtt://a'}", 1883, None),
        ("{url: 'mqtts://a'}", 8883, Tls()),
        ("{url: 'mqtts://a:1'}", 1, Tls()),
        ("{host: a, tls: {}}", 8883, Tls()),
        ("{host: a, port: 1883, tls: {}}", 1883, Tls()),
        ("{url: 'mqtts://a', tls: {ca: /dev/null}}", 8883, Tls(ca=Path("/dev/null"))),
        ("{host: a, tls: {insecure: true}}", 8883, Tls(insecure=True)),
    ],
)
def test_tls_is_asked_for_by_the_url_or_by_its_section(mqtt, port, tls, catalog):
    config = read_text("x.yaml", f"{HEAD}{RULE}mqtt: {mqtt}\n", catalog).mqtt
    assert (config.port, config.tls) == (port, tls)


def test_files_of_tls_are_relative_to_the_configuration(tmp_path):
    (tmp_path / "hushd.yaml").write_text(f"{HEAD}{RULE}mqtt: {{tls: {{ca: site.pem}}}}\n")
    with pytest.raises(ConfigError, match=r"cannot read site\.pem"):
        read(tmp_path / "hushd.yaml", for_run=True)
    (tmp_path / "site.pem").write_text("")
    config = read(tmp_path / "hushd.yaml", for_run=True)
    assert config.mqtt.tls == Tls(ca=tmp_path / "site.pem")


@pytest.mark.parametrize(
    ("text", "topic"), [("{}", None), ("{status_topic: off}", ""), ("{status_topic: a/b}", "a/b")]
)
def test_the_status_topic(text, topic, catalog):
    assert read_text("x.yaml", f"{HEAD}{RULE}mqtt: {text}\n", catalog).mqtt.status_topic == topic


def test_a_session_may_be_forgone(catalog):
    config = read_text("x.yaml", f"{HEAD}{RULE}mqtt: {{session_expiry: 0s}}\n", catalog)
    assert config.mqtt.session_expiry == 0


@pytest.mark.parametrize("url", ["mqtt://a:0", "mqtt://a:99999", "mqtt://a:x", "mqtt://", "http://a", "a:1", "mqtt://a/b", "mqtt://a..b", f"mqtt://{'a' * 64}"])  # fmt: skip
def test_a_url_that_is_no_broker_is_refused(url, catalog):
    with pytest.raises(ConfigError):
        read_text("x.yaml", f'{HEAD}{RULE}mqtt: {{url: "{url}"}}\n', catalog)


# rules.d


def test_a_pipe_in_rules_d_is_not_waited_for(folder):
    os.mkfifo(folder / "rules.d" / "pipe.yaml")
    assert read(folder / "hushd.yaml").rules.rules


def test_files_of_rules_d_are_merged(folder):
    (folder / "hushd.yaml").write_text(HEAD)
    (folder / "rules.d" / "a.yaml").write_text(RULE)
    (folder / "rules.d" / "b.yaml").write_text(
        'version: 1\nsensors: {heat: "hotel/{room}/heat"}\nrules:\n  hot:\n    watch: heat\n'
        "    measure: max\n    over: 10m\n    critical: {above: 60}\n    notify: [phone]\n"
    )
    (folder / "rules.d" / "notes.txt").write_text("not read")
    config = read(folder / "hushd.yaml")
    assert [rule.name for rule in config.rules.rules] == ["loud", "hot"]
    assert set(config.sensors) == {"noise", "heat"}


def test_a_name_in_two_files_names_both_places(folder):
    (folder / "rules.d" / "night.yaml").write_text("# more\n" + RULE)
    with pytest.raises(ConfigError) as caught:
        read(folder / "hushd.yaml")
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (str(folder / "rules.d" / "night.yaml"), 3)
    assert problem.message == f'"loud" is defined twice, first in {folder / "hushd.yaml"}:8'


def test_problems_of_all_files_come_together(folder):
    (folder / "hushd.yaml").write_text((HEAD + RULE).replace("leq", "lqe"))
    (folder / "rules.d" / "a.yaml").write_text("mqtt: {host: broker}\n")
    (folder / "rules.d" / "b.yaml").write_text("rules: [\n")
    (folder / "rules.d" / "c.yaml").write_text("")
    with pytest.raises(ConfigError) as caught:
        read(folder / "hushd.yaml")
    assert [(Path(problem.file).name, problem.message) for problem in caught.value.problems] == [
        ("hushd.yaml", 'unknown measure "lqe"'),
        ("a.yaml", '"mqtt" does not belong here'),
        ("b.yaml", "a value is missing"),
        ("c.yaml", "the file is empty"),
    ]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path / "hushd.yaml")
    assert str(caught.value) == (
        f"{tmp_path / 'hushd.yaml'}: error: cannot read the file: no such file or directory"
    )


def test_the_daemon_reads_no_pipe(tmp_path):
    """It could not read it again, and would wait for ever."""
    os.mkfifo(tmp_path / "hushd.yaml")
    with pytest.raises(ConfigError, match="a pipe cannot be read again"):
        read(tmp_path / "hushd.yaml", for_run=True)


def test_a_directory_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match="is a directory"):
        read(tmp_path)


def test_a_file_that_everybody_may_write_does_not_run(folder):
    path = folder / "hushd.yaml"
    path.chmod(0o666)
    assert [problem.message for problem in read(path).warnings] == ["everybody may write this file"]
    with pytest.raises(ConfigError, match="everybody may write this file"):
        read(path, for_run=True)


@pytest.mark.parametrize("place", [".", "rules.d"])
def test_a_folder_that_everybody_may_write_does_not_run(folder, place):
    path = folder / "hushd.yaml"
    (folder / place).chmod(0o777)
    message = "everybody may put files into this folder"
    assert [problem.message for problem in read(path).warnings] == [message]
    with pytest.raises(ConfigError, match=message):
        read(path, for_run=True)
    (folder / place).chmod(0o1777)  # as /tmp is: fine for what is there, not for what may come
    assert bool(read(path).warnings) is (place == "rules.d")


# secrets

CANARY = "canary-7f3a"


def secretive(source, catalog, **options):
    text = f"{HEAD}{RULE}mqtt: {{username: hushd, password: {source}}}\n"
    return read_text("x.yaml", text, catalog, **options)


def test_a_secret_is_never_shown(catalog, monkeypatch):
    monkeypatch.setenv("CANARY", CANARY)
    config = secretive("{env: CANARY}", catalog, for_run=True)
    secret = config.mqtt.password
    assert secret is not None
    assert secret.reveal() == CANARY
    assert CANARY not in f"{secret} {secret!r} {[secret]} {config}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


def test_a_secret_file(tmp_path, catalog):
    path = tmp_path / "pw"
    path.write_text(f"{CANARY}\n")
    path.chmod(0o600)
    config = secretive(f"{{file: {path}}}", catalog, for_run=True)
    assert config.mqtt.password.reveal() == CANARY
    assert config.warnings == ()
    path.chmod(0o644)
    (warning,) = secretive(f"{{file: {path}}}", catalog, for_run=True).warnings
    assert warning.message == f"everybody may read secret file {path}"
    path.chmod(0o602)
    with pytest.raises(ConfigError, match="everybody may write"):
        secretive(f"{{file: {path}}}", catalog, for_run=True)


def test_a_secret_file_is_relative_to_the_configuration(folder):
    (folder / "pw").write_text(CANARY)
    (folder / "pw").chmod(0o600)
    (folder / "hushd.yaml").write_text(HEAD + RULE + "mqtt: {username: a, password: {file: pw}}\n")
    assert read(folder / "hushd.yaml", for_run=True).mqtt.password.reveal() == CANARY


@pytest.mark.parametrize("name", ["mqtt", "secrets_mqtt"])
def test_a_credential_may_come_alone_or_out_of_a_directory(name, tmp_path, monkeypatch, catalog):
    (tmp_path / name).write_text(f"{CANARY}\n")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert secretive("{credential: mqtt}", catalog, for_run=True).mqtt.password.reveal() == CANARY


@pytest.mark.parametrize(
    "source", ["{env: HUSHD_UNSET}", "{file: /nonexistent}", "{credential: nope}"]
)
def test_a_missing_secret_stops_run_and_only_worries_check(source, catalog, monkeypatch):
    monkeypatch.delenv("CREDENTIALS_DIRECTORY", raising=False)
    config = secretive(source, catalog)
    assert len(config.warnings) == 1
    assert config.mqtt.password.missing
    with pytest.raises(LookupError):
        config.mqtt.password.reveal()
    with pytest.raises(ConfigError):
        secretive(source, catalog, for_run=True)


def test_variables_in_urls(catalog, monkeypatch):
    monkeypatch.setenv("TOKEN", CANARY)
    head = HEAD.replace(
        "manager: {type: log}", 'manager: {type: webhook, url: "https://x.org/${TOKEN}?a=$b"}'
    )
    config = read_text("x.yaml", head + RULE, catalog, for_run=True)
    options = config.notifiers["manager"].options
    assert isinstance(options["url"], Secret)
    assert CANARY not in repr(config)
    assert config.notifiers["manager"].revealed()["url"] == f"https://x.org/{CANARY}?a=$b"


def test_no_message_shows_a_secret(catalog):
    for line in (
        f"mqtt: {{username: a, password: {CANARY}}}",
        f"mqtt: {{usernam: a, password: '{CANARY}'}}",
        f'mqtt: {{url: "mqtt://a:{CANARY}@b"}}',
        f'mqtt: {{url: "http://a:{CANARY}@b"}}',
        f"mqtt:\n  password: {CANARY}",
        f'mqtt: {{password: "{CANARY}',
    ):
        with pytest.raises(ConfigError) as caught:
            read_text("x.yaml", f"{HEAD}{RULE}{line}\n", catalog)
        assert CANARY not in str(caught.value)


# plugins

SUM = Aggregation(lambda: 0.0, float, lambda a, b: a + b, lambda p: p)


def build(wanted: Wanted):
    if wanted.value == "raise":
        raise RuntimeError("oh")
    if wanted.value == "bad":
        raise ValueError("write good")
    return lambda _: [Sample(1.0)]


OWN = Catalog(
    aggregators={"total": Aggregator("total", SUM, "")},
    decoders={"own": Decoder("own", "", build), "number": Decoder("number", "", build)},
    notifiers={
        "all": NotifierType(
            "all",
            "",
            lambda *_: None,  # type: ignore[arg-type,return-value]  # never opened
            (
                Option("text", "", "text", default="a"),
                Option("url", "", "url"),
                Option("path", "", "path"),
                Option("secret", "", "secret"),
                Option("duration", "", "duration", default=5),
                Option("integer", "", "integer"),
                Option("boolean", "", "boolean"),
                Option("texts", "", "texts"),
                Option("map", "", "map"),
                Option("file", "", "file"),
                Option("format", "", "text"),
            ),
        )
    },
    broken=(Broken("rms (hushd-rms 0.3)", "ModuleNotFoundError: No module named 'numpy'"),),
)


def own(notifier="{type: all}", sensor="a/b", measure="total"):
    return read_text(
        "x.yaml",
        f"version: 1\nsensors: {{s: {sensor}}}\nnotifiers: {{n: {notifier}}}\nrules:\n  r:\n"
        f"    watch: s\n    measure: {measure}\n    over: 5m\n    warning: {{above: 1}}\n"
        "    notify: [n]\n",
        OWN,
    )


def test_every_kind_of_option(monkeypatch):
    monkeypatch.setenv("X", CANARY)
    notifier = (
        '{type: all, url: "http://${X}", path: p, secret: {env: X}, duration: 1m, integer: 3, '
        "boolean: true, texts: [a, b], map: {k: v, s: {env: X}}, file: ca.pem, format: markdown}"
    )
    assert own(notifier).notifiers["n"].revealed() == {
        "text": "a",
        "url": f"http://{CANARY}",
        "path": "p",
        "secret": CANARY,
        "duration": MINUTE,
        "integer": 3,
        "boolean": True,
        "texts": ("a", "b"),
        "map": {"k": "v", "s": CANARY},
        "file": "ca.pem",
        "format": "markdown",  # a plugin's own key, though the language has one for later
    }
    assert own().notifiers["n"].options["duration"] == 5


def test_what_a_notifier_may_speak_of_but_not_show(monkeypatch):
    monkeypatch.setenv("X", CANARY)
    config = own("{type: all, secret: {env: X}, map: {k: {env: X}, n: {env: UNSET_X}}}")
    assert config.notifiers["n"].secrets() == (CANARY, CANARY)
    assert CANARY not in repr(config)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([Fault("text", "too short", "write more")], "too short"),
        ([Fault("integer", "is missed")], "is missed"),  # not given: at the notifier's name
        (RuntimeError("oh"), "all cannot say whether this is sound: RuntimeError"),
    ],
)
def test_a_plugin_looks_at_its_options(answer, message, monkeypatch):
    def check(options):
        assert "url" not in options  # its secret is not there
        if isinstance(answer, Exception):
            raise answer
        return answer

    picky = replace(OWN.notifiers["all"], check=check)
    monkeypatch.setitem(OWN.notifiers, "all", picky)
    with pytest.raises(ConfigError) as caught:
        own('{type: all, text: a, url: "http://${UNSET_X}"}')
    assert [p.message for p in caught.value.problems if p.severity == "error"] == [message]


def test_starting_programs_is_allowed_in_the_main_file_alone(folder, monkeypatch):
    text = HEAD.replace("{type: log}", "{type: command, command: [/bin/sh]}", 1) + RULE
    (folder / "hushd.yaml").write_text(text + "allow_exec: true\n")
    assert read(folder / "hushd.yaml").notifiers["phone"].options["command"] == ("/bin/sh",)
    (folder / "hushd.yaml").write_text(text)
    (folder / "rules.d").mkdir(exist_ok=True)
    (folder / "rules.d" / "more.yaml").write_text("allow_exec: true\n")
    with pytest.raises(ConfigError) as caught:
        read(folder / "hushd.yaml")
    assert sorted(
        problem.message for problem in caught.value.problems if problem.severity == "error"
    ) == [
        '"allow_exec" does not belong here',
        '"command" starts programs, and nothing allows that',
    ]


@pytest.mark.parametrize(
    ("sensor", "message", "hint"),
    [
        ("{topic: a, value: own:bad}", 'the decoder cannot use "own:bad"', "write good"),
        ("{topic: a, value: own:raise}", 'the decoder "own" broke: RuntimeError', "plugin own: oh"),
        ("{topic: a, value: json}", 'unknown decoder "json"', "known: number, own"),
    ],
)
def test_what_a_decoder_says_is_the_hint(sensor, message, hint):
    with pytest.raises(ConfigError) as caught:
        own(sensor=sensor)
    (problem,) = caught.value.problems
    assert (problem.message, problem.hints[0]) == (message, hint)


def test_a_broken_plugin_is_named_where_it_is_missed():
    with pytest.raises(ConfigError) as caught:
        own(measure="rms")
    (problem,) = caught.value.problems
    assert problem.hints[-1] == (
        "plugin rms (hushd-rms 0.3) did not load: ModuleNotFoundError: No module named 'numpy'"
    )
    assert own().warnings == ()  # nobody needs it: not a word


def test_drop_in_plugins_are_found_beside_the_file(folder):
    plugins = folder / "plugins.d"
    plugins.mkdir(mode=0o755)
    plugin = plugins / "loudest.py"
    plugin.write_text(
        "from hushd.plugin import Aggregation, Aggregator, hookimpl\n\n\n@hookimpl\n"
        "def hushd_aggregators():\n    yield Aggregator('loudest', Aggregation(lambda: 0.0, float, max,"
        " float), 'the loudest')\n"
    )
    plugin.chmod(0o644)
    text = HEAD + RULE.replace("leq", "loudest")
    (folder / "hushd.yaml").write_text(
        text + "plugins: {directory: plugins.d, disable: [spread]}\n"
    )
    config = read(folder / "hushd.yaml")
    assert "loudest" in config.catalog.aggregators
    assert "stddev" not in config.catalog.aggregators
    (folder / "hushd.yaml").write_text(text + "plugins: {directory: none.d, disable: [sprad]}\n")
    with pytest.raises(ConfigError) as caught:
        read(folder / "hushd.yaml")
    assert "there is no such directory" in messages(caught)
    assert 'there is no plugin "sprad" to disable' in messages(caught)


def test_severities_that_are_nested_are_no_warning(catalog):
    for limits in (
        "{outside: [0.5, 4.5]}; {above: 7.1}",
        "{above: 40}; {at_least: 40}",  # not harder, but for one value
        "{below: 10}; {below: 5}",
        "{inside: [1, 9]}; {inside: [3, 4]}",
    ):
        warning, critical = limits.split("; ")
        config = read_text(
            "x.yaml",
            HEAD + RULE.replace("{above: 40}", f"{warning}\n    critical: {critical}"),
            catalog,
        )
        expected = 1 if "at_least" in critical else 0
        assert len(config.warnings) == expected, limits


# whole documents that are nearly right

SAMPLE_VALUES = st.sampled_from(
    ["5m", "0s", "1e3", "-1", "0", "true", "null", "~", "[]", "{}", "[1, 2]", "[a]", "{a: b}", "noise", "x y",
     "'{a}'", "1970-01-01", "22:00", '"${A}"', "json:a", "{after: 5m}", "ignore", "loud", "wall"]
)  # fmt: skip
LINES = (
    HEAD + RULE + "    clear_for: 5m\n    no_data: {after: 5m}\n    each: [room]\n"
).splitlines()


@settings(max_examples=300, deadline=timedelta(seconds=5))
@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), SAMPLE_VALUES), max_size=4), st.data())
def test_only_config_errors_come_out_of_nearly_right_files(catalog, changes, data):
    lines = list(LINES)
    for i, value in changes:
        match data.draw(st.sampled_from(["value", "drop", "twice", "key", "inner"])):
            case "value":
                lines[i] = f"{lines[i].partition(':')[0]}: {value}"
            case "drop":
                lines[i] = ""
            case "twice":
                lines[i] += f"\n{lines[i]}"
            case "key":
                lines[i] = lines[i].replace(":", "x:", 1)
            case "inner":
                head, _, tail = lines[i].rpartition(": ")
                lines[i] = f"{head}: {value}{'}' * tail.count('}')}"
    try:
        read_text("x.yaml", "\n".join(lines), catalog)
    except ConfigError as exc:
        assert exc.problems  # noqa: PT017  either outcome is fine


def test_credentials_that_cannot_be_looked_for_are_missing(monkeypatch, catalog):
    """As in `ExecReload=`: systemd names the directory, and lets only the main process in."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "x" * 5000)  # root may look everywhere else
    (warning,) = secretive("{credential: mqtt}", catalog).warnings
    assert warning.message.startswith('cannot read credential "mqtt"')
    with pytest.raises(ConfigError):
        secretive("{credential: mqtt}", catalog, for_run=True)


def test_a_plugin_of_the_folder_that_is_not_used_is_told(folder):
    drop_in = folder / "plugins.d" / "rms.py"
    drop_in.parent.mkdir(mode=0o700)
    drop_in.write_text(
        "from hushd.plugin import COUNT, Aggregator, hookimpl\n\n\n"
        "@hookimpl\ndef hushd_aggregators():\n"
        '    yield Aggregator("rms", COUNT, "not the one you know")\n'
    )
    drop_in.chmod(0o600)
    text = (folder / "hushd.yaml").read_text()
    (folder / "hushd.yaml").write_text(text + "plugins: {directory: plugins.d}\n")
    (warning,) = read(folder / "hushd.yaml").warnings
    assert warning.message.startswith(f"plugin rms ({drop_in}) is not used: ")
    assert "already offered by spread" in warning.message
