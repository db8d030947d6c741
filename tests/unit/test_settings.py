from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.domain.actors import Role
from bot.settings import SettingsError, database_url, load

NODE = '[[nodes]]\nid = "node-a"\nhost = "10.0.0.11"\nkey = "keys/bot"\nknown_hosts = "keys/known_hosts"\n'
TOKEN = "xoxb-" + "EXAMPLE"


def environ(folder: Path, toml: str, **more: str) -> Mapping[str, str]:
    path = folder / "hermes-bot.toml"
    path.write_text(toml)
    return {"HERMES_BOT_CONFIG": str(path), "SLACK_BOT_TOKEN": TOKEN, **more}


def test_the_smallest_file_has_the_defaults(tmp_path: Path) -> None:
    settings = load(environ(tmp_path, NODE))

    rules = settings.rules()
    assert rules.lifecycle.idle == 900
    assert rules.studio.url("ab") == "https://9000-ab.cube.app"
    assert settings.toml.nodes[0].key == tmp_path / "keys/bot"
    assert settings.database_url == f"sqlite:///{tmp_path}/var/audit.db"


@pytest.mark.parametrize(
    ("given", "seconds"), [("", 0), ('warn_before = "10m"', 600), ("warn_before = 90", 90)]
)
def test_owners_are_warned_when_that_is_asked_for(tmp_path: Path, given: str, seconds: int) -> None:
    settings = load(environ(tmp_path, f"{NODE}[lifecycle]\n{given}\n"))

    assert settings.rules().lifecycle.warn_before == seconds


def test_nobody_holds_a_role_by_default(tmp_path: Path) -> None:
    settings = load(environ(tmp_path, NODE))

    assert set(settings.toml.roles.grants().values()) == {()}
    assert Role.NONE not in settings.toml.roles.grants()


@pytest.mark.parametrize(
    ("toml", "names"),
    [
        ("", "nodes"),
        (NODE + NODE, "same id"),
        (NODE + "[lifecycle]\nidle = 5\n", "lifecycle.idle"),
        (NODE + '[lifecycle]\nwarn_before = "soon"\n', "lifecycle.warn_before"),
        (NODE + "[lifecycle]\nwarn_before = -1\n", "lifecycle.warn_before"),
        (NODE + '[lifecycle]\non_timeout = "kill"\n', "lifecycle.on_timeout"),
        (NODE + "[limits]\nper_usr = 3\n", "limits.per_usr"),
        (NODE + '[studio]\nauth = "basic"\n', "studio.auth"),
        (NODE + '[env.defaults]\nPATH = "/x"\n', "PATH"),
        (NODE + '[env.profiles.a]\nKEY = "${NOT_THERE}"\n', "NOT_THERE"),
        (NODE.replace("[[nodes]]", '[[nodes]]\nshared_root = "data"'), "shared_root"),
        ("[[nodes", "hermes-bot.toml"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, toml: str, names: str) -> None:
    with pytest.raises(SettingsError, match=names):
        load(environ(tmp_path, toml))


@pytest.mark.parametrize(
    ("name", "value"),
    [("CUBE_PROXY_PORT_HTTP", "eighty"), ("HERMES_BOT_LOG", "xml"), ("SLACK_BOT_TOKEN", "")],
)
def test_a_wrong_variable_is_named(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load({**environ(tmp_path, NODE), name: value})


def test_profile_values_may_come_from_the_environment(tmp_path: Path) -> None:
    toml = NODE + '[env.profiles.a]\nOPENAI_API_KEY = "${TEAM_KEY}"\n'

    settings = load(environ(tmp_path, toml, TEAM_KEY="EXAMPLE-key"))

    assert settings.rules().env_profiles["a"] == {"OPENAI_API_KEY": "EXAMPLE-key"}


def test_no_secret_is_printed(tmp_path: Path) -> None:
    settings = load(environ(tmp_path, NODE, SLACK_APP_TOKEN="xapp-" + "EXAMPLE", CUBE_API_KEY="EXAMPLE-cube"))

    shown = repr(settings)

    assert "xoxb-" not in shown
    assert "xapp-" not in shown
    assert "EXAMPLE-cube" not in shown
    assert set(settings.secrets()) == {TOKEN, "xapp-" + "EXAMPLE", "EXAMPLE-cube"}


def test_the_database_can_be_named() -> None:
    assert database_url({"HERMES_BOT_DATABASE_URL": "sqlite:////x.db"}) == "sqlite:////x.db"
