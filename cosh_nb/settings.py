"""Settings, layer over layer: the user's file < the folder's < the folder's local one < environment < this call.

Until the person trusts a folder, its files contribute deny and ask rules and nothing else: mode, env, base URLs,
provider, key helpers, additional directories, allow rules, hooks, servers are ignored and listed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cosh_nb.errors import SettingsError
from cosh_nb.paths import claude_folder
from cosh_nb.trust import Trust
from cosh_tools.kinds import PermissionMode
from cosh_tools.own_files import write_atomic
from cosh_tools.policy.rules import BadRule, Rule, Rules, parse_rule

HARMLESS = frozenset({"$schema", "permissions"})
"""Top-level keys of an untrusted folder that are not reported: of permissions, deny and ask are taken."""


@dataclass(frozen=True)
class Settings:
    """What is in force for one workspace."""

    workspace: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    env: Mapping[str, str] = field(default_factory=dict)
    """The process environment under the settings' own `env`."""
    own_env: Mapping[str, str] = field(default_factory=dict)
    """The settings' own `env` alone."""
    live: bool = False
    """Whether `env` was taken from this process, which may change it."""
    extra_roots: tuple[Path, ...] = ()
    trusted: bool = False
    ignored: tuple[str, ...] = ()
    """What an untrusted folder asked for and did not get, a sentence each."""
    problems: tuple[str, ...] = ()
    """Files and rules that could not be read, a sentence each."""
    sources: tuple[Path, ...] = ()

    def environment(self) -> dict[str, str]:
        """The environment as it is now: a key that was set a moment ago in the notebook counts."""
        return {**os.environ, **self.own_env} if self.live else dict(self.env)

    def mode(self, default: PermissionMode) -> PermissionMode:
        """The permission mode: COSH_APPROVAL_MODE, else the settings' defaultMode, else `default`.

        Raises SettingsError for a name that is none.
        """
        named = self.env.get("COSH_APPROVAL_MODE") or self.values.get("permissions", {}).get("defaultMode")
        if not named:
            return default
        try:
            return PermissionMode.parse(str(named))
        except ValueError as error:
            raise SettingsError(f"{error} It is set by COSH_APPROVAL_MODE or permissions.defaultMode.") from None


def load(workspace: Path, env: Mapping[str, str] | None = None, *, trust: Trust | None = None) -> Settings:
    """Read all layers. Never raises: what cannot be read is a sentence in `problems`."""
    environment = dict(os.environ if env is None else env)
    trusted = (trust or Trust.load()).covers(workspace)
    values: dict[str, Any] = {}
    found = _Found()
    folder = workspace / ".claude"
    layers = [(claude_folder() / "settings.json", True)]
    if folder.resolve() != claude_folder().resolve():
        layers += [(folder / "settings.json", trusted), (folder / "settings.local.json", trusted)]
    for file, full in layers:
        layer = found.read(file)
        if layer is None:
            continue
        found.rules(layer, file, workspace, full)
        if full:
            _merge(values, layer)
        else:
            found.ignore(layer, file)
    permissions = values.get("permissions")
    directories = permissions.get("additionalDirectories", []) if isinstance(permissions, dict) else []
    own_env: dict[str, str] = {}
    if isinstance(values.get("env"), dict):
        own_env = {str(key): str(value) for key, value in values["env"].items()}
    return Settings(
        workspace=workspace,
        values=values,
        rules=Rules(tuple(found.deny), tuple(found.ask), tuple(found.allow)),
        env=environment | own_env,
        own_env=own_env,
        live=env is None,
        extra_roots=tuple(workspace / Path(str(path)).expanduser() for path in directories if isinstance(path, str)),
        trusted=trusted,
        ignored=tuple(found.ignored),
        problems=tuple(found.problems),
        sources=tuple(found.sources),
    )


class UserSettings:
    """The user's settings file as the Config tool and `%cosh /config` write it (hosts.SettingsHost)."""

    def __init__(self, settings: Settings, live: MutableMapping[str, Any] | None = None) -> None:
        self._settings = settings
        self._live = live if live is not None else {}

    def get(self, key: str) -> Any:
        """The value in force; None where nothing is set."""
        if key in self._live:
            return self._live[key]
        node: Any = self._settings.values
        for part in key.split("."):
            node = node.get(part) if isinstance(node, Mapping) else None
        return node

    def set(self, key: str, value: Any) -> Path:
        """Write one value, keep everything else; the file written.

        Raises SettingsError where the file does not parse: it is left as it is.
        """
        from filelock import FileLock  # loaded where settings are written

        file = claude_folder() / "settings.json"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(f"{file}.lock", timeout=5):
            data = _parse(file) if file.exists() else {}
            node = data
            *parents, last = key.split(".")
            for part in parents:
                node = node.setdefault(part, {})
                if not isinstance(node, dict):
                    raise SettingsError(f"{key} cannot be set: {part} in {file} is not an object.")
            node[last] = value
            write_atomic(file, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
        self._live[key] = value
        return file


@dataclass
class _Found:
    deny: list[Rule] = field(default_factory=list)
    ask: list[Rule] = field(default_factory=list)
    allow: list[Rule] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    sources: list[Path] = field(default_factory=list)

    def read(self, file: Path) -> dict[str, Any] | None:
        try:
            layer = _parse(file)
        except FileNotFoundError:
            return None
        except SettingsError as error:
            self.problems.append(str(error))
            return None
        self.sources.append(file)
        return layer

    def rules(self, layer: Mapping[str, Any], file: Path, workspace: Path, full: bool) -> None:
        permissions = layer.get("permissions", {})
        if not isinstance(permissions, Mapping):
            self.problems.append(f"permissions in {file} is not an object, so none of its rules is in force.")
            return
        lists = {"deny": self.deny, "ask": self.ask, **({"allow": self.allow} if full else {})}
        for name, rules in lists.items():
            for text in permissions.get(name) or ():
                try:
                    rules.append(parse_rule(str(text), workspace))
                except BadRule as error:
                    self.problems.append(f"{error} It stands under permissions.{name} in {file} and has no effect.")

    def ignore(self, layer: Mapping[str, Any], file: Path) -> None:
        wanted = sorted(key for key in layer if key not in HARMLESS)
        permissions = layer.get("permissions", {})
        if isinstance(permissions, Mapping):
            wanted += sorted(f"permissions.{key}" for key in permissions if key not in {"deny", "ask"})
        self.ignored += [f"{key} in {file.parent.name}/{file.name}" for key in wanted]


def _parse(file: Path) -> dict[str, Any]:
    try:
        data = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SettingsError(f"{file} cannot be read ({error.strerror}), so it is not in force.") from None
    except ValueError as error:
        raise SettingsError(f"{file} is not valid JSON ({error}). It is not in force and was left as it is.") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{file} does not hold an object, so it is not in force.")
    return data


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """Objects merge, lists add up, anything else is replaced."""
    for key, value in layer.items():
        have = into.get(key)
        if isinstance(have, dict) and isinstance(value, Mapping):
            _merge(have, value)
        elif isinstance(have, list) and isinstance(value, list):
            into[key] = [*have, *(item for item in value if item not in have)]
        else:
            into[key] = json.loads(json.dumps(value))
