"""Plain Python functions as tools: what a model is told about them, and running them for it.

pydantic makes the schema and checks what the model sends; it and docstring_parser are loaded only when a
function is turned into a tool or called. A `Tool` built by hand costs neither until its first call.
"""

from __future__ import annotations

import contextvars
import importlib
import inspect
import json
import os
import re
import sys
import threading
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, get_origin

from agentmem import spelling
from agentmem.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from pydantic import BaseModel, ValidationError

NO_RESULT = "(no result)"
"""Stands for None and for an empty text: many providers refuse an empty message."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHOWN_INPUT = 80


@dataclass(frozen=True)
class Tool:
    """A function a model may call.

    Attributes:
        name: letters, digits, `_` and `-`, 64 at most.
        description: what it does, for the model.
        parameters: JSON schema of its arguments, an object.
        function: takes the arguments by their names in `parameters`; may be a coroutine function.
    """

    name: str
    description: str
    parameters: Mapping[str, object]
    function: Callable[..., object]

    def call(self, arguments: str, timeout: float | None = None) -> str:
        """Run the function and return its result, or what went wrong, as text for the model.

        A text stays as it is, None becomes `NO_RESULT`, anything else becomes JSON. What went wrong
        begins with `error: ` and says enough to call again. KeyboardInterrupt passes through.

        Args:
            arguments: a JSON object, as the model wrote it; nothing at all and null count as an empty one.
            timeout: seconds; a function that takes longer is abandoned, still running, on a daemon
                thread. With None it runs on the calling thread, for as long as it likes.
        """
        from pydantic import ValidationError

        try:
            bound = self._accepts.bind(arguments)
        except ValidationError as error:
            return f"error: {_complaint(error, self._accepts.names)}"
        run = partial(_run, self.function, bound)
        return run() if timeout is None else _run_within(timeout, run, self.name)

    @cached_property
    def _accepts(self) -> _Arguments:
        return _arguments_of(self.function, self.name)


@dataclass(frozen=True)
class _Arguments:
    """What a function accepts; `model` has a field for each parameter, in order, under its alias."""

    signature: inspect.Signature
    model: type[BaseModel]

    @property
    def names(self) -> list[str]:
        return list(self.signature.parameters)

    def bind(self, text: str) -> inspect.BoundArguments:
        """Check and convert a JSON object; what it leaves out is left to the function's defaults."""
        given = self.model.model_validate_json("{}" if text.strip() in {"", "null"} else text)
        values = {
            name: getattr(given, field)
            for name, field in zip(self.names, self.model.model_fields, strict=True)
            if field in given.model_fields_set
        }
        bound = inspect.BoundArguments(self.signature, values)
        bound.apply_defaults()
        return bound


def tool_from(function: Callable[..., object] | Tool) -> Tool:
    """Describe a function by its type hints and its docstring (Google, NumPy, reST or Epydoc style).

    A parameter's description may also stand in its annotation: `Annotated[str, "the city"]`. One
    without annotation takes anything. A `Tool` is returned as it is.

    Raises:
        ConfigurationError: no usable name, `*args` or `**kwargs`, or an annotation that JSON cannot carry.
    """
    if isinstance(function, Tool):
        return function
    plain = _plain(function)
    name = getattr(plain, "__name__", type(plain).__name__)
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"tool {name!r}: name it with up to 64 ASCII letters, digits and _")
    arguments = _arguments_of(function, name)
    description, _ = _documentation(function)
    return Tool(name, description or name, _schema(arguments.model), function)


def load(reference: str) -> Tool:
    """Import the function that `MODULE:FUNCTION` names and make it a tool.

    As with `python -m`, modules in the current directory are found, and win; once the tool is loaded
    the directory stays on the path behind everything else, for what the tool imports when it runs.

    Raises:
        ConfigurationError: the reference names nothing that can be a tool.
    """
    module_name, colon, path = reference.partition(":")
    if not (module_name and colon and path):
        raise ConfigurationError(f"tool {reference!r}: write MODULE:FUNCTION, such as weather:forecast")
    try:
        found: object = _imported(module_name)
    except (Exception, SystemExit) as error:
        raise ConfigurationError(
            f"tool {reference!r}: cannot import {module_name}: {_named(error)}"
        ) from error
    for attribute in path.split("."):
        if not hasattr(found, attribute):
            hint = spelling.hint(attribute, dir(found))
            raise ConfigurationError(f"tool {reference!r}: there is no {attribute} in {module_name}{hint}")
        found = getattr(found, attribute)
    if not (isinstance(found, Tool) or callable(found)):
        raise ConfigurationError(f"tool {reference!r}: {path} is a {type(found).__name__}, not a function")
    try:
        return tool_from(found)
    except ConfigurationError as error:
        raise ConfigurationError(f"tool {reference!r}: {error}") from error


def _imported(module_name: str) -> ModuleType:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        return importlib.import_module(module_name)
    finally:
        sys.path.remove(here)
        if here not in sys.path:
            sys.path.append(here)


def _plain(function: Callable[..., object]) -> Callable[..., object]:
    """Return the function inside `functools.partial`."""
    while isinstance(function, partial):
        function = function.func
    return function


