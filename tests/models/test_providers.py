from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from agentmem import errors, settings
from agentmem.models import catalog, choose_model, known_window, local, open_model
from agentmem.models.base import Usage
from agentmem.models.litellm_lane import LiteLLM
from agentmem.models.openai_wire import OPENAI, OpenAIWire
from agentmem.models.providers import PROVIDERS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Provider

pytestmark = pytest.mark.usefixtures("workspace")


def load(**flags: Any) -> settings.Settings:
    return settings.load(flags)


def lane(name: str, **flags: Any) -> tuple[str, str, str, str]:
    """Return which lane a model takes, the name sent, the address, and the key."""
    model = open_model(load(**flags), name)
    model.close()
    assert model.name == name
    assert isinstance(model, OpenAIWire | LiteLLM)
    return type(model).__name__, model._wire_name, model.base, model._key


def test_the_given_model_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("AGENTMEM_MODEL", "groq/x")
    assert choose_model(load()) == ("groq/x", "AGENTMEM_MODEL")
    assert choose_model(load(model="local")) == ("local", "flag")


@pytest.mark.parametrize(
    ("variable", "model"),
    [
        ("OPENAI_API_KEY", "gpt-4o"),
        ("ANTHROPIC_API_KEY", "anthropic/claude-sonnet-4-6"),
        ("GOOGLE_API_KEY", "gemini/gemini-flash-latest"),
    ],
)
def test_then_the_provider_whose_key_is_there(
    monkeypatch: pytest.MonkeyPatch, variable: str, model: str
) -> None:
    monkeypatch.setenv("XAI_API_KEY", "k")
    monkeypatch.setenv(variable, "k")
    assert choose_model(load()) == (model, f"{variable} is set")


def test_every_default_model_has_a_known_window_and_price() -> None:
    for provider in PROVIDERS:
        assert catalog.context_length(provider.model), provider.model
        assert catalog.cost(provider.model, Usage(1, 1)), provider.model
        assert catalog.supports_tools(provider.model), provider.model


def test_then_what_the_configured_endpoint_offers(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(errors.ConfigurationError, match="--model"):
        choose_model(load())
    provider.models = [{"id": "home-brew"}]
    assert choose_model(load()) == ("home-brew", f"{provider.url} offers it")


def test_a_list_of_agents_asks_nobody_for_their_windows(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    provider.models = [{"id": "home-brew"}]
    assert known_window(load()) == ("", None)
    assert known_window(load(model="gpt-4o")) == ("gpt-4o", catalog.context_length("gpt-4o"))
    assert known_window(load(model="gpt-4o", context_length=99)) == ("gpt-4o", 99)


@pytest.mark.embedded
def test_then_the_embedded_model() -> None:
    assert choose_model(load())[0] == "local"
    assert known_window(load()) == ("local", 8192)


def test_with_nothing_at_all_one_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "available", lambda: False)
    with pytest.raises(errors.ConfigurationError) as caught:
        choose_model(load())
    assert "OPENAI_API_KEY" in str(caught.value)
    assert "agentmem[local]" in str(caught.value)
    assert caught.value.exit_code == 78


@pytest.mark.parametrize("name", ["gpt-4o", "openai/gpt-4o", "o3", "chatgpt-4o-latest"])
def test_openai_models_take_the_fast_lane(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " k\n")
    assert lane(name) == ("OpenAIWire", name.removeprefix("openai/"), OPENAI, "k")


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("anthropic/claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-6", "ANTHROPIC_API_KEY"),
        ("gemini-2.5-flash", "GEMINI_API_KEY"),
        ("groq/llama", "GROQ_API_KEY"),
    ],
)
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=f"set {variable}"):
        open_model(load(), name)


def test_a_key_may_be_handed_in() -> None:
    model = open_model(load(), "gpt-4o", key="from-a-command\n")
    assert isinstance(model, OpenAIWire)
    assert model._key == "from-a-command"
    model.close()


@pytest.mark.parametrize("key", ["a\nb", "ключ", "a\x00b"])
def test_a_key_no_header_can_carry_is_refused_unseen(key: str) -> None:
    with pytest.raises(errors.ConfigurationError) as caught:
        open_model(load(), "gpt-4o", key=key)
    assert key not in str(caught.value)


def test_openais_variables_redirect_openai_models_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GROQ_API_KEY"):
        monkeypatch.setenv(variable, variable)
    for variable in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9/v1")
        here = ("http://127.0.0.1:9/v1", "OPENAI_API_KEY")
        assert lane("gpt-4o") == ("OpenAIWire", "gpt-4o", *here)
        assert lane("meta-llama/Llama-3") == ("OpenAIWire", "meta-llama/Llama-3", *here)
        assert lane("claude-sonnet-4-6") == ("LiteLLM", "claude-sonnet-4-6", "", "ANTHROPIC_API_KEY")
        assert lane("groq/llama") == ("LiteLLM", "groq/llama", "", "GROQ_API_KEY")


def test_an_address_given_for_agentmem_counts_for_every_model() -> None:
    base = "http://127.0.0.1:9/v1"
    assert lane("llama3", api_base=base) == ("OpenAIWire", "llama3", base, "")
    assert lane("org/llama3", api_base=base) == ("OpenAIWire", "org/llama3", base, "")
    assert lane("hosted_vllm/org/llama3", api_base=base) == ("OpenAIWire", "org/llama3", base, "")
    assert lane("anthropic/claude", api_base=base) == ("LiteLLM", "anthropic/claude", base, "")
    assert lane("ollama/llama3", api_base=base) == ("LiteLLM", "ollama/llama3", base, "")


def test_the_context_length_of_the_settings_is_that_of_the_agents_own_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    configured = load(model="gpt-4o", context_length=500)
    for name, length in ((None, 500), ("gpt-4o", 500), ("gpt-4o-mini", 128_000)):
        model = open_model(configured, name)
        assert model.context_length() == length
        model.close()


def test_other_providers_go_through_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    assert lane("gemini-2.5-flash") == ("LiteLLM", "gemini/gemini-2.5-flash", "", "k")
    assert lane("ollama/llama3") == ("LiteLLM", "ollama/llama3", "", "")


def test_a_model_nobody_knows_is_refused_before_anything_loads() -> None:
    with pytest.raises(errors.ConfigurationError, match="unknown model 'llama3'"):
        open_model(load(), "llama3")


@pytest.mark.embedded
def test_a_model_file_that_is_missing_or_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigurationError, match="no model file"):
        open_model(load(), f"local:{tmp_path}/none.gguf")
    text = tmp_path / "notes.txt"
    text.write_text("no model")
    with pytest.raises(errors.ConfigurationError, match="no GGUF file"):
        open_model(load(), f"local:{text}")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    model = open_model(load(), f"local:{broken}")
    with pytest.raises(errors.ConfigurationError, match="cannot be loaded"):
        model.context_length()
