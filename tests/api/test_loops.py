"""Loops: how many calls a task takes, when it ends, and how the window holds out."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem import Agent, errors
from agentmem.agent.bookkeeping import DONE, DoneMark
from agentmem.memory import Memory
from agentmem.models.base import TextDelta
from tests.api.strict import assert_well_formed
from tests.loopback import Answer, Refusal

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.models.base import Piece
    from tests.loopback import Provider


def dig(depth: int) -> str:
    """Dig a hole."""
    return f"sand at {depth} m"


def digs(depth: int, text: str = "") -> Answer:
    return Answer(text, calls=(("dig", {"depth": depth}),))


def replies(workspace: Path) -> list[str]:
    entries = Memory(workspace / "agents" / "Ada").read().entries
    return [entry.text for entry in entries if entry.role == "Ada"]


@pytest.mark.parametrize("loops", [1, "auto"])
def test_one_call_is_enough_where_no_tools_are_wanted(provider: Provider, loops: Any) -> None:
    provider.answers.append("done")
    with Agent("Ada", "gpt-4o", tools=[dig], max_loops=loops) as agent:
        assert agent.run("go") == "done"
        assert agent.last_run.calls == 1
    assert "tool_choice" not in provider.asked[0].body


def test_one_loop_answers_what_its_tools_brought_and_wants_no_more(provider: Provider) -> None:
    provider.answers.extend([digs(3), "sand"])
    told: list[str] = []
    with Agent("Ada", "gpt-4o", tools=[dig], notice=told.append) as agent:
        assert agent.run("go") == "sand"
    first, second = provider.asked
    assert "tool_choice" not in first.body
    assert second.body["tool_choice"] == "none"
    assert second.body["tools"] == first.body["tools"], "the prefix stays the same for the provider's cache"
    assert not told


def test_n_loops_take_n_calls_and_the_last_one_answers(provider: Provider) -> None:
    provider.answers.extend([digs(1), digs(2), "deep enough"])
    told: list[str] = []
    with Agent("Ada", "gpt-4o", tools=[dig], max_loops=3, notice=told.append) as agent:
        assert agent.run("go") == "deep enough"
        assert agent.last_run.stopped == "limit"
    assert [asked.body.get("tool_choice") for asked in provider.asked] == [None, None, "none"]
    assert told == [
        "the limit of 3 model calls was reached: the last answer was given without more tools; --max-loops sets it"
    ]


def test_auto_ends_at_its_cap_and_says_so(provider: Provider) -> None:
    provider.answers.append(
        lambda body: Answer("enough") if body.get("tool_choice") == "none" else digs(len(body["messages"]))
    )
    told: list[str] = []
    with Agent("Ada", "gpt-4o", tools=[dig], max_loops="auto", notice=told.append) as agent:
        assert agent.run("go") == "enough"
        assert (agent.last_run.calls, agent.last_run.tool_calls) == (100, 99)
        assert agent.last_run.stopped == "limit"
    assert len(provider.asked) == 100
    assert "the limit of 100 model calls was reached" in told[-1]


def test_an_endpoint_that_does_not_know_tool_choice_is_asked_without(provider: Provider) -> None:
    provider.answers.extend([digs(1), Refusal(400, "Unknown parameter: 'tool_choice'."), "sand"])
    with Agent("Ada", "gpt-4o", tools=[dig]) as agent:
        assert agent.run("go") == "sand"
    assert "tool_choice" not in provider.asked[-1].body


def test_a_model_that_cannot_stop_asking_is_stopped(provider: Provider, workspace: Path) -> None:
    provider.answers.extend([digs(1), digs(2, "one more")])
    told: list[str] = []
    with Agent("Ada", "gpt-4o", tools=[dig], notice=told.append) as agent:
        assert agent.run("go") == "one more"
        assert agent.last_run.stopped == "limit"
        provider.answers.append("fine")
        agent.run("thanks")
    assert "the limit of 2 model calls was reached" in told[0]
    assert "sand at 2 m" not in (workspace / "agents" / "Ada" / "MEMORY.md").read_text()
    assert_well_formed(provider.asked[-1].messages)


@pytest.mark.parametrize(
    "last",
    [DONE, f"**{DONE}**", f"\n{DONE}.\n", f"All counted.\n\n{DONE}", f"All counted. {DONE}!"],
)
def test_the_mark_ends_a_loop_and_nobody_sees_it(provider: Provider, workspace: Path, last: str) -> None:
    provider.answers.extend(["Seven.", Answer(pieces=tuple(last))])
    seen: list[str] = []

    def on_piece(piece: Piece) -> None:
        if isinstance(piece, TextDelta):
            seen.append(piece.text)

    with Agent("Ada", "gpt-4o", max_loops=9) as agent:
        answer = agent.run("count", on_piece)
    counted = "counted" in last
    assert answer == ("All counted." if counted else "Seven.")
    assert "".join(seen) == ("Seven.All counted." if counted else "Seven.")
    assert replies(workspace) == (["Seven.", "All counted."] if counted else ["Seven."])


def test_the_mark_is_a_text_like_any_other_where_nobody_asked_for_it(provider: Provider) -> None:
    provider.answers.append(f"You say: {DONE}")
    with Agent("Ada", "gpt-4o") as agent:
        assert agent.run("what do I say?") == f"You say: {DONE}"


words = st.lists(st.sampled_from([*" \n.*TASKCOMPLEx", DONE, "TASK ", "COMPLETE"]), max_size=12).map("".join)


@given(words, st.lists(st.integers(1, 5)))
def test_only_a_mark_at_the_end_is_taken_off(text: str, cuts: list[int]) -> None:
    pieces: list[Piece] = []
    rest = text
    for cut in cuts:
        pieces.append(TextDelta(rest[:cut]))
        rest = rest[cut:]
    pieces.append(TextDelta(rest))
    mark = DoneMark()
    left = "".join(piece.text for piece in mark.strip(pieces) if isinstance(piece, TextDelta))
    ends = re.search(rf"\s*[*_`]*{DONE}[*_`.!]*\s*\Z", text)
    assert mark.seen == bool(ends)
    assert left == (text[: ends.start()] if ends else text)


@pytest.mark.parametrize("loops", [0, -1, 1.5, "many", True])
def test_loops_are_a_whole_number_or_auto(loops: Any) -> None:
    with pytest.raises(errors.UsageError, match="a whole number from 1 on, or auto, is wanted"):
        Agent("Ada", max_loops=loops)


def test_an_empty_task_is_refused_and_not_stored(provider: Provider, workspace: Path) -> None:
    with Agent("Ada", "gpt-4o") as agent, pytest.raises(errors.UsageError, match="the task is empty"):
        agent.run(" \n")
    assert not provider.asked
    assert not Memory(workspace / "agents" / "Ada").read().entries


def test_an_empty_reply_is_said_and_not_stored(provider: Provider, workspace: Path) -> None:
    told: list[str] = []
    provider.answers.append(Answer("", finish="content_filter"))
    with Agent("Ada", "gpt-4o", max_loops=3, notice=told.append) as agent:
        assert agent.run("go") == ""
    assert told == ["gpt-4o answered nothing (it ended with: content_filter)"]
    assert replies(workspace) == []


def test_a_reply_cut_off_by_its_limit_is_said(provider: Provider) -> None:
    told: list[str] = []
    provider.answers.append(Answer("One, two", finish="length"))
    with Agent("Ada", "gpt-4o", notice=told.append) as agent:
        assert agent.run("count") == "One, two"
    assert told == ["the reply was cut off at its token limit; --max-tokens sets it"]


def test_asyncio_users_hand_a_run_to_a_thread(provider: Provider) -> None:
    provider.answers.append(lambda _body: Answer("pong"))

    async def both() -> list[str]:
        with Agent("Ada", "gpt-4o") as ada, Agent("Bob", "gpt-4o") as bob:
            runs = [asyncio.to_thread(agent.run, "ping") for agent in (ada, bob)]
            return list(await asyncio.gather(*runs))

    assert asyncio.run(both()) == ["pong", "pong"]


class TestSixtyStepsInASmallWindow:
    TASK = 'Survey sixty sites, one "site" call each;\n  report `only` at the end.  '
    STEPS = 60

    def test_it_ends_with_everything_kept(self, provider: Provider, workspace: Path) -> None:
        self.step = 0
        provider.answers.append(self.script)
        folder = workspace / "agents" / "Ada"
        folder.mkdir(parents=True)
        (folder / "agent.toml").write_text('system_prompt = "You survey."\nrules = "Mind the dunes."\n')
        with Agent("Ada", "gpt-4o", tools=[self.site], max_loops="auto", context_length=8000) as agent:
            assert agent.run(self.TASK) == "all sixty surveyed"
            run = agent.last_run
            assert (run.calls, run.tool_calls, run.stopped) == (61, 60, "")
            assert len(run.compactions) >= 3
            archives = [each.archive for each in run.compactions]
        talk = [asked for asked in provider.asked if "tools" in asked.body]
        assert len(talk) == self.STEPS + 1
        for asked in talk:
            assert_well_formed(asked.messages)
            assert asked.messages[0]["content"].startswith("You survey.\n\nMind the dunes.")
            assert self.TASK in asked.messages[1]["content"]
            assert len(asked.text) // 4 < 8000
        memory = Memory(folder)
        files = [memory.path, *(folder / "archive" / name for name in archives)]
        kept = "".join(file.read_text() for file in files)
        for number in range(1, self.STEPS + 1):
            assert f"site {number}: " in kept
        entries = [entry for entry in memory.read().entries if entry.role == "User"]
        assert [entry.text for entry in entries] == [self.TASK]

    @staticmethod
    def site(number: int) -> str:
        """Survey a site."""
        return f"site {number}: " + " ".join(f"grain {number * grain} is fine" for grain in range(90))

    def script(self, body: dict[str, Any]) -> Answer:
        if "tools" not in body:
            return Answer(f"Done: surveyed the sites up to {self.step}.")
        self.step += 1
        if self.step > self.STEPS:
            return Answer("all sixty surveyed")
        return Answer(calls=(("site", {"number": self.step}),))


def test_two_agents_in_two_threads_each_loop_by_themselves(provider: Provider) -> None:
    provider.answers.append(
        lambda body: digs(len(body["messages"])) if len(body["messages"]) < 6 else Answer("down")
    )
    said: list[str] = []

    def work(name: str) -> None:
        with Agent(name, "gpt-4o", tools=[dig], max_loops="auto") as agent:
            said.append(agent.run("dig"))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("Ada", "Bob", "Cyd")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert said == ["down"] * 3
