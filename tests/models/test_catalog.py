from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentmem.models import catalog
from agentmem.models.base import Usage

if TYPE_CHECKING:
    from tests.loopback import Provider


@pytest.mark.parametrize(
    ("model", "length"),
    [
        ("gpt-4o", 128_000),
        ("openai/gpt-4o", 128_000),
        ("anthropic/claude-sonnet-4-5", 200_000),
        ("gemini/gemini-2.5-flash", 1_048_576),
        ("nobody/knows-me", None),
        ("sample_spec", None),
        ("", None),
    ],
)
def test_context_lengths_come_from_the_table(model: str, length: int | None) -> None:
    assert catalog.context_length(model) == length


def test_completion_offers_chat_models() -> None:
    names = catalog.chat_models()
    assert {"gpt-4o", "claude-sonnet-4-6", "gemini/gemini-2.5-flash"} <= set(names)
    assert "sample_spec" not in names


def test_every_row_is_found_as_parsing_the_whole_table_finds_it() -> None:
    found = importlib.util.find_spec("litellm")
    assert found is not None
    assert found.origin is not None
    table = json.loads(Path(found.origin).with_name(catalog._TABLE).read_text(encoding="utf-8"))
    table.pop("sample_spec")
    assert all(catalog._row(name) == table[name] for name in list(table)[::37])


def test_the_cost_counts_cached_tokens_at_their_own_price() -> None:
    assert catalog.cost("gpt-4o", Usage(1_000_000, 0)) == pytest.approx(2.5)
    assert catalog.cost("gpt-4o", Usage(1_000_000, 0, cached_tokens=1_000_000)) == pytest.approx(1.25)
    assert catalog.cost("nobody/knows-me", Usage(1, 1)) is None
    assert catalog.cost("nobody/knows-me", Usage(1, 1, cost=0.5)) == 0.5


def test_only_a_known_lack_of_tools_counts() -> None:
    assert catalog.supports_tools("gpt-4o")
    assert catalog.supports_tools("nobody/knows-me")


@pytest.mark.parametrize(
    ("says", "length"),
    [
        ({"models": [{"id": "m", "context_length": 1000}]}, 1000),
        ({"models": [{"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 2000}]}, 2000),
        ({"models": [{"id": "whatever", "context_window": 3000}]}, 3000),
        ({"models": [{"id": "a"}, {"id": "b", "context_length": 9}]}, None),
        ({"models": [{"id": "m", "meta": {"n_ctx_train": 4000}}]}, 4000),
        ({"models": [{"id": "m", "meta": {"n_ctx_train": 4000, "n_ctx": 512}}]}, 512),
        ({"models": [{"id": "m", "context_length": "many", "meta": None}, "x"]}, None),
        ({"props": {"default_generation_settings": {"n_ctx": 5000}}, "models": [{"id": "m"}]}, 5000),
        ({"shows": {"model_info": {"llama.context_length": 6000}}}, 6000),
        (
            {
                "shows": {
                    "parameters": "temperature 1\nnum_ctx    2048",
                    "model_info": {"x.context_length": 9},
                }
            },
            2048,
        ),
        ({}, None),
    ],
)
def test_an_endpoint_is_asked_for_its_context_length(
    provider: Provider, says: dict[str, Any], length: int | None
) -> None:
    for name, value in says.items():
        setattr(provider, name, value)
    assert catalog.ask_context_length(provider.url, "m") == length


@pytest.mark.parametrize("base", ["http://127.0.0.1:1/v1", "nonsense", "http://[", ""])
def test_asking_nobody_finds_nothing(workspace: object, base: str) -> None:
    assert catalog.ask_context_length(base, "m") is None
    assert catalog.ask_models(base) == []


def test_the_table_is_read_without_litellm(workspace: object) -> None:
    code = "import sys; from agentmem.models import catalog; catalog.context_length('gpt-4o'); "
    code += "catalog.providers(); print('litellm' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("gpt-4oo", "gpt-4o"),
        ("openai/gpt-4oo", "openai/gpt-4o"),
        ("claude-sonet-4-6", "claude-sonnet-4-6"),
        ("gpt-4o", ""),
        ("openai/mystery", ""),
        ("my-finetune", ""),
    ],
)
def test_a_name_like_a_known_one_is_told_from_a_name_of_ones_own(typed: str, meant: str) -> None:
    assert catalog.similar(typed) == meant
