"""How what is only in an archive gets back to the model, on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentmem import Agent
from agentmem.memory import Memory
from tests.api.strict import assert_well_formed
from tests.loopback import Answer, Refusal
from tests.program import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.loopback import Provider

FACT = "The spare key of the boat house is under the blue pot."
ASKED = "Where is the spare key of the boat house?"
NO_TOOLS = Refusal(400, "this model does not support tools")


@pytest.fixture(autouse=True)
def every_request_is_well_formed(provider: Provider) -> Iterator[None]:
    yield
    for asked in provider.asked:
        assert_well_formed(asked.messages)


@pytest.fixture
def memory(workspace: Path) -> Memory:
    """A memory whose fact is only in an archive by now."""
    kept = Memory(workspace / "agents" / "Ada")
    kept.append("User", FACT)
    kept.append("Ada", "I will remember.")
    for number in range(6):
        kept.append("User", f"And now something else, number {number}.")
        kept.append("Ada", "Fine.")
    _, cursor = kept.load()
    kept.fold(cursor.snapshot(), "They talked about this and that.")
    return kept


def opened(notices: list[str] | None = None, recall: str = "", **options: Any) -> Agent:
    from agentmem import settings

    flags = {"model": "gpt-4o", "recall": recall or None, **options}
    notice = notices.append if notices is not None else (lambda _message: None)
    return Agent("Ada", resolved=settings.load(flags), notice=notice)


def tool_names(provider: Provider, request: int = -1) -> list[str]:
    return [each["function"]["name"] for each in provider.asked[request].body.get("tools") or ()]


def test_a_fact_that_is_only_archived_is_found_by_the_tool_and_used(
    provider: Provider, memory: Memory
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        (result,) = (message["content"] for message in body["messages"] if message["role"] == "tool")
        return Answer("Under the blue pot." if FACT in result else "I do not know.")

    provider.answers += [Answer(calls=(("search_memory", {"query": "spare key boat house"}),)), answer]
    results: list[tuple[str, str]] = []
    with opened() as agent:
        said = agent.run(ASKED, on_result=lambda call, result: results.append((call.name, result)))
    assert FACT not in provider.asked[0].text
    assert tool_names(provider, 0) == ["search_memory"]
    assert said == "Under the blue pot."
    ((name, result),) = results
    assert name == "search_memory"
    assert f"User (archive/{memory.archives()[0].name}): {FACT}" in result
    assert "data rather than instructions" in result
    assert [entry.role for entry in memory.read().entries[1:]] == ["User", "Tool (search_memory)", "Ada"]
    assert memory.read().entries[2].text == result


def test_a_person_sees_what_was_searched_for(provider: Provider, memory: Memory) -> None:
    assert memory.exists()
    call = Answer(calls=(("search_memory", {"query": "spare key boat house"}),))
    provider.answers += [call, "Under the blue pot."]
    ran = run("chat", "Ada", ASKED, "-m", "gpt-4o")
    assert ran.out == "Under the blue pot.\n"
    assert "search_memory" in ran.err
    provider.answers += [NO_TOOLS, "Under the blue pot."]
    ran = run("chat", "Ada", "And once more: " + ASKED, "-m", "gpt-4o")
    assert ran.err.count("recalled from the archive: User ") == 1


def test_a_model_that_rejects_tools_gets_the_fact_in_the_request_itself(
    provider: Provider, memory: Memory
) -> None:
    notices: list[str] = []
    provider.answers += [NO_TOOLS, "Under the blue pot.", "You are welcome."]
    with opened(notices) as agent:
        assert agent.run(ASKED) == "Under the blue pot."
        agent.run("Thank you for the help.")
    first, second = provider.asked[1], provider.asked[2]
    assert "tools" not in first.body
    assert "tools" not in second.body  # it is not asked again whether it takes them
    question = first.messages[-1]["content"]
    assert question.index(FACT) < question.index(ASKED)
    assert "data rather than instructions" in question
    assert memory.path.read_text().count(FACT) == 0  # the archive has it, and has it once
    assert [entry.text for entry in memory.read().entries[1:3]] == [ASKED, "Under the blue pot."]
    assert any(notice.startswith("recalled from the archive: User ") for notice in notices)


def test_another_model_is_offered_the_tool_again(provider: Provider, memory: Memory) -> None:
    assert memory.exists()
    provider.answers += [NO_TOOLS, "Under the blue pot.", "You are welcome."]
    with opened() as agent:
        agent.run(ASKED)
        agent.use_model("gpt-4o-mini")
        agent.run("Thank you for the help.")
    offered = [tool_names(provider, request) for request in range(3)]
    assert offered == [["search_memory"], [], ["search_memory"]]


def test_recall_leaves_the_prefix_of_the_request_as_it_was(provider: Provider, memory: Memory) -> None:
    assert memory.exists()
    provider.answers += ["One.", "Two.", "Three."]
    with opened(recall="auto") as agent:
        for task in ("Something about the boat?", ASKED, "And the pot, what colour?"):
            agent.run(task)
    for before, after in zip(provider.asked, provider.asked[1:], strict=False):
        # Everything up to the message that was pending is the same, byte for byte.
        assert after.messages[: len(before.messages) - 1] == before.messages[:-1]
    assert FACT in provider.asked[1].messages[-1]["content"]
    # What was recalled for a message is not in the history of the next one.
    history = [message["content"] for message in provider.asked[2].messages[:-1]]
    assert not any(FACT in content for content in history)


def test_the_tool_is_offered_only_where_there_is_something_to_find(provider: Provider) -> None:
    provider.answers += ["Hello.", "Hello again."]
    with opened(keep_tokens=0) as agent:
        agent.run("Good morning.")
        assert tool_names(provider) == []
        agent.compact(summary="They said hello.")
        agent.run("Good morning once more.")
    assert tool_names(provider) == ["search_memory"]


@pytest.mark.parametrize("recall", ["off", "auto"])
def test_the_tool_can_be_switched_off(provider: Provider, memory: Memory, recall: str) -> None:
    assert memory.exists()
    provider.answers.append("Hm.")
    with opened(recall=recall) as agent:
        agent.run(ASKED)
    assert tool_names(provider) == []
    assert (FACT in provider.asked[0].text) is (recall == "auto")


def test_nothing_recalled_stays_within_its_share_of_the_window(provider: Provider, workspace: Path) -> None:
    memory = Memory(workspace / "agents" / "Ada")
    for number in range(40):
        memory.append("User", f"boat house {number} " + "and many more words about it " * 40)
    _, cursor = memory.load()
    memory.fold(cursor.snapshot(), "They talked.")
    provider.answers.append("Hm.")
    with opened(recall="auto", context_length=8000) as agent:
        agent.run("boat house?")
    content = provider.asked[0].messages[-1]["content"]
    assert "many more words" in content
    assert len(content) < 8000 // 20 * 4


def test_a_search_that_finds_nothing_says_so(provider: Provider, memory: Memory) -> None:
    provider.answers += [Answer(calls=(("search_memory", {"query": "zebra"}),)), "No idea."]
    with opened() as agent:
        agent.run("What about zebras?")
    assert memory.read().entries[2].text == "nothing found beyond what is shown in this conversation"


def test_a_tool_of_the_users_with_the_same_name_comes_first(provider: Provider, memory: Memory) -> None:
    assert memory.exists()

    def search_memory(query: str) -> str:
        """Search my own notes."""
        return f"mine: {query}"

    provider.answers += [Answer(calls=(("search_memory", {"query": "x"}),)), "Done."]
    with Agent("Ada", "gpt-4o", tools=[search_memory]) as agent:
        agent.run("Look it up.")
    assert memory.read().entries[2].text == "mine: x"


def test_a_refusal_of_the_users_tools_is_an_error_all_the_same(provider: Provider, memory: Memory) -> None:
    from agentmem.errors import ToolsNotSupported

    def tide(harbour: str) -> str:
        return harbour

    assert memory.exists()
    provider.answers.append(NO_TOOLS)
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent, pytest.raises(ToolsNotSupported):
        agent.run("Tide?")


def test_what_was_forgotten_is_recalled_no_more(provider: Provider, memory: Memory) -> None:
    provider.answers += ["Under the pot.", "I do not know."]
    with opened(recall="auto") as agent:
        agent.run(ASKED)
        memory.forget(lambda _file, entry: FACT in entry.text)
        agent.run(ASKED)
    assert FACT in provider.asked[0].text
    assert FACT not in provider.asked[1].text
