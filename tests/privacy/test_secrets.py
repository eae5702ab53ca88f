"""Forty kinds of secret: on no disk, in every request."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from agentmem import Agent, input_history
from agentmem.entries import parse
from agentmem.leaks import secrets_in
from agentmem.memory import Memory
from agentmem.redaction import redact
from tests.loopback import Answer
from tests.privacy.canaries import fold
from tests.program import agree, run
from tests.test_redaction import TOKENS, jwt

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

SECRETS = {
    **{kind: found[0] for kind, found in TOKENS.items()},
    "json web token": jwt(),
    "private key": "-----BEGIN PRIVATE KEY-----\n"
    + "MIIEvQIBADANBgkqhkiG9w0B\n" * 9
    + "-----END PRIVATE KEY-----",
    "url password": "postgres://grace:" + "h0pper-1906" + "@db.internal/navy",
    "connection string": "Server=db;User Id=grace;Password=" + "h0pper1906" + ";",
    "authorization header": "Authorization: Bearer " + "Zx9" * 12,
}
PARTS = {
    "url password": "h0pper-1906",
    "connection string": "h0pper1906",
    "authorization header": "Zx9" * 12,
    "private key": "MIIEvQIBADANBgkqhkiG9w0B",
}
"""What of a secret must not be found, where it is not all of it."""


def leaked(folder: Path) -> list[str]:
    everything = b"\n".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [kind for kind, secret in SECRETS.items() if PARTS.get(kind, secret).encode() in everything]


def test_there_are_forty_kinds() -> None:
    assert len(SECRETS) >= 40


@pytest.mark.parametrize("kind", SECRETS)
def test_no_secret_reaches_the_disk_and_every_request_has_it(
    provider: Provider, workspace: Path, kind: str
) -> None:
    secret = SECRETS[kind]

    def look() -> str:
        """Look it up."""
        return f"found {secret}"

    provider.answers += [
        Answer(f"I see {secret}", calls=(("look", {}),)),
        f"You said {secret} and the tool says {secret}",
        "bye",
    ]
    with Agent("Ada", "gpt-4o", workspace_dir=workspace, tools=[look], max_loops="auto") as agent:
        agent.run(f"use this: {secret}")
        agent.run("thanks")
        said = [str(message["content"]) for message in provider.asked[-1].messages]
        assert sum(text.count(secret) for text in said) >= 4
        agent.short_memory.compact(f"They spoke of {secret}.")
        input_history.keep(agent.short_memory.memory.folder, redact(f"use this: {secret}"))  # type: ignore[union-attr]
    assert leaked(workspace) == []
    assert "[redacted: " in Memory(workspace / "agents" / "Ada").read().raw.decode()


def test_what_was_redacted_reads_back_as_it_is(workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada", redact=redact)
    stored = [memory.append("User", f"{kind}: {secret}") for kind, secret in SECRETS.items()]
    assert list(memory.read().entries) == stored
    assert parse(memory.path.read_bytes()).raw == memory.path.read_bytes()
    assert [redact(entry.text) for entry in stored] == [entry.text for entry in stored]


def test_redact_false_stores_what_was_said(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    provider.answers.append("ok")
    secret = SECRETS["github token"]
    assert run("chat", "Ada", secret, "-m", "gpt-4o", AGENTMEM_REDACT="false").code == 0
    assert leaked(workspace) == ["github token"]


def test_a_one_shot_chat_stores_none_and_prints_it(provider: Provider, workspace: Path) -> None:
    agree(workspace)
    secret = SECRETS["anthropic key"]
    provider.answers.append(f"You said {secret}.")
    ran = run("chat", "Ada", "-m", "gpt-4o", stdin=f"my key is {secret}")
    assert ran.out == f"You said {secret}.\n"
    assert secret in provider.asked[0].text
    assert leaked(workspace) == []


def test_an_interrupted_reply_and_a_compaction_by_the_model_store_none(
    provider: Provider, workspace: Path
) -> None:
    agree(workspace)
    secret = SECRETS["github token"]
    provider.answers += [Answer(f"It is {secret} I think", cut="torn")]
    assert run("chat", "Ada", f"key {secret}", "-m", "gpt-4o").code == 69
    Memory(workspace / "agents" / "Ada").append("User", "long talk " * 400)
    provider.answers.append(f"## Facts\nThe key is {secret}, and a long talk was had.")
    run("compact", "Ada", "--keep-tokens", "0", AGENTMEM_MODEL="gpt-4o")
    provider.answers.clear()
    assert leaked(workspace) == []


def test_an_import_stores_none(workspace: Path, tmp_path: Path) -> None:
    messages = [{"role": "user", "content": f"my key: {SECRETS['github token']}"}]
    source = tmp_path / "messages.json"
    source.write_text(json.dumps(messages))
    ran = run("import", "Ada", str(source))
    assert ran.code == 0, ran.err
    assert leaked(workspace) == []


def test_secrets_that_are_there_already_are_found_and_not_repeated(workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    entry = memory.append("User", f"key {SECRETS['github token']}")
    archive = fold(memory, "nothing of note")
    later = memory.append("Ada", f"old {SECRETS['anthropic key']}")
    input_history.keep(memory.folder, SECRETS["url password"])
    (memory.folder / "agent.toml").write_text(f'\nrules = "use {SECRETS["npm token"]}"\n')
    (memory.folder / "archive" / "history_loop.md").symlink_to("/dev/zero")
    found = {(leak.file, leak.entry or str(leak.line), leak.kind) for leak in secrets_in(memory.folder)}
    assert found == {
        (f"archive/{archive}", entry.stamp, "github token"),
        ("MEMORY.md", later.stamp, "anthropic key"),
        (".agentmem/history", "1", "url password"),
        ("agent.toml", "2", "npm token"),
    }
    (memory.folder / "archive" / "history_loop.md").unlink()
    said = run("doctor", "Ada").out
    for file, _, kind in found:
        assert re.search(rf"note: .*{file}:\d+: .* seems to hold a secret \({kind}\)", said)
    assert not any(secret in said for secret in SECRETS.values())
    assert list(secrets_in(workspace / "agents" / "Nobody")) == []
