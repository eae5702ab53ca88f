"""What is known of a model without talking to it, and what its endpoint says.

Context lengths, prices and abilities come from the table that litellm bundles, read without importing
litellm (which costs seconds). Nothing here raises: what cannot be found out is None.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentmem import spelling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from agentmem.models.base import Usage

_TABLE = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"
_PATIENCE = 3.0
"""Seconds to wait for an endpoint that is only asked what it is."""

FALLBACK_CONTEXT_LENGTH = 8192
"""What is assumed of a model of which nothing is known."""

_LIKENESS = 0.8
"""Of two names of models; many that have nothing to do with each other share more than half."""

_LENGTH_KEYS = ("context_length", "max_model_len", "context_window", "max_context_length", "n_ctx")


def context_length(model: str) -> int | None:
    """Return the tokens a request to the model may have, by the table."""
    entry = _entry(model)
    if "max_input_tokens" in entry:
        return positive(entry["max_input_tokens"])
    # Without either limit of its own, max_tokens is the window; beside them it is the reply's.
    return None if "max_output_tokens" in entry else positive(entry.get("max_tokens"))


def supports_tools(model: str) -> bool:
    """Return whether the model takes tools; one that the table does not know is given the chance."""
    entry = _entry(model)
    return bool(entry.get("supports_function_calling", not entry))


def cost(model: str, usage: Usage) -> float | None:
    """Return what a call cost in US dollars: as the provider said, by the table, or None."""
    if usage.cost is not None:
        return usage.cost
    entry = _entry(model)
    into, out = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(into, int | float) or not isinstance(out, int | float):
        return None
    cached = entry.get("cache_read_input_token_cost")
    rate = cached if isinstance(cached, int | float) else into
    fresh = usage.prompt_tokens - usage.cached_tokens
    return float(fresh * into + usage.cached_tokens * rate + usage.completion_tokens * out)


def folder_of(package: str) -> Path | None:
    """Return where a package lies, without importing it; None where it is not installed."""
    found = importlib.util.find_spec(package)
    folders = found.submodule_search_locations if found else None
    return next((Path(folder) for folder in folders or ()), None)


def bearer(key: str) -> dict[str, str]:
    """Return the header that carries a key; none where there is no key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


@functools.cache
def providers() -> frozenset[str]:
    """Return the prefixes that litellm takes for a provider's name."""
    found = _read(_PROVIDERS)
    try:
        names = json.loads(found)["providers"]
    except (ValueError, KeyError):
        return frozenset()
    return frozenset(names) - {"custom"}


def chat_models() -> list[str]:
    """Return the names of every chat model in the table, for completion."""
    try:
        table = json.loads(_read(_TABLE))
    except ValueError:
        return []
    return sorted(name for name, row in table.items() if row.get("mode") == "chat" and name != "sample_spec")


def similar(model: str) -> str:
    """Return the known name that a model's unknown one was probably meant to be, or ""."""
    prefix, slash, name = model.rpartition("/")
    known = {each.rpartition("/")[2] for each in chat_models()}
    near = "" if name in known else spelling.nearest(name, known, _LIKENESS)
    return f"{prefix}{slash}{near}" if near else ""


def provider_of(model: str) -> str:
    """Return the provider litellm would reach a model at, or ""."""
    prefix, slash, _ = model.partition("/")
    if slash and prefix in providers():
        return prefix
    return str(_entry(model).get("litellm_provider") or "") if not slash else ""


def ask_context_length(base: str, model: str, key: str = "", *, trust_env: bool = True) -> int | None:
    """Ask an endpoint for a model's context length: `/v1/models`, llama.cpp's `/props`, Ollama's `/api/show`.

    The latter two only over http://, as they are served on one's own machines.

    Args:
        base: URL up to and including `/v1`, where there is one.
        model: the name on the wire.
        key: the API key, or "".
        trust_env: use the proxies that the environment names.
    """
    import httpx

    root = base.rstrip("/").removesuffix("/v1")
    try:
        with httpx.Client(headers=bearer(key), timeout=_PATIENCE, trust_env=trust_env) as client:
            for answer in _questions(client, base.rstrip("/"), root, model):
                if length := _stated(answer, model):
                    return length
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, OSError, ValueError):
        return None
    return None


