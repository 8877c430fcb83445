"""Which model answers, and why: COSH_PROVIDER, then settings, then what keys and servers there are, else offline.

`decide` is pure; `choose` looks around where the decision needs it, and asks the person before a server that was
merely found on this machine is used: on a shared host another user may listen there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cosh_nb.errors import UsageError
from cosh_nb.providers import loopback
from cosh_nb.providers.addresses import host, is_loopback
from cosh_nb.providers.building import build
from cosh_nb.providers.loopback import Server
from cosh_nb.providers.models import default_model, find, spelled_out

__all__ = ["NAMES", "Choice", "build", "choose", "decide", "look_around"]

NAMES = ("anthropic", "openai", "dashscope", "ollama", "llamacpp", "lmstudio", "vllm", "offline", "recorded")
LOCAL = frozenset({"ollama", "llamacpp", "lmstudio", "vllm"})

Consent = Callable[[str, str], Awaitable[bool]]
"""Asked with the server's address and the model: may it be used?"""
Look = Callable[[], Awaitable[list[Server]]]
"""Finds the model servers of this machine."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A provider, and why it is this one."""

    provider: str
    """One of NAMES."""
    model: str = ""
    """Empty where nobody named one and the server did not say which it has."""
    reason: str = ""
    """In words that complete "chosen because"."""
    base_url: str = ""
    """Empty for the service's own address."""
    key_source: str = ""
    """The variable that holds the key, "apiKeyHelper", or empty: no key."""
    key: str = field(default="", repr=False)
    helper: str = field(default="", repr=False)
    offer: Server | None = None
    """A server that was found on this machine and needs a yes first."""
    stall: tuple[float, float] | None = None
    """Seconds of silence before the first event, and between events, where the person set them."""

    @property
    def is_language_model(self) -> bool:
        """False for the embedded default and for recordings."""
        return self.provider not in {"offline", "recorded"}

    @property
    def runs_here(self) -> bool:
        """Whether the model runs on this machine, so that its tokens cost nothing."""
        return not self.is_language_model or (self.provider in LOCAL and is_loopback(self.base_url))


async def choose(
    env: Mapping[str, str],
    settings: Mapping[str, Any],
    provider: str | None = None,
    model: str | None = None,
    consent: Consent | None = None,
    look: Look = loopback.probe_loopback,
) -> Choice:
    """Decide, after looking at the servers that the decision depends on. Raises UsageError for an unknown name."""
    found = await look_around(env, settings, provider, model, look)
    choice = decide(env, settings, found, provider=provider, model=model)
    offer = choice.offer
    if offer is None or consent is None or not await consent(host(offer.url), model or offer.models[0]):
        return choice
    return decide(env, settings, found, agreed={offer.url}, provider=provider, model=model)


async def look_around(
    env: Mapping[str, str],
    settings: Mapping[str, Any],
    provider: str | None = None,
    model: str | None = None,
    look: Look = loopback.probe_loopback,
) -> list[Server]:
    """The model servers whose list of models decides something; nothing is asked where a key decides."""
    first = decide(env, settings, provider=provider, model=model)
    if first.provider == "offline" and _named(env, settings, provider) is None:
        return await look()
    if not first.is_language_model or first.model:
        return []
    kind = first.provider if first.provider in LOCAL else "openai"
    found = await loopback.probe(Server(kind, first.provider, first.base_url), 5.0, first.key)
    return [found] if found else []


def decide(
    env: Mapping[str, str],
    settings: Mapping[str, Any],
    found: Sequence[Server] = (),
    *,
    agreed: Collection[str] = (),
    provider: str | None = None,
    model: str | None = None,
) -> Choice:
    """The choice for this environment, these settings and these servers. Raises UsageError for an unknown name."""
    scene = _Scene(env, settings, tuple(found), (model or "").strip())
    if named := _named(env, settings, provider):
        return scene.named(*named)
    wanted = find(spelled_out(scene.asked_model()))
    if wanted is not None and wanted.provider == "openai" and env.get("OPENAI_API_KEY"):
        return scene.openai(f"{wanted.id} is a model of OpenAI, and OPENAI_API_KEY is set")
    if source := scene.anthropic_source():
        return scene.anthropic(f"{source} is set")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        if env.get(name):
            return scene.openai(f"{name} is set")
    if env.get("DASHSCOPE_API_KEY"):
        return scene.dashscope("DASHSCOPE_API_KEY is set")
    if env.get("OLLAMA_HOST"):
        return scene.server("ollama", "OLLAMA_HOST is set")
    for server in found:
        if server.url in agreed:
            return scene.server(server.kind, f"{server.name} answers on this machine, and you agreed", server.url)
    if found:
        why = f"no key is set, and {found[0].name} on this machine is used only after your yes"
        return Choice("offline", "", why, offer=found[0])
    return Choice("offline", "", "no key is set and no model server answers on this machine")


