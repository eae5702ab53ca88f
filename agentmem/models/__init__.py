"""The only place that knows providers.

Three lanes give the same pieces, errors and usage: `openai_wire` on httpx for OpenAI's protocol,
`litellm_lane` for every other provider, `local` for a model embedded in the process. Each is imported
when it is first opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.errors import ConfigurationError
from agentmem.models import providers
from agentmem.models.providers import choose_model, known_window

if TYPE_CHECKING:
    from agentmem.models.base import Model
    from agentmem.settings import Settings

__all__ = ["choose_model", "known_window", "open_model", "warm"]


def open_model(settings: Settings, name: str | None = None, *, key: str = "") -> Model:
    """Return a model to talk to.

    Args:
        settings: the resolved settings.
        name: a model other than `settings.model`.
        key: the API key, where it does not come from the environment.

    Raises:
        ConfigurationError: no model is configured, its key is missing, or it is not installed.
    """
    chosen = name or choose_model(settings)[0]
    timeout = settings.timeout
    # The setting is about the agent's own model, not about another that writes its summaries.
    length = settings.context_length if name in (None, settings.model) else None
    if providers.is_local(chosen):
        from agentmem.models import local

        return local.LocalModel(chosen, timeout=timeout, context_length=length)
    _check_address(settings)
    base = providers.api_base_for(settings, chosen)
    key = providers.checked(key or _key(settings, chosen, custom=bool(base)), chosen)
    if providers.speaks_openai(chosen, base):
        from agentmem.models import openai_wire

        return openai_wire.OpenAIWire(
            chosen,
            wire_name=providers.wire_name(chosen),
            base=base or openai_wire.OPENAI,
            key=key,
            timeout=timeout,
            context_length=length,
        )
    wire_name = providers.litellm_name(chosen)
    from agentmem.models import litellm_lane

    return litellm_lane.LiteLLM(
        chosen, wire_name=wire_name, base=base, key=key, timeout=timeout, context_length=length
    )


def _check_address(settings: Settings) -> None:
    """Refuse to talk to another address than a file names that was not approved, or to that one."""
    withheld = [file for file in settings.unapproved if "api_base" in file.values]
    if withheld and not settings.api_base:
        raise ConfigurationError(
            f"{withheld[0].path} sends what is said to {withheld[0].values['api_base']}, which is not approved: "
            "`agentmem chat` asks on a terminal, --yes approves"
        )


def _key(settings: Settings, name: str, *, custom: bool) -> str:
    """Return the key from the provider's variables, else from the user's command; errors as `key_for`."""
    try:
        key = providers.key_for(settings, name, custom=custom)
    except ConfigurationError as error:
        withheld = [file.path for file in settings.unapproved if "key_command" in file.values]
        if withheld:
            raise ConfigurationError(
                f"{error}; the key_command in {withheld[0]} is not approved: `agentmem chat` asks on a terminal"
            ) from None
        if not settings.key_command:
            raise
        key = ""
    if key or not settings.key_command:
        return key
    from agentmem.models.key_command import key_from

    return key_from(settings.key_command)


def warm(model: Model) -> None:
    """Do ahead, perhaps in a thread, what the first request would wait for: imports, weights.

    Raises:
        ConfigurationError: the weights cannot be loaded.
    """
    warming = getattr(model, "warm", None)
    if warming:
        warming()
