"""Places that always ask before they are written, and secrets that ask before they are read."""

from __future__ import annotations

import re
from pathlib import Path

_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".gcloud"})
_SECRET_FILES = frozenset(
    {
        ".git-credentials", ".netrc", ".npmrc", ".pgpass", ".pypirc", "authorized_keys", "credentials",
        "credentials.json", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "shadow", "sudoers",
    }
)  # fmt: skip
_FOLDERS = frozenset({".git", ".hg", ".svn", ".jj", ".copilot-shell", ".ipython", ".jupyter", ".vscode", ".idea"})
_FILES = frozenset(
    {
        ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".envrc", ".gitconfig", ".gitmodules", ".inputrc",
        ".mcp.json", ".profile", ".zlogin", ".zprofile", ".zshenv", ".zshrc", "cosh-extension.json",
    }
)  # fmt: skip
_ENV = re.compile(r"\.env(\.(?!example$|sample$|template$|dist$).*)?", re.IGNORECASE)
_KEY = re.compile(r".*\.(pem|key|p12|pfx|keystore|jks|kdbx|ppk)", re.IGNORECASE)
_SYSTEM = ("/etc", "/bin", "/sbin", "/usr", "/lib", "/lib64", "/boot", "/dev", "/proc", "/sys", "/System", "/Library")


def is_secret(real: Path) -> bool:
    """Whether a resolved path holds keys or passwords: reading it asks."""
    name = real.name.lower()
    return (
        any(part.lower() in _SECRET_FOLDERS for part in real.parts)
        or name in _SECRET_FILES
        or _ENV.fullmatch(name) is not None
        or _KEY.fullmatch(name) is not None
    )


def is_protected(real: Path) -> bool:
    """Whether writing a resolved path always asks: secrets, settings, version control, start-up files, the system."""
    lowered = [part.lower() for part in real.parts]
    return (
        is_secret(real)
        or any(part in _FOLDERS for part in lowered)
        or _is_settings(lowered)
        or real.name.lower() in _FILES
        or any(real.is_relative_to(folder) for folder in _SYSTEM)
    )


def _is_settings(parts: list[str]) -> bool:
    """`.claude/` holds settings, hooks and skills; its worktrees are ordinary source trees."""
    if ".claude" not in parts:
        return False
    return parts[parts.index(".claude") + 1 :][:1] != ["worktrees"]
