from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentmem.entries import make_entry, make_header, parse
from agentmem.errors import ImportRefused
from agentmem.formats.registry import EXPORTS, Exported, Left, Taken, open_import

if TYPE_CHECKING:
    from pathlib import Path

STAMP = "2026-04-20T18:33:15.120001+01:00"
MOON = datetime(1969, 7, 20, 20, 17, 40, tzinfo=timezone.utc).timestamp()


def written(folder: Path, content: object, name: str = "file.json") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def taken(path: Path, agent: str = "Ada") -> list[Taken]:
    return [result for result in open_import(path, agent).results if isinstance(result, Taken)]


def left(path: Path) -> list[str]:
    return [result.what for result in open_import(path, "Ada").results if isinstance(result, Left)]


def said(path: Path) -> list[tuple[str, str]]:
    return [(each.role, each.text) for each in taken(path)]


# --- own formats ---

entries = st.builds(
    Exported,
    role=st.sampled_from(["User", "Ada", "System", "Tool (weather)"]),
    stamp=st.datetimes().map(lambda when: when.isoformat(timespec="microseconds") + "+01:00"),
    text=st.text(),
    note=st.sampled_from(["", "interrupted"]),
    source=st.sampled_from(["", "history_2026-04-20_14-30-45.md"]),
)


