"""Which model answers, and why: COSH_PROVIDER, then settings, then what keys and servers there are, else offline.

`decide` is pure; `choose` looks around where the decision needs it and asks the person before a server that was
merely found on this machine is used: on a shared host another user may listen there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cosh_nb.errors import ProviderError, UsageError
from cosh_nb.providers import loopback
from cosh_nb.providers.loopback import Server
from cosh_nb.providers.models import default_model, find, spelled_out

if TYPE_CHECKING:
    from cosh_nb.providers.base import Provider
    from cosh_nb.providers.retry import Patience

NAMES = ("anthropic", "openai", "dashscope", "ollama", "llamacpp", "lmstudio", "vllm", "offline", "recorded")
DASHSCOPE_URL = "https://dashscope.aliyuncs.com/compatible-mode/v1"

Consent = Callable[[str, str], Awaitable[bool]]
"""Asked with the server's address and the model: may it be used?"""


@dataclass(frozen=True, slots=True)
class Choice:
    """A provider, and why it is this one."""

    provider: str
    """One of NAMES."""
    model: str = ""
    reason: str = ""
    """In words that complete "chosen because"."""
    base_url: str = ""
    key_source: str = ""
    """The variable that held the key, "apiKeyHelper", or empty: no key."""
    key: str = field(default="", repr=False)
    helper: str = ""
    offer: Server | None = None
    """A server that was found on this machine and needs a yes first."""
    stall: tuple[float, float] | None = None
    """Seconds of silence before the first event, and between events, where the person set them."""

    @property
    def is_language_model(self) -> bool:
        """False for the embedded default."""
        return self.provider not in {"offline", "recorded"}

    @property
    def runs_here(self) -> bool:
        """Whether it runs on this machine, so that its tokens cost nothing."""
        from cosh_nb.providers.wire import is_loopback

        return not self.is_language_model or bool(self.base_url and is_loopback(self.base_url))


async def choose(
    env: Mapping[str, str],
    settings: Mapping[str, Any],
    provider: str | None = None,
    model: str | None = None,
    consent: Consent | None = None,
) -> Choice:
    """Decide, after looking at the servers that the decision depends on. Raises UsageError for an unknown name."""
    found = await look_around(env, settings, provider, model)
    choice = decide(env, settings, found, provider=provider, model=model)
    offer = choice.offer
    if offer is not None and consent is not None and await consent(_host(offer.url), _pick(offer, model)):
        choice = decide(env, settings, found, agreed={offer.url}, provider=provider, model=model)
    return choice


async def look_around(
    env: Mapping[str, str], settings: Mapping[str, Any], provider: str | None = None, model: str | None = None
) -> list[Server]:
    """The model servers whose list of models decides something; nothing is asked where a key decides."""
    first = decide(env, settings, provider=provider, model=model)
    if first.provider == "offline" and not _named(env, settings, provider):
        return await loopback.probe_loopback()
    if not first.is_language_model or first.model:
        return []
    kind = first.provider if first.provider in {"ollama", "llamacpp", "lmstudio", "vllm"} else "openai"
    server = Server(kind, _title(first.provider), first.base_url)
    found = await loopback.probe(server, timeout=5.0, key=_key(first))
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
    scene = _Scene(env, settings, tuple(found), model)
    named = _named(env, settings, provider)
    if named:
        return scene.named(*named)
    wanted = find(scene.wanted_model())
    if wanted is not None and wanted.provider == "openai" and env.get("OPENAI_API_KEY"):
        return scene.openai(f"the model {wanted.id} is OpenAI's, and OPENAI_API_KEY is set")
    if source := scene.anthropic_source():
        return scene.anthropic(f"{source} is set")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        if env.get(name):
            return scene.openai(f"{name} is set")
    if env.get("DASHSCOPE_API_KEY"):
        return scene.dashscope("DASHSCOPE_API_KEY is set")
    if env.get("OLLAMA_HOST"):
        return scene.server("ollama", loopback.ollama_url(env["OLLAMA_HOST"]), "OLLAMA_HOST is set")
    for server in found:
        if server.url in agreed:
            return scene.server(server.kind, server.url, f"{server.name} answers on this machine, and you agreed")
    offer = found[0] if found else None
    why = "no key is set and no model server answers on this machine"
    if offer is not None:
        why = f"no key is set, and {offer.name} on this machine is used only after your yes"
    return Choice("offline", reason=why, offer=offer)