def _arguments_of(function: Callable[..., object], name: str) -> _Arguments:
    from pydantic import ConfigDict, Field, create_model

    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"tool {name}: {error}") from error
    _, descriptions = _documentation(function)
    fields: dict[str, tuple[object, object]] = {}
    for index, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            raise ConfigurationError(f"tool {name}: {parameter} cannot be described; name each parameter")
        annotation = _annotation(parameter, function, name)
        options: dict[str, Any] = {"alias": parameter.name}
        if description := _described(annotation) or descriptions.get(parameter.name):
            options["description"] = description
        if parameter.default is not parameter.empty:
            options["default"] = parameter.default
        # Numbered, since pydantic refuses names such as _x, and warns of those that BaseModel has.
        fields[f"p{index}"] = (annotation, Field(**options))
        _check(annotation, f"tool {name}: parameter {parameter.name}")
    config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    return _Arguments(signature, create_model(name, __config__=config, **fields))  # type: ignore[call-overload]


def _annotation(parameter: inspect.Parameter, function: Callable[..., object], name: str) -> object:
    from typing_extensions import evaluate_forward_ref

    if parameter.annotation is parameter.empty:
        return Any
    if not isinstance(parameter.annotation, str):
        return parameter.annotation
    plain = inspect.unwrap(_plain(function))
    scope = getattr(plain, "__globals__", None) or vars(sys.modules[plain.__module__])
    try:
        return evaluate_forward_ref(ForwardRef(parameter.annotation), globals=scope)
    except Exception as error:
        where = f"tool {name}: parameter {parameter.name}"
        raise ConfigurationError(
            f"{where}: cannot resolve {parameter.annotation!r}: {_named(error)}"
        ) from error


def _check(annotation: Any, where: str) -> None:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        TypeAdapter(annotation).json_schema(schema_generator=_generator())
    except (PydanticUserError, NameError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(f"{where}: its annotation cannot become a JSON schema: {reason}") from error


def _schema(model: type[BaseModel]) -> dict[str, object]:
    schema = model.model_json_schema(schema_generator=_generator())
    del schema["title"]
    return schema


def _generator() -> type[Any]:
    from pydantic.json_schema import GenerateJsonSchema

    class Plain(GenerateJsonSchema):
        """Without titles, which repeat the names, and silent about a default that JSON cannot carry."""

        ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012

        def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002
            return False

    return Plain


def _documentation(function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    """Return what the docstring says of the function, and of each parameter."""
    import docstring_parser

    written = inspect.getdoc(_plain(function)) or ""
    try:
        parsed = docstring_parser.parse(written)
    except docstring_parser.ParseError:
        return written, {}
    description = (parsed.description or "").strip()
    if parsed.returns and parsed.returns.description:
        description += f"\n\nReturns: {parsed.returns.description}"
    return description, {
        name.strip(): " ".join((parameter.description or "").split())
        for parameter in parsed.params
        for name in parameter.arg_name.split(",")
    }


def _described(annotation: object) -> str | None:
    """Return what an `Annotated` type says in a plain text, a `Doc` or a pydantic `Field`."""
    if get_origin(annotation) is not Annotated:
        return None
    for note in annotation.__metadata__:  # type: ignore[attr-defined] # Annotated has it
        text = (
            note
            if isinstance(note, str)
            else getattr(note, "documentation", getattr(note, "description", None))
        )
        if isinstance(text, str):
            return text
    return None


def _complaint(error: ValidationError, known: list[str]) -> str:
    """Say what is wrong with a model's arguments, so that it can correct them."""
    complaints = []
    for detail in error.errors(include_url=False):
        where = ".".join(map(str, detail["loc"]))
        if detail["type"] == "json_invalid":
            return f"the arguments are not valid JSON: {detail['ctx']['error']}"
        if detail["type"] == "model_type":
            return "the arguments must be one JSON object"
        if detail["type"] == "missing":
            complaints.append(f"{where} is missing")
        elif detail["type"] == "extra_forbidden":
            complaints.append(f"{where} is unknown (the parameters are: {', '.join(known) or 'none'})")
        else:
            given = json.dumps(detail["input"], ensure_ascii=False, default=str)[:_SHOWN_INPUT]
            complaints.append(f"{where}: {detail['msg']} (got {given})")
    return "; ".join(complaints)


def _run(function: Callable[..., object], bound: inspect.BoundArguments) -> str:
    try:
        result = function(*bound.args, **bound.kwargs)
        if inspect.iscoroutine(result):
            import asyncio

            result = asyncio.run(result)
        return _as_text(result)
    except (Exception, SystemExit) as error:  # noqa: BLE001 # whatever it is, the model is told
        return f"error: {_named(error)}"


def _run_within(timeout: float, run: Callable[[], str], name: str) -> str:
    outcome: list[str | BaseException] = []

    def work() -> None:
        try:
            outcome.append(run())
        except BaseException as error:  # noqa: BLE001 # handed to the caller, who raises it
            outcome.append(error)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name=f"tool {name}", daemon=True)
    thread.start()
    thread.join(timeout)
    if not outcome:
        return f"error: timed out after {timeout:g} s"
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _as_text(result: object) -> str:
    from pydantic_core import PydanticSerializationError, to_json

    if result is None:
        return NO_RESULT
    if isinstance(result, str):
        return str.__str__(result) or NO_RESULT
    try:
        return to_json(result, bytes_mode="base64", inf_nan_mode="strings", fallback=str).decode()
    except PydanticSerializationError:  # such as a name with bytes that are not UTF-8
        return str(result)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")
