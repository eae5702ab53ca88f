"""From what a provider answers to the error a person reads: one line, without the key."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from agentmem.errors import (
    ContextOverflow,
    KeyRejected,
    ModelError,
    ModelNotFound,
    ModelUnreachable,
    RateLimited,
    ToolsNotSupported,
)

_LONGEST = 300
_SHORTEST_KEY = 6  # what is shorter is a word that keeps a local server content, not a secret
_MESSAGE_KEYS = ("error", "message", "detail", "msg")

_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum (context|prompt|model) length|prompt is too long"
    r"|input is too long|too many tokens|model token limit|input token count|input tokens exceed"
    r"|exceed_context_size|tokens? \+ .{1,40} must be <=|range of input length|larger than .{0,40}context"
    r"|context the overflows|reduce the length of (the|your) (messages|prompt|input)"
    r"|body too large for .{1,80} model",
    re.IGNORECASE,
)

# The figure after these words is the limit. Ordered: the surest wording first, since most refusals
# also state how many tokens were asked for.
_NUMBER = r"\(?\[?`?(\d[\d,_.]*\d|\d)"
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum (?:context|prompt|model) length (?:of|is)(?: only)? {_NUMBER}",
        rf"available context size {_NUMBER}",
        rf"context (?:length|window|size|limit) (?:of|is)(?: only)? {_NUMBER}",
        rf"maximum number of tokens allowed {_NUMBER}",
        rf"configured limit of {_NUMBER}",
        rf"> {_NUMBER} maximum",
        rf"exceed context limit: \d+ \+ \d+ > {_NUMBER}",
        rf"model with {_NUMBER} maximum context length",
        rf"token limit: {_NUMBER}",
        rf"cannot exceed {_NUMBER}",
        rf"must be <= {_NUMBER}",
        r"input length should be \[\d+, (\d+)\]",
        rf"max size: {_NUMBER} tokens",
        rf"\"n_ctx\": ?{_NUMBER}",
    )
)

_TOOLS = re.compile(
    r"(tools?|function)([ -]?(calling|calls|use|choice|param))?\b.{0,60}"
    r"(not support|unsupported|not available|not enabled|requires --)"
    r"|(not support|unsupported|no endpoints found that support).{0,40}\b(tools?|functions?)\b"
    r"|enable-auto-tool-choice|tools param requires",
    re.IGNORECASE,
)

# What looks like a key even when it is not ours to compare with: providers echo keys half masked.
_KEYLIKE = re.compile(
    r"\b(sk|pk|rk|gsk|xai|AIza|pplx|hf|r8|key)[-_A-Za-z0-9]*[*.…]{2,}\S*|\b\S*\*{3,}\S*"
    r"|\b(sk-|gsk_|xai-|AIza|pplx-|hf_|r8_)[-_A-Za-z0-9]{12,}"
)


@dataclass(frozen=True)
class Refusal:
    """A provider's answer that is no reply.

    Attributes:
        model: the model's name as the user wrote it.
        status: HTTP status; 0 when there was none.
        body: the answer's text, JSON or not.
        retry_after: the Retry-After header, or "".
        key: the key that was sent, so that it can be taken out of the text.
        tools: the request offered tools.
        hint: what to check, should the address be wrong.
    """

    model: str
    status: int
    body: str
    retry_after: str = ""
    key: str = ""
    tools: bool = False
    hint: str = ""


def error_from(refusal: Refusal) -> ModelError:
    """Return the error a refusal stands for."""
    status, model = refusal.status, refusal.model
    words = one_line(said(refusal.body), refusal.key)
    because = f": {words}" if words else ""
    if status not in (401, 403, 404, 429) and _OVERFLOW.search(refusal.body):
        limit = stated_limit(refusal.body)
        return ContextOverflow(f"{model}: the request is longer than the model's context{because}", limit)
    if refusal.tools and _TOOLS.search(refusal.body):
        return ToolsNotSupported(f"{model} takes no tools{because}")
    match status:
        case 401 | 403:
            return KeyRejected(f"{model}: the provider rejected the key ({status}){because}")
        case 404:
            hint = f"; {refusal.hint}" if refusal.hint else ""
            return ModelNotFound(
                f"{model}: the provider does not know this model or address (404){because}{hint}"
            )
        case 429:
            return RateLimited(f"{model}: rate-limited (429), {_again(refusal.retry_after)}{because}")
    if status in (0, 408, 425) or status >= 500:  # noqa: PLR2004
        return ModelUnreachable(f"{model}: the provider failed ({status or 'mid-reply'}){because}")
    if 300 <= status < 400:  # noqa: PLR2004
        return ModelNotFound(f"{model}: the address redirects elsewhere ({status}), check the api_base")
    return ModelError(f"{model}: the provider refused the request ({status}){because}")


def _again(retry_after: str) -> str:
    """Return when to try again, from a Retry-After header: seconds or a date."""
    if retry_after.replace(".", "", 1).isdigit():
        return f"try again in {retry_after} s"
    return f"try again after {one_line(retry_after)}" if retry_after else "try again later"


def stated_limit(text: str) -> int | None:
    """Return the context length in tokens that a refusal states, or None."""
    for pattern in _LIMITS:
        if found := pattern.search(text):
            return int(re.sub(r"\D", "", found[1])) or None
    return None


def said(body: str) -> str:
    """Return the words of an error body: its message where it is JSON, the text otherwise."""
    try:
        content = json.loads(body)
    except ValueError:
        plain = re.sub(r"<(style|script|head)\b.*?</\1>|<[^>]*>", " ", body, flags=re.DOTALL | re.IGNORECASE)
        return plain.strip()
    while isinstance(content, dict | list) and content:
        if isinstance(content, list):
            content = content[0]
            continue
        inner = next((content[name] for name in _MESSAGE_KEYS if content.get(name)), None)
        if inner is None:
            break
        content = inner
    if isinstance(content, str):
        return content
    return json.dumps(content) if content else ""


def one_line(text: str, key: str = "") -> str:
    """Return a provider's words fit for an error: one line, bounded, no key, no capital at the start."""
    if len(key) >= _SHORTEST_KEY:
        text = text.replace(key, "[key]")
    line = " ".join(_KEYLIKE.sub("[key]", text).split()).rstrip(".")
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return line[:1].lower() + line[1:] if line[1:2].islower() or line[1:2] == " " else line