def build(choice: Choice) -> Provider:
    """The provider that was chosen. Raises AuthError where its key is missing, ProviderError where its model is."""
    if choice.provider == "offline":
        from cosh_nb.providers.offline import OfflineProvider

        return OfflineProvider()
    if choice.provider == "recorded":
        from cosh_nb.providers.recorded import RecordedProvider

        if not choice.model:
            raise UsageError("The provider recorded needs a recording: name it with --replay NAME.")
        return RecordedProvider(choice.model)
    from cosh_nb.providers import faults

    service = _service(choice)
    if not choice.key and not choice.helper and not choice.base_url:
        raise faults.no_key(service, choice.reason)
    if not choice.model:
        raise ProviderError(
            f"{service.name} at {service.place} does not answer, or has no model that can call tools. Start it"
            f"{', load one (ollama pull gpt-oss:20b),' if choice.provider == 'ollama' else ''} or name a model with "
            "--model NAME or COSH_MODEL."
        )
    if choice.provider == "anthropic":
        from cosh_nb.providers.anthropic import AnthropicProvider
        from cosh_nb.providers.retry import PINGED

        key = _key(choice)
        return AnthropicProvider(choice.model, key, choice.base_url, patience=_patience(choice, PINGED))
    from cosh_nb.providers.openai import OpenAIProvider
    from cosh_nb.providers.retry import Patience

    return OpenAIProvider(choice.model, _key(choice), service=service, patience=_patience(choice, Patience()))


# -- the cases --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scene:
    env: Mapping[str, str]
    settings: Mapping[str, Any]
    found: tuple[Server, ...]
    model: str | None

    def named(self, name: str, reason: str) -> Choice:
        match name:
            case "anthropic":
                return self.anthropic(reason)
            case "openai":
                return self.openai(reason)
            case "dashscope":
                return self.dashscope(reason)
            case "offline":
                return Choice("offline", reason=reason)
            case "recorded":
                return Choice("recorded", self.model or "", reason)
            case _:
                usual = loopback.known_server(name)
                url = usual.url if usual else ""
                if name == "ollama" and self.env.get("OLLAMA_HOST"):
                    url = loopback.ollama_url(self.env["OLLAMA_HOST"])
                return self.server(name, self._settings_url(name) or url, reason)

    def anthropic_source(self) -> str:
        for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
            if self.env.get(name):
                return name
        return "apiKeyHelper" if self._helper() else ""

    def anthropic(self, reason: str) -> Choice:
        source = self.anthropic_source()
        return Choice(
            "anthropic",
            self._model_for("anthropic"),
            reason,
            self.env.get("ANTHROPIC_BASE_URL", "") or self._settings_url("anthropic"),
            source,
            self.env.get(source, ""),
            self._helper() if source == "apiKeyHelper" else "",
            stall=self._stall(),
        )

    def openai(self, reason: str) -> Choice:
        url = self.env.get("OPENAI_BASE_URL", "") or self._settings_url("openai")
        model = self._model_for("openai", default=not url)
        return self._compatible("openai", url, "OPENAI_API_KEY", model, reason)

    def dashscope(self, reason: str) -> Choice:
        url = self._settings_url("dashscope")
        return self._compatible("dashscope", url, "DASHSCOPE_API_KEY", self._model_for("dashscope"), reason)

    def server(self, kind: str, url: str, reason: str) -> Choice:
        return self._compatible(kind, url, "", self._model_for(kind, url, default=False), reason)

    def _compatible(self, name: str, url: str, key_name: str, model: str, reason: str) -> Choice:
        key = self.env.get(key_name, "") if key_name else ""
        helper = "" if key or self.settings.get("provider") != name else self._helper()
        source = key_name if key else "apiKeyHelper" if helper else ""
        if not model:
            model = next((server.models[0] for server in self.found if url in ("", server.url) and server.models), "")
        return Choice(name, model, reason, url, source, key, helper, stall=self._stall())

    def wanted_model(self) -> str:
        return spelled_out(self.model or self.env.get("COSH_MODEL") or str(self.settings.get("model") or ""))

    def _model_for(self, provider: str, url: str = "", *, default: bool = True) -> str:
        """The model that somebody named, unless only the settings name it and it is another service's."""
        said = self.model or self.env.get("COSH_MODEL") or ""
        if not said and (set_ := str(self.settings.get("model") or "")):
            known = find(spelled_out(set_))
            lists = any(set_ in server.models for server in self.found if server.url == url)
            if lists or known is None or known.provider == provider or (provider == "openai" and not default):
                said = set_
        return (spelled_out(said) if provider == "anthropic" else said) or (default_model(provider) if default else "")

    def _settings_url(self, provider: str) -> str:
        """`baseUrl` of the settings belongs to the provider that the settings name."""
        mine = self.settings.get("provider") == provider
        return str(self.settings.get("baseUrl") or "") if mine else ""

    def _helper(self) -> str:
        return str(self.settings.get("apiKeyHelper") or "")

    def _stall(self) -> tuple[float, float] | None:
        match self.settings.get("stallSeconds"):
            case {"first": int() | float() as first, "between": int() | float() as between}:
                return float(first), float(between)
            case int() | float() as both if both > 0:
                return float(both), float(both)
            case _:
                return None


