"""An agent's link to its model: what is opened on first use, switched, and closed again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from agentmem import models
from agentmem.agent.persona import Persona
from agentmem.agent.recall import Recall
from agentmem.agent.room import Room
from agentmem.agent.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable

    from agentmem.agent.toolbox import Toolbox
    from agentmem.compressor import ContextCompressor
    from agentmem.conversation import Conversation
    from agentmem.models.base import Model
    from agentmem.settings import Settings


@dataclass(frozen=True)
class Context:
    """What is made for one model.

    Attributes:
        window: its context window.
        room: makes room there.
        recall: brings back what no longer is there.
    """

    window: Window
    room: Room
    recall: Recall


class Link:
    """The model an agent talks to, and all that depends on which one that is.

    Attributes:
        settings: every setting, the model's name among them once it was chosen.
        opened: the context, if it was needed before.
    """

    def __init__(
        self,
        conversation: Conversation,
        toolbox: Toolbox,
        settings: Settings,
        model: Model | None,
        compressor: Callable[[], ContextCompressor | None],
        notice: Callable[[str], None],
    ) -> None:
        """Describe it; nothing is opened yet.

        Args:
            conversation: what is talked about.
            toolbox: the tools the model is offered.
            settings: every setting.
            model: a model to use instead of opening one by name.
            compressor: gives what makes room, or None when nothing may.
            notice: told what a person should know.
        """
        self.settings = settings
        self.opened: Context | None = None
        self._conversation = conversation
        self._toolbox = toolbox
        self._model, self._given = model, model is not None
        self._compressor = compressor
        self._notice = notice
        self._persona = Persona(conversation, settings.sources, notice)

    @property
    def model(self) -> Model:
        """The model, opened on first use.

        Raises:
            ConfigurationError: no model, or no key for it.
        """
        if self._model is None:
            self.choose(say=True)
            self._model = models.open_model(self.settings)
        return self._model

    def choose(self, *, say: bool) -> None:
        """Settle which model it is, if the settings name none; errors as `model`.

        Args:
            say: tell which, and why.
        """
        if not self.settings.model:
            name, why = models.choose_model(self.settings)
            if say:
                self._notice(f"talking to {name}, since {why}; --model chooses another")
            self.settings = replace(self.settings, model=name)

    def switch(self, name: str) -> None:
        """Talk to another model from now on; errors as `Agent.use_model`."""
        changed = replace(self.settings, model=name, context_length=None)
        model = models.open_model(changed)
        # One that was needed before is made now, for what there is to be said of the new model's window.
        context = self._made_for(model, changed) if self.opened else None
        self.close()
        self.settings, self._model, self._given, self.opened = changed, model, False, context

    def close(self) -> None:
        """Let go of the model's connections and weights; the next use opens them again."""
        if self.opened:
            self.opened.window.close()
        if self._model:
            self._model.close()
        if not self._given:
            self._model = self.opened = None

    @property
    def context(self) -> Context:
        """The context, made on first use; errors as `model`."""
        if self.opened is None:
            self.opened = self._made_for(self.model, self.settings)
        return self.opened

    def _made_for(self, model: Model, settings: Settings) -> Context:
        conversation, notice = self._conversation, self._notice
        window = Window(conversation, model, settings, self._toolbox.schema_text, notice)
        room = Room(window, conversation, settings, self._compressor, notice, self._after_fold)
        return Context(window, room, Recall(conversation, window, self._toolbox, settings.recall, notice))

    def _after_fold(self) -> None:
        self._persona.read_again()
        self.context.recall.offer()
