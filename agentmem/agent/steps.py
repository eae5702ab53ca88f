"""One task's way through the model and the tools, step by step."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agentmem.agent.bookkeeping import DoneMark, next_step
from agentmem.agent.reply import Reply, as_they_come
from agentmem.agent.toolbox import repeatable, role_of
from agentmem.errors import ContextOverflow, ToolsNotSupported
from agentmem.interruptions import uninterrupted
from agentmem.models.base import Request, Usage
from agentmem.roles import USER
from agentmem.turns import INTERRUPTED

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.agent.link import Context
    from agentmem.agent.toolbox import Toolbox
    from agentmem.compressor import Compaction
    from agentmem.conversation import Conversation
    from agentmem.models.base import Piece, ToolCall
    from agentmem.settings import Settings
    from agentmem.turns import Turn

AUTO_LIMIT = 100
"""Model calls one task may take with `max_loops="auto"`."""


@dataclass
class RunReport:
    """What a run took.

    Attributes:
        calls: model calls, without those of compactions.
        tool_calls: how often tools were asked for.
        usage: what the provider reported, summed up; its cost is None when that of a call is unknown.
        compactions: the compactions on the way, in order.
        stopped: `limit` when the limit of model calls ended the run, else "".
    """

    calls: int = 0
    tool_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    compactions: tuple[Compaction, ...] = ()
    stopped: str = ""

    def take(self, reply: Reply) -> None:
        """Count one more reply."""
        self.usage = self.usage + reply.usage if self.calls else reply.usage
        self.calls += 1
        self.tool_calls += len(reply.tool_calls)


@dataclass
class Run:
    """One run of an agent.

    Attributes:
        conversation: where all that is said is kept.
        context: the model, its window, and what depends on it.
        toolbox: runs the tools.
        settings: `max_loops` and `temperature` count.
        notice: told what a person should know.
        on_piece: told every piece of the replies.
        on_result: told every tool call with its result.
        report: what it took so far.
        reply: the last reply.
        recalled: what was put before the message in its request, or "".
    """

    conversation: Conversation
    context: Context
    toolbox: Toolbox
    settings: Settings
    notice: Callable[[str], None]
    on_piece: Callable[[Piece], None]
    on_result: Callable[[ToolCall, str], None]
    report: RunReport = field(default_factory=RunReport)
    reply: Reply = field(default_factory=Reply)
    recalled: str = ""

    def add(
        self,
        role: str,
        text: str,
        *,
        note: str = "",
        tool_calls: tuple[ToolCall, ...] = (),
        tool_call_id: str = "",
    ) -> Turn:
        """Store one more message and count it in; arguments and errors as `Conversation.add`."""
        # A message of the user is still with them; a reply they have seen must not be lost to a Ctrl-C.
        with nullcontext() if role == USER else uninterrupted():
            turn = self.conversation.add(
                role, text, note=note, tool_calls=tool_calls, tool_call_id=tool_call_id
            )
            self.context.window.catch_up()
        return turn

    def answer(self, pending: Turn) -> str:
        """Work on a message of the user and return the last reply.

        The last call allowed is made with tools switched off, so that what they brought is answered; when
        the only call allowed asks for tools, that closing call comes on top. Errors as `Agent.run`.
        """
        auto = self.settings.max_loops == "auto"
        limit = AUTO_LIMIT if self.settings.max_loops == "auto" else self.settings.max_loops
        earlier = len(self.context.room.compactions)
        said = ""
        done = DoneMark()
        try:
            for step in range(1, max(limit, 2) + 1):
                after_tools = bool(self.reply.tool_calls)
                if step > limit and not after_tools:
                    break
                closing = step > 1 and step >= limit
                nudge = next_step(step, limit) if step > 1 and not after_tools else ""
                pending = self.context.room.make(pending)
                if step == 1:
                    self.recalled = self.context.recall.before(pending)
                self._call(pending, nudge, done, closing=closing)
                if closing and limit > 1 and (after_tools or auto):
                    self._report_limit(limit)
                said = self._keep_reply(closing=closing, done=done.seen) or said
                if self.reply.tool_calls:
                    self.toolbox.run(self.reply.tool_calls, self._keep_result)
                elif auto or done.seen or not self.reply.text:
                    break
        finally:
            self.report.compactions = tuple(self.context.room.compactions[earlier:])
        return said

    def _call(self, pending: Turn, nudge: str, done: DoneMark, *, closing: bool) -> None:
        """Send one request and take the reply; a refusal that teaches something is tried again."""
        try:
            self._exchange(pending, nudge, done, closing=closing)
        except ToolsNotSupported:
            if self.toolbox:  # the user's tools: there is no other way to have those
                raise
            self.context.recall.refused()
            self.recalled = self.context.recall.before(pending)
            self._exchange(pending, nudge, done, closing=closing)
        except ContextOverflow as overflow:
            if self.reply.text:
                raise
            self.recalled = ""
            pending = self.context.room.make_after(overflow, pending)
            self._exchange(pending, nudge, done, closing=closing)

    def _exchange(self, pending: Turn, nudge: str, done: DoneMark, *, closing: bool) -> None:
        window = self.context.window
        request = Request(
            window.prompt.messages(nudge, recalled=self.recalled, before=pending),
            self.toolbox.specs,
            self.settings.temperature,
            window.reply_budget,
            may_call=not closing,
        )
        reply = self.reply = Reply()
        through = done.strip if nudge else as_they_come
        try:
            reply.receive(window.model, request, self.on_piece, through)
        except BaseException:
            if reply.text:
                self.add(self.conversation.agent_name, reply.text, note=INTERRUPTED)
            raise
        window.meter.report(reply.usage.prompt_tokens)
        self.report.take(reply)

    def _keep_reply(self, *, closing: bool, done: bool) -> str:
        """Store the reply; return its text."""
        reply = self.reply
        if closing and reply.tool_calls:  # an endpoint that does not know how to switch tools off
            self._report_limit(self.report.calls)
            reply.tool_calls.clear()
        if reply.text or reply.tool_calls:
            calls = tuple(map(repeatable, reply.tool_calls))
            self.add(self.conversation.agent_name, reply.text, tool_calls=calls)
        elif not (done or self.report.tool_calls):
            self.notice(f"{self.context.window.model.name} answered nothing (it ended with: {reply.finish})")
        if reply.finish == "length":
            self.notice("the reply was cut off at its token limit; --max-tokens sets it")
        return reply.text

    def _keep_result(self, call: ToolCall, result: str) -> None:
        self.add(role_of(call), result, tool_call_id=call.id)
        self.on_result(call, result)

    def _report_limit(self, limit: int) -> None:
        if not self.report.stopped:
            self.report.stopped = "limit"
            self.notice(
                f"the limit of {limit} model calls was reached: the last answer was given without more tools; "
                "--max-loops sets it"
            )
