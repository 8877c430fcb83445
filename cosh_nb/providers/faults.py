"""What went wrong at a model service, as a sentence with a next step. Nothing here ever shows a key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cosh_nb.errors import AuthError, ContextOverflow, ProviderError, StreamCut
from cosh_nb.providers.addresses import shown, split

_OVERFLOW = re.compile(
    r"prompt is too long|maximum context length|context_length_exceeded|exceeds? (the )?(available )?context"
    r"|exceed_context_size|context (window|length|size) (is |was )?exceed|input is too long|too many (input )?tokens"
    r"|range of input length|exceeds the model'?s (maximum )?context|request_too_large|reduce the length",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(r"does not support tools|tool-call-parser|enable-auto-tool-choice|--jinja", re.IGNORECASE)
_NO_MODEL = re.compile(r"\bmodel\b|model_not_found", re.IGNORECASE)
_NO_CREDIT = re.compile(r"insufficient_quota|credit balance|billing", re.IGNORECASE)
_KEYISH = re.compile(r"\b(?:(?:sk|pk|key)[-_]|Bearer\s+)(?=\S*[\d*])[\w*.\-]{6,}")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Service:
    """Whom we talk to, in the words a person knows."""

    name: str
    """"Anthropic", "Ollama"."""
    url: str
    model: str = ""
    key_name: str = ""
    """The variable that holds the key; empty where none is needed."""
    url_name: str = ""
    """The variable that holds the address."""
    url_hint: str = ""
    """What is often wrong with the address."""

    @property
    def place(self) -> str:
        """The address without user, password and query."""
        return shown(self.url)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer whose status is not 200."""

    status: int
    headers: Mapping[str, str]
    body: str


def out_of_credit(body: str) -> bool:
    """Whether a 429 means that money ran out, so that waiting does not help."""
    return _NO_CREDIT.search(body) is not None


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without these secrets and without anything that looks like a key."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "[key]")
    return _KEYISH.sub("[key]", text)


def said(body: str) -> str:
    """What the service said, in its own words, one line, at most 300 characters."""
    words = _message(body)
    one_line = " ".join(words.split())
    return one_line if len(one_line) <= 300 else one_line[:299] + "…"


def refused(service: Service, refusal: Refusal, secrets: Iterable[str] = (), *, retry: bool = False) -> ProviderError:
    """The error for a status that is not 200."""
    secrets = tuple(secrets)
    status = refusal.status
    words = redact(said(refusal.body), secrets)
    detail = f"HTTP {status} from {service.place}\n{redact(refusal.body[:4000], secrets)}".strip()
    quoted = f": {words}" if words else "."
    name, model = service.name, service.model
    kind: type[ProviderError] = ProviderError
    if status == 413 or (status in {400, 422, 500} and _OVERFLOW.search(refusal.body)):
        kind = ContextOverflow
        sentence = (
            f"The conversation is longer than {model or 'the model'} takes{quoted} "
            "Shorten it with %cosh /compact, or start a new one with %cosh /new."
        )
    elif status == 401:
        kind = AuthError
        sentence = (
            f"{name} did not accept the key{_held(service)}{quoted} {_set_key(service)}"
            if secrets
            else f"{name} asks for a key{quoted} {_set_key(service)}"
        )
    elif status in {402, 429} and out_of_credit(refusal.body):
        sentence = f"The account at {name} has no credit left{quoted} Top it up there, or choose another provider."
    elif status == 403:
        kind = AuthError
        sentence = (
            f"{name} does not let this key use {model or 'this model'}{quoted} "
            f"Check what the key may do, or choose another model with %cosh /model."
        )
    elif _NO_TOOLS.search(refusal.body) and status < 500:
        sentence = (
            f"{name} cannot call tools with {model}{quoted} Choose a model that can (%cosh /model NAME). "
            "vLLM needs --enable-auto-tool-choice and --tool-call-parser, llama.cpp needs --jinja."
        )
    elif status == 404 and _NO_MODEL.search(words):
        pull = f"Fetch it with: ollama pull {model}. " if name == "Ollama" else ""
        sentence = (
            f"{name} does not know the model {model!r}{quoted} {pull}"
            f"%cosh /model lists the models you can use; --model NAME or COSH_MODEL chooses one."
        )
    elif status in {404, 405}:
        sentence = f"There is no model service at {service.place} (HTTP {status}){quoted} {_check_url(service)}"
    elif 300 <= status < 400:
        target = refusal.headers.get("location", "another address")
        sentence = f"{service.place} sends on to {redact(target, secrets)}. Set {_url_name(service)} to that address."
    elif status == 429:
        sentence = (
            f"{name} limits how often you may ask{quoted} "
            "Wait a minute and run the cell again, or choose another model with --model."
        )
    elif status in {408, 409} or status >= 500:
        sentence = f"{name} has trouble of its own (HTTP {status}){quoted} Run the cell again in a minute."
    else:
        sentence = (
            f"{name} did not accept the request (HTTP {status}){quoted} "
            "If it names a setting, change that; if not, try another model with --model."
        )
    return kind(sentence, detail=detail, retryable=retry, status=status)


