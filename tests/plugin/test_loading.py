"""Whatever a plugin does wrong costs that plugin, is kept with its reason, and nothing else."""

import os
import sys
import textwrap
from pathlib import Path

import pytest

from hushd.plugin import Catalog, load

GOOD = """
    from hushd.plugin import MEAN, Aggregator, hookimpl

    @hookimpl
    def hushd_aggregators():
        yield Aggregator("NAME", MEAN, "for the test")
"""


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Give a function that puts a distribution on the path, as an installer would."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    modules = []

    def install(distribution, module, code, point=None, version="1.0"):
        modules.append(module)
        (site / f"{module}.py").write_text(textwrap.dedent(code))
        info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {distribution}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[hushd]\n{point or module} = {module}\n")

    yield install
    for module in modules:
        sys.modules.pop(module, None)


@pytest.fixture
def drop_in(tmp_path):
    """Return a function that writes a drop-in file and gives its directory."""
    directory = tmp_path / "plugins.d"
    directory.mkdir(mode=0o755)

    def drop_in(name, code):
        (directory / name).write_text(textwrap.dedent(code))
        (directory / name).chmod(0o644)
        return directory

    return drop_in


def reasons(catalog):
    return {label.split(" (")[0]: reason for label, reason in catalog.broken}


def test_the_built_ins_come_through_the_same_door():
    catalog = load()
    assert {"count", "leq", "median", "percentile", "variance"} <= catalog.aggregators.keys()
    assert {"number", "json"} <= catalog.decoders.keys()
    assert catalog.sources["leq"].startswith("acoustics (hushd ")
    assert not catalog.broken


def test_a_strangers_plugin_is_named_with_its_distribution(install):
    install("hushd-rms", "hushd_rms_x", GOOD.replace("NAME", "rms_x"), version="0.3")
    catalog = load()
    assert catalog.aggregators["rms_x"].summary == "for the test"
    assert catalog.sources["rms_x"] == "hushd_rms_x (hushd-rms 0.3)"
    assert any(
        (row.label, row.where, row.state, row.offers)
        == ("hushd_rms_x (hushd-rms 0.3)", "hushd_rms_x", "loaded", ("aggregator rms_x",))
        for row in catalog.plugins
    )


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import numpyy", "ModuleNotFoundError: No module named 'numpyy'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("def f(:", "SyntaxError: "),
        ("x = 1", "no hook in it; is @hookimpl missing?"),
        (GOOD.replace("@hookimpl", ""), "no hook in it; is @hookimpl missing?"),
        (GOOD.replace("yield", "return [] and"), "it offers nothing"),
        (
            GOOD.replace("hushd_aggregators", "hushd_agregators"),
            "PluginValidationError: unknown hook",
        ),
        (GOOD.replace("hushd_aggregators()", "hushd_aggregators(x)"), "PluginValidationError: "),
        (GOOD + "\n        raise OSError('disk')", "OSError: disk"),  # after the first record
        (GOOD.replace("yield Aggregator", "yield str"), "TypeError: "),
        (GOOD.replace("yield ", "return 5 #"), "TypeError: 'int' object is not iterable"),
        (GOOD.replace("yield ", "yield 5 #"), "offers an int where an Aggregator is due"),
        (GOOD.replace('"NAME"', "None"), "aggregator None: a name is made of a-z"),
        (GOOD.replace("NAME", "R M S"), "aggregator 'R M S': a name is made of a-z"),
        (GOOD.replace('", MEAN', '", 5'), 'aggregator "NAME": how must be an Aggregation'),
        (GOOD.replace('test")', 'test", wants="dates")'), 'aggregator "NAME": wants must be'),
        (GOOD.replace('test")', 'test", parameter=5)'), 'aggregator "NAME": parameter must be'),
        (GOOD.replace('"for the test"', "None"), 'aggregator "NAME": summary must be a text'),
    ],
)
def test_what_fails_is_kept_with_its_reason(install, code, reason):
    install("hushd-ill", "hushd_ill", code.replace("NAME", "ill"))
    install("hushd-well", "hushd_well", GOOD.replace("NAME", "well"))
    catalog = load()
    assert reason.replace("NAME", "ill") in reasons(catalog)["hushd_ill"]
    assert "ill" not in catalog.aggregators
    assert {"well", "mean"} <= catalog.aggregators.keys()
    assert [row.state for row in catalog.plugins if "hushd-ill" in row.label] == ["broken"]


def test_two_distributions_with_one_entry_point_name_both_load(install):
    install("hushd-a", "hushd_mod_a", GOOD.replace("NAME", "mode_a"), point="mode")
    install("hushd-b", "hushd_mod_b", GOOD.replace("NAME", "mode_b"), point="mode")
    catalog = load()
    assert catalog.sources["mode_a"] == "mode (hushd-a 1.0)"
    assert catalog.sources["mode_b"] == "mode (hushd-b 1.0)"


def test_a_name_taken_twice_stays_with_the_first_and_the_reason_names_both(install):
    twice = GOOD.replace("NAME", "median") + '\n        yield Aggregator("mode", MEAN, "")'
    install("aaa-first", "hushd_first", twice)
    catalog = load()
    assert catalog.sources["median"].startswith("rank (hushd ")  # ours first, whatever the name
    assert catalog.sources["mode"] == "hushd_first (aaa-first 1.0)"  # what is not in doubt stays
    reason = reasons(catalog)["hushd_first"]
    assert 'aggregator "median" of hushd_first (aaa-first 1.0)' in reason
    assert catalog.sources["median"] in reason