def _named(env: Mapping[str, str], settings: Mapping[str, Any], provider: str | None) -> tuple[str, str] | None:
    """The provider that somebody named, and who did."""
    said = [(provider, "you named it"), (env.get("COSH_PROVIDER"), "COSH_PROVIDER names it")]
    said.append((settings.get("provider"), "the settings name it"))
    for name, who in said:
        if not name:
            continue
        plain = str(name).strip().lower().replace(".", "").replace(" ", "").replace("_", "").replace("-", "")
        if plain not in NAMES:
            raise UsageError(f"There is no provider {name!r} ({who}). Choose one of {', '.join(NAMES)}.")
        return plain, who
    return None


def _service(choice: Choice) -> Any:
    from cosh_nb.providers.faults import Service
    from cosh_nb.providers.openai import OPENAI

    match choice.provider:
        case "anthropic":
            url = choice.base_url or "https://api.anthropic.com"
            return Service(
                "Anthropic", url, choice.model, choice.key_source or "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"
            )
        case "openai":
            url = choice.base_url or OPENAI.url
            return Service(OPENAI.name, url, choice.model, OPENAI.key_name, OPENAI.url_name, OPENAI.url_hint)
        case "dashscope":
            url = choice.base_url or DASHSCOPE_URL
            return Service("DashScope", url, choice.model, "DASHSCOPE_API_KEY")
        case name:
            url_name = "OLLAMA_HOST" if name == "ollama" else "baseUrl in the settings"
            return Service(_title(name), choice.base_url, choice.model, url_name=url_name)


def _key(choice: Choice) -> Any:
    from cosh_nb.providers.keys import Key

    header = "x-api-key" if choice.key_source == "ANTHROPIC_API_KEY" else "authorization"
    if choice.provider == "anthropic" and not choice.key_source:
        header = "x-api-key"
    return Key(choice.key, header, choice.helper)


def _patience(choice: Choice, usual: Patience) -> Patience:
    from dataclasses import replace

    if choice.stall is None:
        return usual
    return replace(usual, first=choice.stall[0], between=choice.stall[1])


def _title(kind: str) -> str:
    usual = loopback.known_server(kind)
    return usual.name if usual else {"openai": "OpenAI", "dashscope": "DashScope"}.get(kind, kind)


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).netloc


def _pick(server: Server, model: str | None) -> str:
    return model or server.models[0]
