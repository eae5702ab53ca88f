"""The prompt: keys, history, completion and the bar beneath."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, get_common_complete_suffix
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.output.color_depth import ColorDepth
from prompt_toolkit.renderer import CPR_Support
from prompt_toolkit.styles import Style

from agentmem.question import read_line
from agentmem.repl.commands import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyPressEvent

    from agentmem.repl.chat import Chat

_STYLE = Style.from_dict(
    {
        "bottom-toolbar": "noreverse",
        "bar.name": "bold",
        "bar.dim": "ansibrightblack",
        "bar.calm": "ansigreen",
        "bar.near": "ansiyellow",
        "bar.full": "ansired",
        "prompt": "bold ansicyan",
        "hint": "ansibrightblack",
    }
)
_MENU_ROWS = 6


class SlashCompleter(Completer):
    """Completes slash commands and their arguments."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what can stand where the cursor is."""
        del complete_event
        text = document.text_before_cursor
        if not text.startswith("/") or text.startswith("//") or "\n" in document.text:
            return
        name, space, argument = text[1:].partition(" ")
        if not space:
            for command in TABLE.values():
                if command.name.startswith(name):
                    shown = f"/{command.name} {command.argument}".rstrip()
                    gap = " " if command.argument else ""
                    yield Completion(
                        f"/{command.name}{gap}", -len(text), display=shown, display_meta=command.help
                    )
        elif name in TABLE:
            for choice in TABLE[name].choices(self._chat):
                if choice.startswith(argument):
                    yield Completion(choice, -len(argument))


class Prompt:
    """Asks for one message at a time."""

    def __init__(self, chat: Chat, *, colour: bool) -> None:
        self._chat = chat
        self._hint = ""
        self._started = False
        commanding = Condition(lambda: get_app().current_buffer.text.startswith("/"))
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            history=chat.history,
            key_bindings=self._bindings(),
            completer=SlashCompleter(chat),
            complete_while_typing=commanding,
            reserve_space_for_menu=_MENU_ROWS,
            bottom_toolbar=self._toolbar if chat.redraw else None,
            prompt_continuation=self._continuation,
            enable_suspend=True,
            tempfile_suffix=".md",
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_4_BIT if colour else ColorDepth.DEPTH_1_BIT,
        )
        # No warning on the screen: the bar goes above the prompt instead.
        self._session.app.renderer.cpr_not_supported_callback = self._session.app.invalidate
        self._session.app.after_render += self._after_render
        self._session.default_buffer.on_text_changed += self._forget_hint
        chat.on_opened = self._on_opened
        chat.print_above = self._print_above

    def ask(self) -> str:
        """Return what the person sends.

        Raises:
            EOFError: Ctrl-D.
            AgentMemError: the agent could not be opened.
        """
        self._hint = ""
        if self._chat.opening.agent:
            self._chat.greet()
        draft, self._chat.draft = self._chat.draft, ""
        return self._session.prompt(default=draft)

    # What is drawn

    def _message(self) -> StyleAndTextTuples:
        sign = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} " if self._chat.unicode else "> "
        unsupported = self._session.app.renderer.cpr_support is CPR_Support.NOT_SUPPORTED
        if self._chat.redraw and unsupported and not get_app().is_done:
            # Such a terminal never gets the toolbar drawn.
            return [*self._toolbar(), ("", "\n"), ("class:prompt", sign)]
        return [("class:prompt", sign)]

    def _continuation(self, width: int, line: int, wrapped: int) -> StyleAndTextTuples:
        del line
        return [("class:hint", " " * width if wrapped else ("· " if self._chat.unicode else ". "))]

    def _toolbar(self) -> StyleAndTextTuples:
        if self._hint:
            return [("class:hint", self._hint)]
        bar = self._chat.bar(self._chat.width)
        return [(f"class:bar.{style}" if style else "", text) for style, text in bar]

    def _after_render(self, _app: object) -> None:
        if not self._started:
            # The first prompt is on the screen: now load what is heavy.
            self._started = True
            self._chat.opening.start()

    def _forget_hint(self, _buffer: object) -> None:
        self._hint = ""

    # From the background

    def _on_opened(self) -> None:
        if error := self._chat.opening.error:
            self.leave(error)
        else:
            self._print_above(self._chat.greet)

    def leave(self, error: BaseException) -> bool:
        """End an open prompt with an error; returns False where none is open."""
        return self._on_loop(lambda: self._session.app.exit(exception=error))

    def _print_above(self, show: Callable[[], None]) -> None:
        """Print above the prompt if one is open, else right away."""

        def show_above() -> None:
            # Not run_in_terminal: it echoes what is typed meanwhile, and turns Enter into a new line.
            renderer = self._session.app.renderer
            renderer.erase()
            show()
            renderer.reset()
            renderer.request_absolute_cursor_position()
            self._session.app.invalidate()

        if not self._on_loop(show_above):
            show()

    def _on_loop(self, act: Callable[[], object]) -> bool:
        app = self._session.app
        loop = app.loop
        if not app.is_running or loop is None:
            return False

        def guarded() -> None:
            if app.is_running and not app.is_done:
                act()

        loop.call_soon_threadsafe(guarded)
        return True

    # Keys

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()
        add = partial(keys.add, filter=~is_searching)  # in a search they end it
        add("enter")(lambda event: self._enter(event, sends=not self._chat.multiline))
        add("escape", "enter")(lambda event: self._enter(event, sends=self._chat.multiline))
        add("c-j")(lambda event: self._enter(event, sends=False))
        add("tab")(_complete)
        add("c-c")(self._clear)
        add("c-t")(self._show_thoughts)
        # The key's own meaning sends what comes back, and so also what someone left the editor to call off.
        add("c-x", "c-e")(lambda event: event.current_buffer.open_in_editor())
        return keys

    def _enter(self, event: KeyPressEvent, *, sends: bool) -> None:
        if sends:
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.newline(copy_margin=False)

    def _clear(self, event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
            self._chat.replaced = []
        else:
            self._tell(event, "Ctrl-D leaves")

    def _show_thoughts(self, event: KeyPressEvent) -> None:
        if self._chat.thoughts:
            self._print_above(self._chat.show_thoughts)
        else:
            self._tell(event, "the model did not think aloud")

    def _tell(self, event: KeyPressEvent, hint: str) -> None:
        if self._chat.redraw:
            self._hint = hint
            event.app.invalidate()
        else:
            self._print_above(lambda: self._chat.say_line(hint))


class LinePrompt:
    """Asks on stderr, line by line: for replies that go to a file or a pipe."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def ask(self) -> str:
        """Return what the person sends.

        Raises:
            EOFError: Ctrl-D.
            OSError: the terminal was closed.
            AgentMemError: the agent could not be opened.
        """
        self._chat.opening.wait()
        self._chat.greet()
        sys.stderr.write("> ")
        sys.stderr.flush()
        line = read_line()
        if not line:
            raise EOFError
        return line.rstrip("\n")

    def leave(self, error: BaseException) -> bool:
        """Leave it to the signal's handler to interrupt the reading."""
        del error
        return False


def _complete(event: KeyPressEvent) -> None:
    """Complete at once, not in the background, where a quick Tab is dropped while the menu is being made."""
    buffer = event.current_buffer
    if buffer.complete_state:
        buffer.complete_next()
        return
    wanted = CompleteEvent(completion_requested=True)
    found = list(buffer.completer.get_completions(buffer.document, wanted))
    if len(found) == 1:
        buffer.apply_completion(found[0])
    elif found:
        buffer.insert_text(get_common_complete_suffix(buffer.document, found))
        buffer.start_completion()
