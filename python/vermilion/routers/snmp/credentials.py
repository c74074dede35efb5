"""SNMP credentials, from a file that nobody else may read, never from the command line.

A file in TOML has a table for each host, or ``[default]`` for those without one::

    [default]
    user = "vermilion"
    authentication_password = "..."
    privacy_password = "..."

    ["192.0.2.1"]
    version = "2c"                  # only where a device has nothing better: everything is readable
    community = "..."
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vermilion.files.secret_file import OpenToOthersError, read_secret_file
from vermilion.routers.base import RouterError
from vermilion.scenario.errors import MISSING, FieldError, did_you_mean, one_of, printable
from vermilion.scenario.toml_text import parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "VERMILION_SNMP_CREDENTIALS"
"""The environment variable that names the file."""

FILE: Final = "snmp.toml"
"""Its name in the folder of a service's credentials, or in that of the user's settings."""

AUTHENTICATIONS: Final = ("sha-256", "sha-224", "sha-384", "sha-512")
"""Of RFC 7860; the first unless told otherwise. MD5 and SHA-1 are not offered."""

PRIVACIES: Final = ("aes-128",)
"""Of RFC 3826."""

SHORTEST_PASSWORD: Final = 8
"""Octets (RFC 3414, 11.2)."""

_LARGEST_FILE: Final = 65_536
_LONGEST_USER: Final = 32
_KEYS: Final = (
    "user",
    "authentication_password",
    "privacy_password",
    "authentication",
    "privacy",
    "context",
)
_KEYS_2C: Final = ("version", "community", "context")


@dataclass(frozen=True, slots=True)
class UserCredentials:
    """A user of SNMPv3, with authentication and privacy.

    Attributes:
        user: the name.
        authentication_password: shown nowhere.
        privacy_password: shown nowhere.
        authentication: one of :data:`AUTHENTICATIONS`.
        privacy: one of :data:`PRIVACIES`.
        context: of SNMPv3; empty for the usual one.
    """

    user: str
    authentication_password: str = field(repr=False)
    privacy_password: str = field(repr=False)
    authentication: str = AUTHENTICATIONS[0]
    privacy: str = PRIVACIES[0]
    context: str = ""


@dataclass(frozen=True, slots=True)
class CommunityCredentials:
    """A community of SNMPv2c: no secret for anybody on the way.

    Attributes:
        community: shown nowhere.
        context: unused by SNMPv2c.
    """

    community: str = field(repr=False)
    context: str = ""


Credentials = UserCredentials | CommunityCredentials


def credentials_file(environment: Mapping[str, str], told: Path | None = None) -> Path:
    """The file to read.

    Args:
        environment: variables of this process.
        told: on the command line.
    """
    if told is not None:
        return told
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    if environment.get("CREDENTIALS_DIRECTORY"):
        return Path(environment["CREDENTIALS_DIRECTORY"]) / FILE
    settings = environment.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings).expanduser() / "vermilion" / FILE


def read_credentials(path: Path, host: str) -> Credentials:
    """Credentials for a host in a file.

    Raises:
        RouterError: it cannot be read, others may read it, or it says what is not accepted. The
            message holds nothing of what the file says.
    """
    name = printable(str(path))
    try:
        content = read_secret_file(path, _LARGEST_FILE + 1)
    except OpenToOthersError as error:
        message = (
            f"credentials: others may use {name} (mode {error.mode:04o}); "
            f"expected 0600: chmod 600 {name}"
        )
        raise RouterError(message) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        message = (
            f"credentials: {name} cannot be read ({reason}); expected a file with mode "
            f"0600 for --credentials or {VARIABLE}"
        )
        raise RouterError(message) from None
    if len(content) > _LARGEST_FILE:
        message = f"credentials: {name} is larger than {_LARGEST_FILE} bytes"
        raise RouterError(message)
    try:
        return parse_credentials(content.decode("utf-8-sig"), host)
    except FieldError as error:
        message = f"credentials: {name}: {error}"
        raise RouterError(message) from None
    except ValueError:
        # The parser's words would quote the file.
        message = f"credentials: {name} is no TOML in UTF-8"
        raise RouterError(message) from None


def parse_credentials(text: str, host: str) -> Credentials:
    """Credentials for a host in the text of such a file.

    Raises:
        FieldError: it says nothing, or what is not accepted; no secret is in the message.
        ValueError: it is no TOML.
    """
    tables = parse_toml(text)
    name = host if host in tables else "default"
    table = tables.get(name)
    if not isinstance(table, dict):
        raise FieldError(name, MISSING, f'a table ["{host}"] or [default]')
    version = table.get("version", "3")
    if version == "2c":
        _check_keys(name, table, _KEYS_2C)
        return CommunityCredentials(_secret(name, table, "community", 1), _word(name, table))
    if version != "3":
        raise FieldError(f"{name}.version", version, '"3" (the default) or "2c"')
    _check_keys(name, table, (*_KEYS, "version"))
    user = table.get("user")
    if not isinstance(user, str) or not 0 < len(user.encode()) <= _LONGEST_USER:
        accepted = f"the name of a user, of at most {_LONGEST_USER} octets"
        raise FieldError(f"{name}.user", MISSING if user is None else "this", accepted)
    return UserCredentials(
        user,
        _secret(name, table, "authentication_password", SHORTEST_PASSWORD),
        _secret(name, table, "privacy_password", SHORTEST_PASSWORD),
        _choice(name, table, "authentication", AUTHENTICATIONS),
        _choice(name, table, "privacy", PRIVACIES),
        _word(name, table),
    )


def _check_keys(name: str, table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            raise FieldError(f"{name}.{printable(key)}", "this", did_you_mean(key, keys))


def _secret(name: str, table: Mapping[str, Any], key: str, shortest: int) -> str:
    value = table.get(key)
    if value is None:
        raise FieldError(f"{name}.{key}", MISSING, "a text")
    if not isinstance(value, str) or len(value.encode()) < shortest:
        raise FieldError(f"{name}.{key}", "this", f"a text of at least {shortest} octets")
    return value


def _choice(name: str, table: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str:
    value = table.get(key, choices[0])
    if value not in choices:
        raise FieldError(f"{name}.{key}", value, one_of(choices))
    return str(value)


def _word(name: str, table: Mapping[str, Any]) -> str:
    value = table.get("context", "")
    if not isinstance(value, str):
        raise FieldError(f"{name}.context", value, "a text")
    return value
