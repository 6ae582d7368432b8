"""Settings: one order of sources, and error messages with the source and the allowed values."""

from pathlib import Path

import pytest

from api.setting_sources import unknown_variables
from api.settings import SETTING_FORMATS, InvalidSetting, Settings, environment_name


def toml(folder: Path, text: str) -> Path:
    """Write a settings file."""
    file = folder / "waypost.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_an_option_beats_the_environment_and_that_beats_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, "workers = 3\nkeepalive = 7\nheader_timeout = 9\n")
    env = {"WAYPOST_WORKERS": "4", "WAYPOST_KEEPALIVE": "8"}
    settings = Settings.read({"workers": 5, "keepalive": None}, env, file)
    assert (settings.workers, settings.keepalive, settings.header_timeout) == (5, 8, 9)


def test_without_sources_the_defaults_hold() -> None:
    assert Settings.read({}, {}, Path("/no/such/file")) == Settings()
    assert Settings().access_lifetime == 900


@pytest.mark.parametrize("name", SETTING_FORMATS)
def test_every_setting_accepts_its_default_as_text(name: str) -> None:
    value = getattr(Settings(), name)
    text = ",".join(map(str, value)) if isinstance(value, tuple) else "" if value is None else str(value)
    assert (
        getattr(Settings.read({}, {environment_name(name): text.lower() if text == "False" else text}), name) == value
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("workers", "0"),
        ("workers", "two"),
        ("workers", "1_0"),
        ("workers", "٣"),
        ("data", ""),
        ("bind", "8080"),
        ("bind", "127.0.0.1:99999"),
        ("public_url", "ftp://waypost.example"),
        ("public_url", "https://waypost.example/below"),
        ("log_level", "loud"),
        ("hide_unknown_users", "yes"),
        ("json_limit", "-1"),
        ("trusted_proxies", "everybody"),
        ("openid_prompt", "none"),
    ],
)
def test_a_bad_value_is_refused_by_source_and_with_what_is_allowed(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.read({}, {environment_name(name): text})
    assert environment_name(name) in str(caught.value)
    assert SETTING_FORMATS[name].allowed in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "entry"),
    [("openid_networks", "10.0.0.0/8, 10.0.0.300", "10.0.0.300"), ("openid_roles", "ops=admin,readers", "readers")],
)
def test_a_list_names_its_faulty_entry_alone(name: str, text: str, entry: str) -> None:
    with pytest.raises(InvalidSetting, match=f" has the entry '{entry}'; allowed: "):
        Settings.read({name: text}, {})


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "needs public_url and openid_client_id, which are not set"),
        ({"public_url": "https://waypost.example"}, "needs openid_client_id, which is not set"),
        ({"openid_client_id": "waypost"}, "needs public_url, which is not set"),
    ],
)
def test_a_provider_needs_only_what_is_missing(given: dict[str, str], missing: str) -> None:
    with pytest.raises(InvalidSetting, match=missing):
        Settings.read({"openid_issuer": "https://id.example", **given}, {})


def test_a_bad_value_in_the_file_names_the_file(tmp_path: Path) -> None:
    file = toml(tmp_path, 'workers = "many"\n')
    with pytest.raises(InvalidSetting, match=r"key 'workers' of .*waypost.toml is 'many'; allowed: a number"):
        Settings.read({}, {}, file)


def test_a_bad_option_names_the_option() -> None:
    with pytest.raises(InvalidSetting, match="option --log-level is 'loud'"):
        Settings.read({"log_level": "loud"}, {})


@pytest.mark.parametrize("text", ["wrokers = 3\n", "workers = \n", "[service]\nworkers = 3\n", "\xff"])
def test_an_invalid_file_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "waypost.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidSetting):
        Settings.read({}, {}, file)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("WAYPOST_OPENID_ISUER", "WAYPOST_OPENID_ISSUER"),
        ("WAYPOST_LOGLEVEL", "WAYPOST_LOG_LEVEL"),
        ("WAYPOST_ADMIN_PASWORD", "WAYPOST_ADMIN_PASSWORD"),
    ],
)
def test_a_misspelled_variable_is_refused_with_the_one_that_was_meant(variable: str, meant: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.read({}, {variable: "x"})
    assert f"(environment variable {variable}). Did you mean {meant}" in str(caught.value)


def test_an_unknown_key_is_answered_with_the_nearest_ones_alone(tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Settings.read({}, {}, toml(tmp_path, 'openid_isuer = "x"\n'))
    assert "Did you mean openid_issuer or " in str(caught.value)
    assert "All settings are in docs/reference/settings.md." in str(caught.value)
    assert "regex" not in str(caught.value)


def test_variables_of_others_are_no_settings() -> None:
    """Kubernetes sets some beside a Service with the name waypost, and a script may have its own."""
    pod = ("SERVICE_HOST", "SERVICE_PORT_HTTP", "PORT", "PORT_8080_TCP_ADDR", "DATABASE_SERVICE_HOST", "DATABASE_PORT")
    env = {f"WAYPOST_{name}": "x" for name in (*pod, "TOKEN", "COMMENT_TOKEN", "FOLDER", "STRICT", "TEST_SEED")}
    env |= {"WAYPOST_IMAGE": "x", "OTHER": "x", "WAYPOST_WORKERS": "3"}
    assert Settings.read({}, env).workers == 3
    assert unknown_variables(env, SETTING_FORMATS) == ["WAYPOST_IMAGE"]


@pytest.mark.parametrize("text", ["127.0.0.1:0", "[::1]:8080", ":8080", "waypost.example:80", "unix:/run/waypost.sock"])
def test_every_form_of_an_address_is_taken(text: str) -> None:
    assert Settings.read({"bind": text}, {}).bind == text


def test_lists_are_written_with_commas_or_as_lists(tmp_path: Path) -> None:
    wanted = ("10.0.0.0/8", "::1")
    assert Settings.read({}, {"WAYPOST_TRUSTED_PROXIES": "10.0.0.0/8, ::1"}).trusted_proxies == wanted
    assert Settings.read({}, {}, toml(tmp_path, 'trusted_proxies = ["10.0.0.0/8", "::1"]\n')).trusted_proxies == wanted


def test_types_of_the_file_are_those_of_the_setting(tmp_path: Path) -> None:
    settings = Settings.read({}, {}, toml(tmp_path, 'data = "/srv/waypost"\nhide_unknown_users = true\n'))
    assert (settings.data, settings.hide_unknown_users) == (Path("/srv/waypost"), True)
