"""What an agent does with its tools, and what of it reaches the model, the callbacks and MEMORY.md."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Literal

import pytest

from agentmem import Agent, errors
from agentmem.memory import Memory
from agentmem.models.base import TextDelta, ToolCall, Usage
from agentmem.tools import NO_RESULT, Tool
from tests.api.strict import assert_well_formed
from tests.loopback import Answer, Refusal
from tests.program import COMMAND, ROOT, agree, environment, run
from tests.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from agentmem.models.base import Piece
    from tests.loopback import Provider


def tide(harbour: str, when: Literal["now", "tomorrow"] = "now") -> str:
    """Tell the tide.

    Args:
        harbour: where.
        when: on which day.
    """
    return f"high water in {harbour} {when}"


def storm() -> None:
    """Look out for storms."""


def leak(litres: int) -> int:
    """Pump a leak."""
    raise RuntimeError(f"{litres} litres are too many")


def call(name: str, **arguments: object) -> Answer:
    return Answer(calls=((name, arguments),))


@pytest.fixture(autouse=True)
def every_request_is_well_formed(provider: Provider) -> Iterator[None]:
    yield
    for asked in provider.asked:
        assert_well_formed(asked.messages)


def stored(workspace: Path) -> list[tuple[str, str]]:
    return [(entry.role, entry.text) for entry in Memory(workspace / "agents" / "Ada").read().entries]


def results(provider: Provider) -> list[str]:
    return [each["content"] for each in provider.asked[-1].messages if each["role"] == "tool"]


def test_a_result_is_answered_stored_and_told(provider: Provider, workspace: Path) -> None:
    told: list[object] = []
    provider.answers.extend([Answer("Let me look.", calls=(("tide", {"harbour": "Brest"}),)), "High water."])
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent:

        def on_piece(piece: Piece) -> None:
            if isinstance(piece, TextDelta | ToolCall):
                told.append(piece)

        def on_result(asked: ToolCall, result: str) -> None:
            assert stored(workspace)[-1] == ("Tool (tide)", result), "told once it is stored"
            told.append((asked.name, result))

        assert agent.run("tide?", on_piece, on_result) == "High water."
    assert told == [
        TextDelta("Let"),
        TextDelta(" me"),
        TextDelta(" look."),
        ToolCall("call_0", "tide", '{"harbour": "Brest"}'),
        ("tide", "high water in Brest now"),
        TextDelta("High"),
        TextDelta(" water."),
    ]
    assert stored(workspace) == [
        ("User", "tide?"),
        ("Ada", "Let me look."),
        ("Tool (tide)", "high water in Brest now"),
        ("Ada", "High water."),
    ]
    function = provider.asked[0].body["tools"][0]["function"]
    assert function["name"] == "tide"
    assert function["description"].startswith("Tell the tide.")
    assert function["parameters"]["properties"]["harbour"] == {"description": "where.", "type": "string"}
    assert function["parameters"]["required"] == ["harbour"]


def test_parallel_calls_are_each_answered_in_order(provider: Provider, workspace: Path) -> None:
    calls = Answer(
        calls=(
            ("tide", {"harbour": "Brest"}),
            ("storm", {}),
            ("tide", {"harbour": "Cork", "when": "tomorrow"}),
        )
    )
    provider.answers.extend([calls, "done"])
    with Agent("Ada", "gpt-4o", tools=[tide, storm]) as agent:
        agent.run("look")
        assert agent.last_run.tool_calls == 3
    expected = ["high water in Brest now", NO_RESULT, "high water in Cork tomorrow"]
    assert results(provider) == expected
    assert [text for role, text in stored(workspace) if role.startswith("Tool")] == expected


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("tide", '{"harbour": '), "error: the arguments are not valid JSON"),
        (("tide", "[]"), "error: the arguments must be one JSON object"),
        (("tide", {"when": "now"}), "error: harbour is missing"),
        (("tide", {"harbour": "Cork", "when": "never"}), "error: when: Input should be 'now' or 'tomorrow'"),
        (
            ("tide", {"harbour": "Cork", "moon": 1}),
            "error: moon is unknown (the parameters are: harbour, when)",
        ),
        (("leak", {"litres": 7}), "error: RuntimeError: 7 litres are too many"),
        (("moon", {}), "error: there is no tool 'moon'; there are: tide, leak"),
    ],
)
def test_what_goes_wrong_becomes_the_result(
    provider: Provider, asked: tuple[str, dict[str, object] | str], told: str
) -> None:
    provider.answers.extend([Answer(calls=(asked,)), "I see"])
    with Agent("Ada", "gpt-4o", tools=[tide, leak]) as agent:
        assert agent.run("go") == "I see"
    (result,) = results(provider)
    assert result.startswith(told)


def test_malformed_arguments_do_not_break_the_next_request_of_another_protocol(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    monkeypatch.setenv("AGENTMEM_API_BASE", provider.root)
    provider.answers.extend([Answer(calls=(("tide", '{"harbour": '),)), "I see"])
    with Agent("Ada", "anthropic/claude-sonnet-4-6", tools=[tide]) as agent:
        assert agent.run("go") == "I see"
    asked, answered = provider.asked.pop().messages[1:]
    assert asked["content"][0]["input"] == {"malformed": '{"harbour": '}
    assert "not valid JSON" in json.dumps(answered)
    assert len(provider.asked) == 1


def test_a_tool_that_takes_too_long_is_given_up(
    provider: Provider, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTMEM_TOOL_TIMEOUT", "0.05")
    released = threading.Event()

    def wait() -> str:
        released.wait(60)
        return "too late"

    provider.answers.extend([call("wait"), "pity"])
    try:
        with Agent("Ada", "gpt-4o", tools=[wait]) as agent:
            assert agent.run("go") == "pity"
    finally:
        released.set()
    assert results(provider) == ["error: timed out after 0.05 s"]
    assert "too late" not in str(stored(workspace))


def test_a_long_result_is_bounded_in_requests_and_whole_in_the_memory(
    provider: Provider, workspace: Path
) -> None:
    whole = "\n".join(f"line {number} of the log — ok" for number in range(20_000))

    def log() -> str:
        return whole

    provider.answers.extend([call("log"), "read it", "yes"])
    with Agent("Ada", "gpt-4o", tools=[log], context_length=16_000) as agent:
        assert agent.run("read the log") == "read it"
        assert agent.last_run.compactions == ()
    (result,) = results(provider)
    assert len(result) < 16_000 * 3 / 8 + 100
    assert result.startswith("line 0 of the log")
    assert result.endswith("line 19999 of the log — ok")
    assert "characters left out here" in result
    assert ("Tool (log)", whole) in stored(workspace)
    with Agent("Ada", "gpt-4o", context_length=16_000) as agent:  # and after a restart
        assert agent.run("did you?") == "yes"
        assert whole in agent.short_memory.return_history_as_string()
    assert "line 19999 of the log" in provider.asked[-1].text
    assert "line 10000 of the log" not in provider.asked[-1].text


def test_ids_that_a_server_uses_twice_are_told_apart(provider: Provider) -> None:
    provider.answers.extend([call("tide", harbour=each) for each in ("Brest", "Cork", "Kiel")])
    provider.answers.append("done")
    with Agent("Ada", "gpt-4o", tools=[tide], max_loops="auto") as agent:
        agent.run("look")
    assert results(provider) == [f"high water in {each} now" for each in ("Brest", "Cork", "Kiel")]


def test_whoever_confirms_decides(provider: Provider, workspace: Path) -> None:
    asked: list[ToolCall] = []

    def confirm(wanted: ToolCall) -> bool:
        asked.append(wanted)
        return "Brest" in wanted.arguments

    calls = (("tide", {"harbour": "Brest"}), ("tide", {"harbour": "Cork"}))
    provider.answers.extend([Answer(calls=calls), "half of it"])
    with Agent("Ada", "gpt-4o", tools=[tide], confirm=confirm) as agent:
        agent.run("look")
    assert [each.name for each in asked] == ["tide", "tide"]
    first, second = results(provider)
    assert first == "high water in Brest now"
    assert second.startswith("error: the user declined this call")
    assert ("Tool (tide)", second) in stored(workspace)


def test_a_model_known_to_take_no_tools_is_refused_before_anything_is_stored(
    provider: Provider, workspace: Path
) -> None:
    with Agent("Ada", "gpt-3.5-turbo-instruct", tools=[tide]) as agent:
        with pytest.raises(errors.ToolsNotSupported, match=r"takes no tools, and Ada has tide; use another"):
            agent.run("look")
        assert stored(workspace) == []
    assert not provider.asked


def test_a_provider_that_refuses_tools_says_so_and_the_message_is_kept(
    provider: Provider, workspace: Path
) -> None:
    provider.answers.append(Refusal(400, "this model does not support tools"))
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent, pytest.raises(errors.ToolsNotSupported):
        agent.run("look")
    assert stored(workspace) == [("User", "look")]
    provider.answers.append("without, then")
    with Agent("Ada", "gpt-4o") as agent:
        assert agent.retry() == "without, then"


def test_two_tools_of_one_name_are_refused() -> None:
    def other() -> str:
        return ""

    with pytest.raises(errors.ConfigurationError, match="two tools are named 'tide'"):
        Agent("Ada", tools=[tide, Tool("tide", "another", {"type": "object", "properties": {}}, other)])


def test_usage_is_summed_over_the_run(provider: Provider) -> None:
    provider.answers.append(Answer(calls=(("tide", {"harbour": "Cork"}),), usage=(100, 10, 0)))
    provider.answers.append(Answer("high", usage=(150, 5, 100)))
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent:
        agent.run("look")
        run = agent.last_run
        assert (run.calls, run.tool_calls, run.stopped) == (2, 1, "")
        assert run.usage == Usage(250, 15, 100, run.usage.cost)
        assert run.usage.cost
        assert run.usage.cost > 0
        assert agent.last_reply.usage.prompt_tokens == 150


def test_long_arguments_count(provider: Provider) -> None:
    def write(text: str) -> int:
        """Write a file."""
        return len(text)

    long = "one two three " * 500
    provider.answers.append(Answer(calls=(("write", {"text": long}),), usage=(100, 1500, 0)))
    counts: list[int] = []
    with Agent("Ada", "gpt-4o", tools=[write], context_length=20_000) as agent:
        provider.answers.append("written")
        agent.run("go", on_result=lambda _call, _result: counts.append(agent.meter.tokens))
    assert counts[0] > 1500


class TestInterrupted:
    def test_in_a_tool(self, provider: Provider, workspace: Path) -> None:
        def sink(ship: str) -> str:
            raise KeyboardInterrupt(ship)

        calls = (("tide", {"harbour": "Cork"}), ("sink", {"ship": "Ada"}), ("tide", {"harbour": "Kiel"}))
        provider.answers.append(Answer(calls=calls))
        with Agent("Ada", "gpt-4o", tools=[tide, sink]) as agent:
            with pytest.raises(KeyboardInterrupt):
                agent.run("look")
            assert [text for _, text in stored(workspace)] == [
                "look",
                "high water in Cork now",
                "error: interrupted by the user",
                "error: interrupted by the user",
            ]
            provider.answers.append("still here")
            assert agent.run("and now?") == "still here"

    def test_between_two_steps(self, provider: Provider, workspace: Path) -> None:
        def stop(_call: ToolCall, _result: str) -> None:
            raise KeyboardInterrupt

        provider.answers.append(call("tide", harbour="Cork"))
        with Agent("Ada", "gpt-4o", tools=[tide], max_loops="auto") as agent:
            with pytest.raises(KeyboardInterrupt):
                agent.run("look", on_result=stop)
            provider.answers.append("high")
            assert agent.retry() == "high"
        assert [text for _, text in stored(workspace)] == ["look", "high water in Cork now", "high"]
        assert results(provider) == ["high water in Cork now"]

    def test_in_a_reply(self, provider: Provider, workspace: Path) -> None:
        def stop(piece: Piece) -> None:
            if piece == TextDelta(" water"):
                raise KeyboardInterrupt

        provider.answers.append("High water tomorrow")
        with Agent("Ada", "gpt-4o") as agent:
            with pytest.raises(KeyboardInterrupt):
                agent.run("tide?", stop)
            (_, partial) = Memory(workspace / "agents" / "Ada").read().entries
            assert (partial.text, partial.note) == ("High water", "interrupted")
            provider.answers.append("High water tomorrow")
            assert agent.retry() == "High water tomorrow"


@pytest.mark.parametrize("text", ["", "Let me look."])
def test_a_run_that_failed_after_its_tools_goes_on_in_another_process(
    provider: Provider, workspace: Path, text: str
) -> None:
    provider.answers.extend([Answer(text, calls=(("tide", {"harbour": "Cork"}),)), Refusal(500)])
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent, pytest.raises(errors.ModelUnreachable):
        agent.run("look")
    provider.answers.append("high")
    with Agent("Ada", "gpt-4o", tools=[tide]) as agent:
        assert agent.retry() == "high"
        with pytest.raises(errors.NotFound):
            agent.retry()
    assert "high water in Cork now" in provider.asked[-1].text
    assert [role for role, _ in stored(workspace)].count("User") == 1


def test_a_run_or_a_compaction_inside_a_run_is_refused(provider: Provider) -> None:
    def again() -> str:
        return agent.run("and again")

    def tidy() -> str:
        return agent.compact(summary="tidy").archive

    provider.answers.extend([Answer(calls=(("again", {}), ("tidy", {}))), "no, then"])
    with Agent("Ada", "gpt-4o", tools=[again, tidy]) as agent:
        assert agent.run("go") == "no, then"
    refusal = "error: UsageError: Ada is in the middle of a run, which cannot hold another or a compaction"
    assert results(provider) == [refusal] * 2


@pytest.mark.parametrize(
    ("number", "limit"),
    [(signal.SIGINT, ""), (signal.SIGINT, "100"), (signal.SIGTERM, ""), (signal.SIGTERM, "100")],
)
def test_a_signal_in_a_tool_ends_the_command_and_leaves_a_whole_record(
    provider: Provider, workspace: Path, tmp_path: Path, number: signal.Signals, limit: str
) -> None:
    (tmp_path / "slow.py").write_text(
        "import sys, time\n"
        "def work() -> str:\n"
        "    print('at work', file=sys.stderr, flush=True)\n"
        "    time.sleep(120)\n"
        "    return 'done'\n"
    )
    provider.answers.append(call("work"))
    command = [*COMMAND, "chat", "Ada", "go", "-m", "gpt-4o", "--tool", "slow:work"]
    variables = environment(AGENTMEM_TOOL_TIMEOUT=limit)
    with subprocess.Popen(
        command, cwd=tmp_path, env=variables, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as running:
        assert running.stderr
        for line in running.stderr:
            if line == b"at work\n":
                break
        running.send_signal(number)
        said = running.stderr.read().decode()
        assert running.wait(60) == 128 + number
    assert "Traceback" not in said
    assert stored(workspace)[-1] == ("Tool (work)", "error: interrupted by the user")
    provider.answers.append("fine")
    with Agent("Ada", "gpt-4o") as agent:
        assert agent.retry() == "fine"


def test_a_closed_agent_opens_its_model_again(provider: Provider) -> None:
    provider.answers.extend(["one", "two"])
    agent = Agent("Ada", "gpt-4o")
    assert agent.run("go") == "one"
    agent.close()
    assert agent.run("go") == "two"
    agent.close()


def test_replies_of_several_steps_stand_apart_on_a_terminal_and_the_last_alone_in_a_pipe(
    provider: Provider, workspace: Path, tmp_path: Path
) -> None:
    agree(workspace)
    (tmp_path / "sea.py").write_text("def tide() -> str:\n    return 'high'\n")
    words = ["chat", "Ada", "tide?", "-m", "gpt-4o", "--tool", "sea:tide", "--yes"]
    provider.answers.extend([Answer("Let me look.", calls=(("tide", {}),)), "It is high."])
    with Terminal([*COMMAND, *words], folder=tmp_path, environment={"PYTHONPATH": str(ROOT)}) as terminal:
        assert terminal.wait_end() == 0
        rows = terminal.transcript()
    start = rows.index("Let me look.")
    assert rows[start:] == [
        "Let me look.",
        "agentmem: tool tide {}",
        "agentmem: tool tide → high",
        "",
        "It is high.",
    ]
    provider.answers.extend([Answer("Let me look.", calls=(("tide", {}),)), "It is high."])
    assert run(*words, cwd=tmp_path).out == "It is high.\n"
