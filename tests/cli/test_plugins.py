"""``hushd plugins`` and ``hushd schema``."""

import json


def test_what_is_installed_is_listed(hushd):
    done = hushd("plugins")
    assert done.returncode == 0
    for text in ("acoustics (hushd ", "aggregator leq ", "decoder    json ", "notifier   webhook "):
        assert text in done.stdout


def test_what_is_broken_is_told_with_its_reason(hushd, tmp_path):
    folder = tmp_path / "plugins.d"
    folder.mkdir(mode=0o700)
    (folder / "mine.py").write_text("import no_such_module\n")
    (folder / "mine.py").chmod(0o600)
    done = hushd("plugins", "--directory", folder)
    assert done.returncode == 1
    assert f"broken: mine ({folder}/mine.py): ModuleNotFoundError" in done.stdout


def test_the_schema_is_one(hushd):
    schema = json.loads(hushd("schema").stdout)
    assert {"$schema", "properties"} <= schema.keys()
    assert {"sensors", "rules"} <= schema["properties"].keys()