@pytest.mark.parametrize("name", ["jsonl", "json"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(talk=st.lists(entries, min_size=1, max_size=5))
def test_own_json_comes_back_exactly(tmp_path: Path, name: str, talk: list[Exported]) -> None:
    path = written(tmp_path, "".join(EXPORTS[name](talk, "Ada")).encode())
    assert open_import(path, "Ada").exact
    assert [(e.role, e.stamp, e.text, e.note, e.archive) for e in taken(path)] == [
        (e.role, e.stamp, e.text, e.note, e.source) for e in talk
    ]


def test_bytes_that_were_not_utf8_come_back_too(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(EXPORTS["jsonl"]([Exported("User", STAMP, "a\udcffb")], "Ada")).encode())
    assert said(path) == [("User", "a\udcffb")]


def test_what_another_agent_said_becomes_this_ones(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(EXPORTS["jsonl"]([Exported("Ada", STAMP, "hi")], "Ada")).encode())
    assert [each.role for each in taken(path, "Bob")] == ["Bob"]


def test_markdown_and_swarms_memories_are_read_whatever_the_piece_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentmem.formats.markdown._CHUNK", 7)
    talk = [make_entry("User", STAMP, "Grüße\n### x"), make_entry("Quant", STAMP, "eu — west\n\n---\n\n?")]
    header = make_header("Quant_id_0b6f-11_conversation", "2026-04-20T18:33:12")
    path = written(tmp_path, header + b"".join(entry.raw for entry in talk), "MEMORY.md")
    assert said(path) == [("User", "Grüße\n### x"), ("Ada", "eu — west\n\n---\n\n?")]
    assert [each.stamp for each in taken(path)] == [STAMP, STAMP]


def test_a_swarms_memory_with_whole_second_naive_stamps_is_taken_as_it_is(tmp_path: Path) -> None:
    text = "# Agent Memory\n\n---\n\n### User — 2026-04-20T18:33:15\n\nhi\n\n---\n\n"
    path = written(tmp_path, text.encode(), "MEMORY.md")
    assert [(each.stamp, each.text) for each in taken(path)] == [("2026-04-20T18:33:15", "hi")]


# --- ChatGPT ---


def chatgpt_node(
    key: str, parent: str | None, role: str = "", text: object = "", **more: object
) -> dict[str, object]:
    message = {
        "id": key,
        "author": {"role": role, "name": more.pop("name", None)},
        "create_time": more.pop("time", None),
        "content": more.pop("content", {"content_type": "text", "parts": [text]}),
        "recipient": more.pop("recipient", "all"),
        "metadata": more.pop("metadata", {}),
    }
    return {
        "id": key,
        "parent": parent,
        "children": more.pop("children", []),
        "message": message if role else None,
    }


def chatgpt(*nodes: dict[str, object], **more: object) -> dict[str, object]:
    mapping = {str(node["id"]): node for node in nodes}
    return {"title": "Moon", "create_time": MOON, "mapping": mapping, "current_node": nodes[-1]["id"], **more}


EDITED = chatgpt(
    chatgpt_node("root", None, children=["q1", "q2"]),
    chatgpt_node("q1", "root", "user", "How far is the sun?", children=["a1"], time=MOON),
    chatgpt_node("a1", "q1", "assistant", "8 light minutes.", time=MOON + 5),
    chatgpt_node("q2", "root", "user", "How far is the moon?", children=["a2"], time=MOON + 60),
    chatgpt_node("a2", "q2", "assistant", "1.3 light seconds.", time=MOON + 65.5),
)


def test_chatgpt_takes_the_branch_last_shown(tmp_path: Path) -> None:
    path = written(tmp_path, [EDITED])
    assert said(path) == [("User", "How far is the moon?"), ("Ada", "1.3 light seconds.")]
    assert left(path) == ["messages on branches not shown last"] * 2
    assert [each.stamp for each in taken(path)] == [
        "1969-07-20T20:18:40.000000+00:00",
        "1969-07-20T20:18:45.500000+00:00",
    ]
    assert taken(path)[0].note == "imported from ChatGPT: Moon"


def test_a_title_can_be_anything(tmp_path: Path) -> None:
    title = "vector<int> --> <!-- x\n\x1b[31m 5 bytes"
    path = written(tmp_path, [{**EDITED, "title": title}])
    first = taken(path)[0]
    assert first.note == "imported from ChatGPT: vector int -- !-- x [31m 5 bytes"
    assert (
        parse(make_entry(first.role, first.stamp, first.text, first.note).raw).entries[0].note == first.note
    )


def test_chatgpt_goes_back_to_an_older_branch_when_that_was_shown_last(tmp_path: Path) -> None:
    path = written(tmp_path, [{**EDITED, "current_node": "a1"}])
    assert said(path) == [("User", "How far is the sun?"), ("Ada", "8 light minutes.")]


def test_chatgpt_without_a_current_node_takes_the_newest_leaf(tmp_path: Path) -> None:
    path = written(tmp_path, [{key: value for key, value in EDITED.items() if key != "current_node"}])
    assert said(path)[-1] == ("Ada", "1.3 light seconds.")


def test_chatgpt_parts_of_every_kind(tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    voice = {"content_type": "audio_transcription", "text": "and aloud"}
    path = written(
        tmp_path,
        [
            chatgpt(
                chatgpt_node("s", None, "system", "be nice"),
                chatgpt_node("p", "s", "user", content={"content_type": "user_editable_context"}),
                chatgpt_node(
                    "q",
                    "p",
                    "user",
                    content={"content_type": "multimodal_text", "parts": [picture, "What is it?", voice]},
                ),
                chatgpt_node("t", "q", "assistant", content={"content_type": "thoughts", "thoughts": []}),
                chatgpt_node(
                    "c",
                    "t",
                    "assistant",
                    content={"content_type": "code", "language": "python", "text": "1+1"},
                    recipient="python",
                ),
                chatgpt_node(
                    "r",
                    "c",
                    "tool",
                    name="python",
                    content={"content_type": "execution_output", "text": "2"},
                ),
                chatgpt_node("h", "r", "user", "", metadata={"is_visually_hidden_from_conversation": True}),
                chatgpt_node("e", "h", "assistant", ""),
                chatgpt_node("a", "e", "assistant", "Two."),
            )
        ],
    )
    assert said(path) == [
        ("User", "[image_asset_pointer]\nWhat is it?\nand aloud"),
        ("Ada", "1+1"),
        ("Tool (python)", "2"),
        ("Ada", "Two."),
    ]
    assert sorted(left(path)) == [
        "empty messages",
        "hidden messages",
        "profile and custom instructions",
        "reasoning",
        "system messages",
    ]
    stamps = [each.stamp for each in taken(path)]
    assert stamps == sorted(set(stamps))


# --- Claude ---


def claude(*messages: dict[str, object], **more: object) -> dict[str, object]:
    return {
        "uuid": "c1",
        "name": "Moon",
        "created_at": "2024-07-01T12:00:00.123456Z",
        "chat_messages": [{"created_at": "2024-07-01T12:00:01Z", **message} for message in messages],
        **more,
    }


def test_claude_blocks_become_entries_in_their_order(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "name": "web_search", "input": {"query": "moon"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "384,400 km"}]},
        {"type": "text", "text": "It is 384,400 km."},
    ]
    path = written(
        tmp_path,
        [
            claude(
                {
                    "uuid": "1",
                    "sender": "human",
                    "text": "How far?",
                    "content": [{"type": "text", "text": "How far?"}],
                    "attachments": [{"file_name": "notes.txt", "extracted_content": "the moon, please"}],
                    "files": [{"file_name": "moon.png"}],
                },
                {"uuid": "2", "sender": "assistant", "text": "", "content": blocks},
                {"uuid": "3", "sender": "human", "text": "Thanks", "content": []},
            )
        ],
    )
    assert said(path) == [
        ("User", "How far?\n\n[notes.txt]\nthe moon, please\n\n[moon.png]"),
        ("Ada", "Let me look."),
        ("Ada", '{"query": "moon"}'),
        ("Tool (web_search)", "384,400 km"),
        ("Ada", "It is 384,400 km."),
        ("User", "Thanks"),
    ]
    assert left(path) == ["reasoning"]
    assert taken(path)[0].note == "imported from Claude: Moon"


def test_claude_follows_parents_where_the_export_has_them(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    path = written(
        tmp_path,
        [
            claude(
                {"uuid": "1", "sender": "human", "text": "Sun?", "parent_message_uuid": root},
                {"uuid": "2", "sender": "assistant", "text": "Far.", "parent_message_uuid": "1"},
                {"uuid": "3", "sender": "human", "text": "Moon?", "parent_message_uuid": root},
                {"uuid": "4", "sender": "assistant", "text": "Near.", "parent_message_uuid": "3"},
            )
        ],
    )
    assert said(path) == [("User", "Moon?"), ("Ada", "Near.")]


@pytest.mark.parametrize(
    ("written_as", "read_as"),
    [
        ("2024-07-01T12:00:01Z", "12:00:01.000000"),
        ("2024-07-01T12:00:01.5Z", "12:00:01.500000"),
        ("2024-07-01T12:00:01.123456789+00:00", "12:00:01.123456"),
        ("2024-07-01T14:00:01.25+02:00", "14:00:01.250000"),
    ],
)
def test_moments_of_any_precision_are_read(tmp_path: Path, written_as: str, read_as: str) -> None:
    message: dict[str, object] = {"uuid": "1", "sender": "human", "text": "Hi", "created_at": written_as}
    path = written(tmp_path, [claude(message, created_at="2024-07-01T00:00:00Z")])
    assert taken(path)[0].stamp[:26] == f"2024-07-01T{read_as}"


# --- llm ---


def test_llm_logs_give_prompts_tool_results_and_replies(tmp_path: Path) -> None:
    first = {
        "id": "01",
        "model": "gpt-4o",
        "prompt": "Weather?",
        "system": "be brief",
        "response": "",
        "conversation_id": "c",
        "conversation_name": "Weather",
        "duration_ms": 1500,
        "datetime_utc": "2025-06-01T10:00:00.000001+00:00",
        "tool_results": [],
        "tool_calls": [{"name": "weather", "arguments": {"city": "Rome"}}],
        "attachments": [{"type": "image/png", "path": None, "url": "https://example.org/sky.png"}],
    }
    second = {
        **first,
        "prompt": "",
        "system": None,
        "response": "Rain.",
        "datetime_utc": "2025-06-01T10:00:02.000001",
        "tool_results": [{"name": "weather", "output": "rain"}],
        "tool_calls": [],
        "attachments": [],
    }
    third = {**second, "response": "", "tool_results": []}
    path = written(tmp_path, [first, second, third])
    assert open_import(path, "Ada").format == "llm logs"
    assert [(each.role, each.text, each.stamp) for each in taken(path)] == [
        ("User", "Weather?\n[https://example.org/sky.png]", "2025-06-01T10:00:00.000001+00:00"),
        ("Ada", '{"city": "Rome"}', "2025-06-01T10:00:01.500002+00:00"),
        ("Tool (weather)", "rain", "2025-06-01T10:00:02.000001+00:00"),
        ("Ada", "Rain.", "2025-06-01T10:00:03.500002+00:00"),
    ]
    assert left(path) == ["system prompts", "empty replies"]


# --- OpenAI ---

OPENAI = [
    {"role": "system", "content": "be nice"},
    {
        "role": "user",
        "content": [{"type": "text", "text": "Weather?"}, {"type": "image_url", "image_url": {}}],
    },
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "x", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "x", "content": "rain"},
    {"role": "assistant", "content": "Rain."},
]
OPENAI_SAID = [
    ("User", "Weather?\n[image_url]"),
    ("Ada", '{"city": "Rome"}'),
    ("Tool (weather)", "rain"),
    ("Ada", "Rain."),
]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(OPENAI),
        json.dumps({"model": "gpt-4o", "messages": OPENAI}, indent=2),
        "\n".join(json.dumps(message) for message in OPENAI),
        json.dumps({"messages": OPENAI[:3]}) + "\n" + json.dumps({"messages": OPENAI[3:]}) + "\n",
    ],
)
def test_openai_messages_in_every_wrapping(tmp_path: Path, content: str) -> None:
    path = written(tmp_path, content.encode())
    assert said(path) == OPENAI_SAID
    assert left(path) == ["system messages"]
    stamps = [each.stamp for each in taken(path)]
    assert stamps == sorted(set(stamps))