def _named(env: Mapping[str, str], settings: Mapping[str, Any], provider: str | None) -> tuple[str, str] | None:
    """The provider that somebody named, and who did."""
    said = ((provider, "you named it"), (env.get("COSH_PROVIDER"), "COSH_PROVIDER names it"))
    for name, who in (*said, (settings.get("provider"), "the settings name it")):
        if name and str(name).strip():
            plain = "".join(letter for letter in str(name).lower() if letter.isalnum())
            if plain not in NAMES:
                raise UsageError(f"There is no provider {name!r} ({who}). Choose one of {', '.join(NAMES)}.")
            return plain, who
    return None


@dataclass(frozen=True, slots=True)
class _Scene:
    """What there is to decide from."""

    env: Mapping[str, str]
    settings: Mapping[str, Any]
    found: tuple[Server, ...]
    model: str
    """Named for this call."""

    def named(self, name: str, reason: str) -> Choice:
        match name:
            case "anthropic":
                return self.anthropic(reason)
            case "openai":
                return self.openai(reason)
            case "dashscope":
                return self.dashscope(reason)
            case "offline":
                return Choice("offline", "", reason)
            case "recorded":
                return Choice("recorded", self.model, reason)
            case _:
                return self.server(name, reason)

    def anthropic_source(self) -> str:
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if self.env.get(name):
                return name
        return "apiKeyHelper" if self._helper() else ""

    def anthropic(self, reason: str) -> Choice:
        source = self.anthropic_source()
        url = self.env.get("ANTHROPIC_BASE_URL") or self._own_url("anthropic")
        model = spelled_out(self._model("anthropic")) or default_model("anthropic")
        return self._made("anthropic", model, reason, url, source)

    def openai(self, reason: str) -> Choice:
        url = self.env.get("OPENAI_BASE_URL") or self._own_url("openai")
        usual = self._listed(url) if url else default_model("openai")
        return self._made("openai", self._model("" if url else "openai") or usual, reason, url, "OPENAI_API_KEY")

    def dashscope(self, reason: str) -> Choice:
        model = self._model("dashscope") or default_model("dashscope")
        return self._made("dashscope", model, reason, self._own_url("dashscope"), "DASHSCOPE_API_KEY")

    def server(self, kind: str, reason: str, url: str = "") -> Choice:
        if not url and kind == "ollama" and self.env.get("OLLAMA_HOST"):
            url = loopback.ollama_url(self.env["OLLAMA_HOST"])
        url = url or self._own_url(kind) or loopback.usual(kind).url
        listed = self._listed(url)
        set_ = str(self.settings.get("model") or "")
        lists = any(set_ in server.models for server in self.found if server.url == url)
        named = self.settings.get("provider") == kind
        model = self.model or self.env.get("COSH_MODEL") or (set_ if set_ and (lists or named) else listed)
        return self._made(kind, model, reason, url, "")

    def asked_model(self) -> str:
        """The model that somebody named, wherever."""
        return self.model or self.env.get("COSH_MODEL") or str(self.settings.get("model") or "")

    def _made(self, provider: str, model: str, reason: str, url: str, source: str) -> Choice:
        key = self.env.get(source, "") if source else ""
        helper = ""
        if not key and (source == "apiKeyHelper" or self.settings.get("provider") == provider):
            helper = self._helper()
        source = source if key else "apiKeyHelper" if helper else ""
        return Choice(provider, model, reason, url, source, key, helper, stall=self._stall())

    def _model(self, provider: str) -> str:
        """The model that somebody named. The settings are shared: theirs is left out where it is another service's."""
        said = self.model or self.env.get("COSH_MODEL") or ""
        if said or not (set_ := str(self.settings.get("model") or "")):
            return said
        known = find(spelled_out(set_))
        foreign = known is not None and known.provider != provider
        return "" if foreign else set_

    def _listed(self, url: str) -> str:
        """The first model of the server at this address."""
        return next((server.models[0] for server in self.found if server.url == url and server.models), "")

    def _own_url(self, provider: str) -> str:
        """`baseUrl` of the settings belongs to the provider that the settings name."""
        return str(self.settings.get("baseUrl") or "") if self.settings.get("provider") == provider else ""

    def _helper(self) -> str:
        return str(self.settings.get("apiKeyHelper") or "")

    def _stall(self) -> tuple[float, float] | None:
        match self.settings.get("stallSeconds"):
            case {"first": int() | float() as first, "between": int() | float() as between}:
                return float(first), float(between)
            case bool():
                return None
            case int() | float() as both if both > 0:
                return float(both), float(both)
            case _:
                return None