def test_a_decoder_and_an_aggregator_may_share_a_name(install):
    install("hushd-json", "hushd_json_mean", GOOD.replace("NAME", "json"))
    catalog = load()
    assert "json" in catalog.aggregators
    assert "json" in catalog.decoders
    assert "payloads (hushd " in catalog.sources["json"]
    assert "hushd_json_mean (hushd-json 1.0)" in catalog.sources["json"]


def test_a_disabled_plugin_is_never_imported(install):
    install("hushd-loud", "hushd_loud", "raise RuntimeError('imported')", point="loud")
    catalog = load(disable=["loud", "acoustics"])
    assert "leq" not in catalog.aggregators
    assert not catalog.broken
    assert {row.label.split()[0] for row in catalog.plugins if row.state == "disabled"} == {
        "loud",
        "acoustics",
    }


def test_a_drop_in_file_needs_no_package(drop_in):
    directory = drop_in("crest.py", GOOD.replace("NAME", "crest"))
    drop_in("_helper.py", "raise RuntimeError('not a plugin')")
    drop_in("notes.txt", "not a plugin")
    catalog = load(directory)
    assert catalog.sources["crest"] == f"crest ({directory / 'crest.py'})"
    assert not catalog.broken


def test_a_drop_in_file_may_define_a_dataclass(drop_in):
    code = """
        from __future__ import annotations
        from dataclasses import dataclass
        @dataclass
        class Part:
            n: int
    """
    directory = drop_in("parts.py", textwrap.dedent(code) + textwrap.dedent(GOOD))
    assert "NAME: a name" not in str(load(directory).broken)
    assert reasons(load(directory))["parts"].startswith("aggregator 'NAME'")  # it ran to its end


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("ill.py", 0o644, "ModuleNotFoundError: No module named 'numpyy'"),
        ("Ill.py", 0o644, "name it with a-z, 0-9 and _ only"),
        ("ill.py", 0o664, "is writable by others; chmod go-w it"),
        ("ill.py", 0o646, "is writable by others; chmod go-w it"),
    ],
)
def test_a_drop_in_file_that_cannot_be_trusted_or_run_is_kept_with_its_reason(
    drop_in, name, mode, reason
):
    directory = drop_in("well.py", GOOD.replace("NAME", "well"))
    drop_in(name, "import numpyy")
    (directory / name).chmod(mode)
    catalog = load(directory)
    assert reason in reasons(catalog)[Path(name).stem]
    assert "well" in catalog.aggregators
    assert [row.state for row in catalog.plugins if row.where.endswith(name)] == ["broken"]


def test_a_link_out_of_the_directory_is_not_followed(drop_in, tmp_path):
    directory = drop_in("well.py", GOOD.replace("NAME", "well"))
    (tmp_path / "elsewhere.py").write_text("raise RuntimeError('ran')")
    (directory / "linked.py").symlink_to(tmp_path / "elsewhere.py")
    assert reasons(load(directory))["linked"] == "it is a link that leads out of the directory"


def test_a_directory_that_others_can_write_is_not_searched(drop_in):
    directory = drop_in("well.py", GOOD.replace("NAME", "well"))
    directory.chmod(0o777)
    catalog = load(directory)
    assert "well" not in catalog.aggregators
    assert "is writable by others" in reasons(catalog)[str(directory)]


def test_a_directory_below_one_that_others_can_write_is_not_searched(drop_in):
    directory = drop_in("well.py", GOOD.replace("NAME", "well"))
    directory.parent.chmod(0o777)
    catalog = load(directory)
    assert "well" not in catalog.aggregators
    assert f"{directory.parent} is writable by others" in reasons(catalog)[str(directory)]


def test_a_file_of_another_user_is_not_run(drop_in, monkeypatch):
    directory = drop_in("well.py", GOOD.replace("NAME", "well"))
    if os.geteuid() == 0:
        os.chown(directory / "well.py", 4711, 4711)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 4711)
    catalog = load(directory)
    assert "well" not in catalog.aggregators
    assert any("belongs to user" in reason for reason in reasons(catalog).values())


def test_a_directory_that_is_not_there_is_told(tmp_path):
    directory = tmp_path / "plugins.d"
    assert "FileNotFoundError" in reasons(load(directory))[str(directory)]


def test_hints_name_what_is_close_else_what_is_known_and_what_is_broken(install):
    install("hushd-ill", "hushd_ill", "import numpyy", point="p_mean")
    catalog = load()
    assert catalog.hint("aggregator", "medain") == ['did you mean "median"?']
    broken = "plugin p_mean (hushd-ill 1.0) did not load: ModuleNotFoundError: "
    close, told = catalog.hint("aggregator", "p_mean")
    assert close in {'did you mean "time_mean"?', 'did you mean "mean"?'}
    assert told.startswith(broken)  # close to a known name, but it is what was meant
    known, told = catalog.hint("decoder", "xyzzy")
    assert known.startswith("known: ")
    assert "json" in known
    assert told.startswith(broken)


def test_an_empty_catalog_has_a_hint_too():
    assert Catalog().hint("notifier", "email") == ["no plugin offers any notifier"]