def unreachable(service: Service, why: str, detail: str, *, retry: bool = True) -> ProviderError:
    """The error for a connection that did not come about or broke; `why` is one of the words below."""
    match why:
        case "refused":
            sentence = f"Nothing answers at {service.place}. Start the server there, or {_check_url(service, low=True)}"
        case "name":
            host = split(service.url).hostname
            sentence = f"The host {host!r} was not found. Check the network, or {_check_url(service, low=True)}"
        case "timeout":
            sentence = f"{service.place} does not answer. Check the network and proxy, or try again in a minute."
        case "tls":
            sentence = (
                f"The certificate of {service.place} was not accepted. If your network inspects traffic, "
                "set SSL_CERT_FILE to your organisation's certificates; else do not trust this address."
            )
        case "no tls":
            sentence = f"{service.place} does not speak https. If the server is yours, its address starts with http:"
        case "proxy":
            sentence = f"The proxy on the way to {service.place} failed. Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."
        case "url":
            sentence = f"{service.place!r} is no address of a model service. {_check_url(service)}"
        case _:
            sentence = f"The connection to {service.name} broke off. Run the cell again."
    return ProviderError(sentence, detail=detail, retryable=retry)


def stalled(service: Service, seconds: float) -> ProviderError:
    """The error for a silence that is too long."""
    return ProviderError(
        f"{service.name} sent nothing for {seconds:.0f} s, so the request was given up. Run the cell again; "
        "a slow local model is given more time by the setting stallSeconds.",
        retryable=True,
    )


def cut(service: Service) -> StreamCut:
    """The error for a stream that ended without its terminal event."""
    return StreamCut(
        f"The answer of {service.name} broke off before its end, so it is not complete. Run the cell again.",
        retryable=True,
    )


def not_a_stream(service: Service, content_type: str, body: str, secrets: Iterable[str] = ()) -> ProviderError:
    """The error for an answer that is no event stream: most often the page of a proxy or a login."""
    page = "html" in content_type or body.lstrip()[:1] == "<"
    what = f"a web page{_titled(body)}" if page else f"{content_type or 'an unknown type'}"
    return ProviderError(
        f"{service.place} answered with {what} instead of a model's stream. A proxy or a login page may stand "
        f"between, or {_check_url(service, low=True)}",
        detail=redact(body[:4000], secrets),
        status=200,
    )


def garbled(service: Service, frame: str, secrets: Iterable[str] = ()) -> ProviderError:
    """The error for a frame that is not JSON or not UTF-8."""
    return ProviderError(
        f"{service.name} sent something in the middle of its stream that is not understood. Run the cell again; if it "
        f"stays, a proxy may change the traffic or {_check_url(service, low=True)}",
        detail=redact(frame, secrets),
        retryable=True,
    )


_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip


def in_stream(service: Service, event: Mapping[str, Any], secrets: Iterable[str] = ()) -> ProviderError:
    """The error for an error event in the middle of a stream."""
    error = event.get("error")
    kind = error.get("type") if isinstance(error, Mapping) else ""
    code = error.get("code") if isinstance(error, Mapping) else None
    status = _STATUS.get(str(kind), code if isinstance(code, int) and 400 <= code < 600 else 500)
    body = json.dumps(event, ensure_ascii=False, default=str)
    return refused(service, Refusal(status, {}, body), secrets, retry=status in {408, 409, 429} or status >= 500)


def clean(error: ProviderError, secrets: Iterable[str]) -> ProviderError:
    """The error without these secrets, whoever made its sentence."""
    secrets = tuple(secrets)
    error.args = (redact(str(error), secrets),)
    error.detail = redact(error.detail, secrets)
    return error


def no_key(service: Service, why: str) -> AuthError:
    """The error for a provider that was chosen and has no key."""
    return AuthError(f"{service.name} was chosen ({why}), but there is no key. {_set_key(service)}", status=401)


def bad_key(service: Service) -> AuthError:
    """The error for a key that cannot be sent at all."""
    return AuthError(
        f"The key for {service.name}{_held(service)} holds characters that no key has (a line break, a quote, an "
        f"ellipsis?). Copy it again. {_set_key(service)}",
        status=401,
    )


# -- words -------------------------------------------------------------------------------------------------------------


def _message(body: str) -> str:
    try:
        value = json.loads(body)
    except ValueError:
        return _TAG.sub(" ", body)[:2000]
    if isinstance(value, list) and value:
        value = value[0]
    for key in ("error", "detail", "message"):
        if isinstance(value, Mapping) and value.get(key):
            value = value[key]
            break
    if isinstance(value, Mapping):
        value = value.get("message") or value.get("msg") or value
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _titled(body: str) -> str:
    found = _TITLE.search(body)
    title = " ".join(found[1].split())[:80] if found else ""
    return f" ({title!r})" if title else ""


def _held(service: Service) -> str:
    return f" in {service.key_name}" if service.key_name else ""


def _set_key(service: Service) -> str:
    name = service.key_name or "the key's variable"
    return f'Set {name}, for this kernel: import os, getpass; os.environ["{name}"] = getpass.getpass()'


def _url_name(service: Service) -> str:
    return service.url_name or "the base URL"


def _check_url(service: Service, *, low: bool = False) -> str:
    start = "check" if low else "Check"
    hint = f"; {service.url_hint}" if service.url_hint else ""
    return f"{start} {_url_name(service)} (now {service.place}{hint})."
