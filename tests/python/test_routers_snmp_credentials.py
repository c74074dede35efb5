"""The file of an SNMP host's credentials: who may read it, and that no secret leaves it."""

from __future__ import annotations

import os

import pytest

from vermilion.routers import RouterError
from vermilion.routers.snmp.credentials import (
    CommunityCredentials,
    UserCredentials,
    credentials_file,
    parse_credentials,
    read_credentials,
)
from vermilion.scenario.errors import FieldError

GOOD = """
[default]
user = "writer"
authentication_password = "secret-one"
privacy_password = "secret-two"

["192.0.2.7"]
version = "2c"
community = "secret-three"
"""


def test_a_host_has_its_own_credentials_or_the_default_ones():
    assert parse_credentials(GOOD, "router") == UserCredentials(
        "writer", "secret-one", "secret-two"
    )
    assert parse_credentials(GOOD, "router").authentication == "sha-256"
    assert parse_credentials(GOOD, "192.0.2.7") == CommunityCredentials("secret-three")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[default]", "[other]", r"a table \[\"router\"\] or \[default\]"),
        ('user = "writer"', "", "default.user"),
        ('user = "writer"', 'user = ""', "default.user"),
        ('"secret-one"', '"short"', "at least 8 octets"),
        ('privacy_password = "secret-two"', "", "default.privacy_password"),
        ('user = "writer"', 'user = "writer"\nauthentication = "md5"', "sha-256"),
        ('user = "writer"', 'user = "writer"\nprivacy = "des"', "aes-128"),
        ('user = "writer"', 'user = "writer"\npasword = "secret-x"', "authentication_password"),
        ('user = "writer"', 'user = "writer"\nversion = "1"', '"2c"'),
        ('user = "writer"', 'user = "writer"\ncommunity = "secret-x"', "default.community"),
    ],
)
def test_what_is_wrong_in_the_file_is_named_without_a_secret(before, after, words):
    assert before in GOOD
    with pytest.raises(FieldError, match=words) as refusal:
        parse_credentials(GOOD.replace(before, after), "router")
    assert "secret" not in str(refusal.value)
    assert "short" not in str(refusal.value)


def test_a_file_that_others_may_read_is_not_taken(tmp_path):
    path = tmp_path / "snmp.toml"
    path.write_text(GOOD)
    for mode in (0o644, 0o640, 0o604, 0o620):
        path.chmod(mode)
        with pytest.raises(RouterError, match=rf"mode {mode:04o}.*chmod 600"):
            read_credentials(path, "router")
    for mode in (0o600, 0o400):
        path.chmod(mode)
        assert read_credentials(path, "router").user == "writer"


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "snmp.toml"
    with pytest.raises(RouterError, match="expected a file with mode 0600"):
        read_credentials(path, "router")
    path.write_bytes(b"\xff\xfe secret-one")
    path.chmod(0o600)
    with pytest.raises(RouterError, match="no TOML") as refusal:
        read_credentials(path, "router")
    path.write_text('[default]\nuser = "x\nauthentication_password = "secret-one"')
    with pytest.raises(RouterError, match="no TOML") as other:
        read_credentials(path, "router")
    assert "secret" not in f"{refusal.value}{other.value}"
    with pytest.raises(RouterError, match="is no file"):
        read_credentials(_fifo(tmp_path), "router")


def _fifo(folder):
    """A pipe that nobody writes into."""
    path = folder / "fifo"
    os.mkfifo(path, 0o600)
    return path


def test_no_secret_is_shown():
    for each in (parse_credentials(GOOD, "router"), parse_credentials(GOOD, "192.0.2.7")):
        assert "secret" not in repr(each)
        assert "secret" not in str(each)


def test_where_the_file_is(tmp_path):
    told = tmp_path / "mine"
    everything = {
        "VERMILION_SNMP_CREDENTIALS": "/a/b",
        "CREDENTIALS_DIRECTORY": "/run/credentials/x",
        "XDG_CONFIG_HOME": "/c/d",
    }
    assert credentials_file(everything, told) == told
    found = []
    for name in list(everything):
        found.append(str(credentials_file(everything)))
        del everything[name]
    assert found == ["/a/b", "/run/credentials/x/snmp.toml", "/c/d/vermilion/snmp.toml"]