def ask_models(base: str, key: str = "") -> list[str]:
    """Ask an endpoint which models it offers."""
    import httpx

    try:
        answer = httpx.get(f"{base.rstrip('/')}/models", headers=bearer(key), timeout=_PATIENCE).json()
    except (httpx.HTTPError, httpx.InvalidURL, ImportError, OSError, ValueError):
        return []
    listed = answer.get("data") if isinstance(answer, dict) else None
    names = [each.get("id") for each in listed or () if isinstance(each, dict)]
    return [name for name in names if isinstance(name, str) and name]


def _questions(client: Any, base: str, root: str, model: str) -> Iterator[object]:
    own = (("GET", f"{root}/props", None), ("POST", f"{root}/api/show", {"model": model}))
    everyones = (("GET", f"{base}/models", None),)
    for method, url, body in (*(own if base.startswith("http://") else ()), *everyones):
        response = client.request(method, url, json=body)
        if response.is_success and "json" in response.headers.get("content-type", ""):
            yield response.json()


def _stated(answer: object, model: str) -> int | None:
    """Return the context length that an endpoint's answer to one of the questions states."""
    if not isinstance(answer, dict):
        return None
    entries = answer.get("data") or answer.get("models")
    if isinstance(entries, list):
        listed = [each for each in entries if isinstance(each, dict)]
        named = [each for each in listed if model in (each.get("id"), each.get("name"), each.get("model"))]
        return _length(named[0]) if named else _length(listed[0]) if len(listed) == 1 else None
    found = _length(answer.get("default_generation_settings"))
    return found or _from_ollama(answer)


def _length(entry: object) -> int | None:
    if not isinstance(entry, dict):
        return None
    about = entry.get("meta")
    meta = about if isinstance(about, dict) else {}
    stated = (entry.get(name) or meta.get(name) for name in _LENGTH_KEYS)
    return next((length for each in stated if (length := positive(each))), positive(meta.get("n_ctx_train")))


def _from_ollama(answer: Mapping[str, Any]) -> int | None:
    # What the model was started with goes before what it was trained for.
    for line in str(answer.get("parameters") or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdigit():
            return int(value)
    about = answer.get("model_info")
    lengths = about.items() if isinstance(about, dict) else ()
    return next((positive(value) for name, value in lengths if name.endswith(".context_length")), None)


def positive(value: object) -> int | None:
    """Return a number of tokens as JSON states it, or None when it states none."""
    return int(value) if isinstance(value, int | float) and 0 < value < math.inf else None


@functools.cache
def _entry(model: str) -> Mapping[str, Any]:
    """Return the table's row for a model, by its full name or without its provider; {} when unknown."""
    found = _row(model)
    if not found and "/" in model:
        prefix, _, rest = model.partition("/")
        if prefix == "openrouter":  # sells other providers' models, under their names and at their prices
            return _entry(rest)
        row = _row(rest)
        # The same name elsewhere may be another model: only the provider's own row counts.
        found = row if str(row.get("litellm_provider")).startswith(prefix) else {}
    return found


def _row(name: str) -> Mapping[str, Any]:
    # Cutting one row out of the text takes 2 ms, parsing the whole table 25 ms of every start.
    text = _read(_TABLE)
    start = text.find(b"\n    " + json.dumps(name).encode() + b": {")
    if start < 0 or name == "sample_spec":
        return {}
    opening = text.index(b"{", start + 5 + len(json.dumps(name).encode()))
    end = text.find(b"\n    }", opening)
    try:
        row = json.loads(text[opening : end + len(b"\n    }")])
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}


def _read(name: str) -> bytes:
    folder = folder_of("litellm")
    try:
        return (folder / name).read_bytes() if folder else b""
    except OSError:
        return b""