def test_openai_export_comes_back(tmp_path: Path) -> None:
    talk = [Exported(role, STAMP, text) for role, text in [("User", "?"), ("Tool (w)", "rain"), ("Ada", "!")]]
    path = written(tmp_path, "".join(EXPORTS["openai"](talk, "Ada")).encode())
    assert said(path) == [("User", "?"), ("Tool (w)", "rain"), ("Ada", "!")]


# --- what is wrong, and where ---


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no entry begins anywhere"),
        (b"nothing known", "no entry begins anywhere"),
        (b"[]", "nothing in it"),
        (b"[1, 2]", "format is not known"),
        (b'[{"a": 1}]', "format is not known"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"[" * 100_000, "cannot be decoded"),
        (b'[{"role": "user", "content": "\xff"}]', "byte 30: not UTF-8"),
        (b'[{"role": "user",\n "content": tru}]', "line 2, column 13: expecting value"),
        (b'[{"role": "user", "content": "a"}, {"role": "user", "conte', "the file ends in the middle"),
        (b'[{"role": "user", "content": "a"}', "the file ends in the middle"),
        (b'[{"role": "user", "content": "a"}] x', "line 1, column 36: something follows"),
        (b'[{"role": "user", "content": "a"} {}]', "line 1, column 35: a comma or ] is wanted"),
        (
            b'[{"role": "user", "content": "a"}, {"role": "king", "content": "b"}]',
            "[1].role: unknown role 'king'",
        ),
        (b'[{"role": "user", "content": 5}]', "[0].content: an array is wanted, not a number"),
        (b'{"role": "user", "content": "a"}\n{"role": 1}', "line 2.role: a string is wanted, not a number"),
        (b'[{"mapping": {"a": {"message": 5}}, "current_node": "a"}]', '[0].mapping["a"].message: an object'),
        (b'[{"mapping": {"a": {}}, "current_node": "b"}]', "[0].current_node: there is no message 'b'"),
        (
            b'[{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}]',
            "[0].current_node: the messages above it go in a circle",
        ),
        (b'[{"mapping": {}, "create_time": "yesterday"}]', "[0].create_time: a date and time is wanted"),
        (b'[{"mapping": {}, "create_time": 1e300}]', "[0].create_time: a date and time is wanted"),
        (b'[{"chat_messages": [{"sender": "king"}]}]', "[0].chat_messages[0].sender: unknown sender"),
        (b'[{"chat_messages": {}}]', "[0].chat_messages: an array is wanted, not an object"),
        (b'[{"prompt": "a", "response": "b"}]', "[0].datetime_utc: a string is wanted, not null"),
        (b'[{"id": "now", "role": "User", "text": "a"}]', "[0].id: not the id of an entry: 'now'"),
        (b'[{"id": "2026-04-20T18:33:15", "role": " ", "text": "a"}]', "[0]: not a role"),
        (b'[{"id": "2026-04-20T18:33:15", "role": "User", "text": "a", "note": "-->"}]', "[0]: not a note"),
    ],
)
def test_a_file_that_is_wrong_is_refused_in_one_line_with_the_place(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ImportRefused) as refused:
        taken(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("missing", ["nowhere.json", "."])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, missing: str) -> None:
    with pytest.raises(ImportRefused, match="cannot read"):
        open_import(tmp_path / missing, "Ada")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    content=st.binary(max_size=60) | st.sampled_from([EDITED, OPENAI]).map(json.dumps).map(str.encode),
    cut=st.integers(0),
)
def test_whatever_is_in_a_file_it_is_read_or_refused(tmp_path: Path, content: bytes, cut: int) -> None:
    path = written(tmp_path, content[: len(content) - cut % (len(content) + 1)])
    with suppress(ImportRefused):
        taken(path)


@pytest.mark.parametrize("piece", [1, 2, 7, 64])
def test_json_is_read_alike_whatever_the_piece_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr("agentmem.formats.source._CHUNK", piece)
    text = 'ä😀\\"\n' * 30
    path = written(tmp_path, json.dumps([{"role": "user", "content": text}] * 3, ensure_ascii=False).encode())
    assert said(path) == [("User", text)] * 3
