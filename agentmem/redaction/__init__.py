"""Secrets in text: where they are, and the text without them.

Precision comes first: a rule looks for what an issuer marked as a key, for a private-key block, or for a
place where a credential stands (an address, a header, an assignment) with a value that is no word and
no placeholder. So secrets without any mark are missed, and whoever relies on this must say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from agentmem.redaction.credentials import credentials
from agentmem.redaction.keyblocks import key_blocks
from agentmem.redaction.tokens import tokens

_PASSES = 8
"""The second finds nothing, unless a secret touched another one; the limit is for texts made to annoy."""


@dataclass(frozen=True)
class Secret:
    """A secret in a text.

    Attributes:
        kind: such as `github token`.
        start: offset of its first character.
        end: offset past its last character.
    """

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """Return the secrets in a text, in order; none overlaps another."""
    # The sort is stable: of rules that agree on where a secret starts and ends, the most telling names it.
    candidates = sorted(
        (Secret(*found) for rule in (key_blocks, tokens, credentials) for found in rule(text)),
        key=lambda secret: (secret.start, -secret.end),
    )
    secrets: list[Secret] = []
    for secret in candidates:
        if secrets and secret.start < secrets[-1].end:
            last = secrets[-1]
            secrets[-1] = Secret(last.kind, last.start, max(last.end, secret.end))
        else:
            secrets.append(secret)
    return secrets


def redact(text: str) -> str:
    """Return the text with each secret replaced by `[redacted: kind]`; doing so again changes nothing."""
    for _ in range(_PASSES):
        secrets = find(text)
        if not secrets:
            break
        parts: list[str] = []
        done = 0
        for secret in secrets:
            parts += (text[done : secret.start], f"[redacted: {secret.kind}]")
            done = secret.end
        text = "".join((*parts, text[done:]))
    return text
