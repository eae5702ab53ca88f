"""Which model, over which lane, with which key."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentmem import spelling
from agentmem.errors import ConfigurationError
from agentmem.models import catalog
from agentmem.settings import TABLE

if TYPE_CHECKING:
    from agentmem.settings import Settings

LOCAL = "local"


@dataclass(frozen=True)
class Provider:
    """A provider that is usable as soon as its key is in the environment.

    Attributes:
        prefix: what its models' names start with, as litellm has it.
        variables: where its key is looked for, in order.
        model: the model taken when none is named.
    """

    prefix: str
    variables: tuple[str, ...]
    model: str


# In the order in which a key in the environment decides.
PROVIDERS = (
    Provider("openai", ("OPENAI_API_KEY",), "gpt-4o"),
    Provider("anthropic", ("ANTHROPIC_API_KEY",), "anthropic/claude-sonnet-4-6"),
    Provider("gemini", ("GEMINI_API_KEY", "GOOGLE_API_KEY"), "gemini/gemini-flash-latest"),
    Provider("mistral", ("MISTRAL_API_KEY",), "mistral/mistral-large-latest"),
    Provider("groq", ("GROQ_API_KEY",), "groq/openai/gpt-oss-120b"),
    Provider("deepseek", ("DEEPSEEK_API_KEY",), "deepseek/deepseek-chat"),
    Provider("xai", ("XAI_API_KEY",), "xai/grok-4.5-latest"),
    Provider("openrouter", ("OPENROUTER_API_KEY",), "openrouter/openai/gpt-4o"),
    Provider("together_ai", ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY"), "together_ai/openai/gpt-oss-120b"),
    Provider("cohere", ("COHERE_API_KEY", "CO_API_KEY"), "cohere/command-a-03-2025"),
)

_OPENAI_NAME = re.compile(r"(gpt-|chatgpt-|o\d|ft:|codex-)", re.IGNORECASE)
_OTHERS_NAME = re.compile(r"(claude|gemini)-", re.IGNORECASE)
# Providers whose prefix only says "OpenAI's protocol, at the api_base".
_PLAIN_WIRE = frozenset(
    {"openai", "openai_like", "custom_openai", "hosted_vllm", "lm_studio", "llamafile", "litellm_proxy"}
)
_OPENAI_VARIABLES = TABLE["api_base"].metadata["variables"]


def choose_model(settings: Settings) -> tuple[str, str]:
    """Return the model to talk to and, in a few words, why it is that one.

    Raises:
        ConfigurationError: nothing is configured or installed.
    """
    if chosen := _without_asking(settings):
        return chosen
    if settings.api_base:
        offered = catalog.ask_models(settings.api_base)
        if offered:
            return offered[0], f"{settings.api_base} offers it"
        raise ConfigurationError(
            f"{settings.api_base} does not say which models it has, if it runs at all; name one with --model"
        )
    from agentmem.models import local

    if local.available():
        return LOCAL, "no provider is configured"
    raise ConfigurationError(
        f"no model to talk to: set OPENAI_API_KEY or another provider's key, name one with --model, or "
        f"run a small one on this machine: {local.INSTALL}"
    )


def _without_asking(settings: Settings) -> tuple[str, str] | None:
    if settings.model:
        return settings.model, settings.sources.get("model", "given")
    for provider in PROVIDERS:
        for variable in provider.variables:
            if settings.variable(variable):
                return provider.model, f"{variable} is set"
    return None


def known_window(settings: Settings) -> tuple[str, int | None]:
    """Return the model and its context length as far as they are known; nobody is asked over the network."""
    try:
        unknown = settings.api_base and not _without_asking(settings)
        model = "" if unknown else choose_model(settings)[0]
        if settings.context_length or not model:
            return model, settings.context_length
        if is_local(model):
            from agentmem.models import local

            return model, local.trained_context_length(model) or None
        return model, catalog.context_length(model)
    except ConfigurationError:
        return settings.model, settings.context_length


def is_local(name: str) -> bool:
    """Return whether the name means the embedded model."""
    return name == LOCAL or name.startswith(f"{LOCAL}:")


def api_base_for(settings: Settings, name: str) -> str:
    """Return the address that counts for a model: OpenAI's own variables redirect no other provider."""
    if settings.sources.get("api_base") not in _OPENAI_VARIABLES:
        return settings.api_base
    provider = _prefix(name)
    foreign = provider not in ("", *_PLAIN_WIRE) or (not provider and _OTHERS_NAME.match(name))
    return "" if foreign else settings.api_base


def speaks_openai(name: str, api_base: str) -> bool:
    """Return whether a model takes the lane of its own for OpenAI's protocol."""
    provider = _prefix(name)
    if provider == "openai":
        return True
    if api_base:
        return not provider or provider in _PLAIN_WIRE
    return not provider and bool(_OPENAI_NAME.match(name))


def wire_name(name: str) -> str:
    """Return the name an OpenAI-compatible endpoint knows a model by."""
    return name.partition("/")[2] if _prefix(name) in _PLAIN_WIRE else name


def litellm_name(name: str) -> str:
    """Return the name by which litellm finds a model's provider.

    Raises:
        ConfigurationError: it would not.
    """
    if _prefix(name):
        return name
    # Bare, litellm takes these for Vertex AI, which wants a Google Cloud project and no key.
    if name.startswith("gemini-"):
        return f"gemini/{name}"
    if catalog.provider_of(name):
        return name
    near = spelling.hint(name, catalog.chat_models())
    raise ConfigurationError(
        f"unknown model {name!r}: name its provider too, such as anthropic/{name.rpartition('/')[2]}, "
        f"or the address of an OpenAI-compatible server with --api-base{near}"
    )


def key_for(settings: Settings, name: str, *, custom: bool) -> str:
    """Return the key for a model from the environment; "" where none is needed.

    Args:
        settings: where the environment is read.
        name: the model.
        custom: it is at an address of the user's own, which may do without.

    Raises:
        ConfigurationError: it needs one and there is none, or it is no key.
    """
    prefix = _provider(name, custom=custom)
    known = next((each for each in PROVIDERS if each.prefix == prefix), None)
    for variable in known.variables if known else ():
        if value := settings.variable(variable):
            return checked(value, name)
    if known and not custom:
        variable = known.variables[0]
        raise ConfigurationError(f"no key for {name}: set {variable}, or key_command in a settings file")
    return ""


def checked(key: str, name: str) -> str:
    """Return a key without the white space around it.

    Raises:
        ConfigurationError: it cannot go into an HTTP header; sending it would quote it in the error.
    """
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"the key for {name} has characters that no key has")
    return key


def _provider(name: str, *, custom: bool) -> str:
    prefix = _prefix(name)
    if prefix in _PLAIN_WIRE or (not prefix and (custom or _OPENAI_NAME.match(name))):
        return "openai"
    if not prefix and name.startswith("gemini-"):
        return "gemini"
    return prefix or catalog.provider_of(name)


def _prefix(name: str) -> str:
    prefix, slash, _ = name.partition("/")
    if not slash:
        return ""
    return prefix if prefix in _PLAIN_WIRE or prefix in catalog.providers() else ""
