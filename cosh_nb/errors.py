"""The error tree. Every message is a sentence with a next step; `detail` is for whoever wants to see more."""

from __future__ import annotations


class CoshError(Exception):
    """Something the person should read. `retryable` says that trying again may help."""

    def __init__(self, message: str, *, detail: str = "", retryable: bool = False) -> None:
        super().__init__(message)
        self.detail = detail
        self.retryable = retryable


class UsageError(CoshError):
    """The command or its options were wrong."""


class SettingsError(CoshError):
    """A settings file does not parse or holds a value that is not understood."""


class SessionError(CoshError):
    """A session cannot be opened, read or written."""


class ProviderError(CoshError):
    """A model service failed. `status` is its HTTP status, 0 where there was none."""

    def __init__(self, message: str, *, detail: str = "", retryable: bool = False, status: int = 0) -> None:
        super().__init__(message, detail=detail, retryable=retryable)
        self.status = status


class AuthError(ProviderError):
    """The key is missing or wrong."""


class ContextOverflow(ProviderError):
    """The conversation is longer than the model takes."""


class StreamCut(ProviderError):
    """The stream ended without its terminal event."""
