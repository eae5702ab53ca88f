from __future__ import annotations

import _thread
import datetime as dt  # noqa: TC003 # resolved at run time, from the annotations of tools
import functools
import json
import subprocess
import sys
import threading
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Optional, Union

import pytest
from pydantic import Field
from typing_extensions import Doc, TypedDict

from agentmem.errors import ConfigurationError
from agentmem.tools import NO_RESULT, Tool, load, tool_from

if TYPE_CHECKING:
    from collections.abc import Callable

    from somewhere import Unknown  # type: ignore[import-not-found]


class Unit(Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Place:
    """A spot on the map."""

    latitude: float
    longitude: float = 0.0


class Options(TypedDict):
    days: int


def forecast(
    city: str,
    unit: Unit = Unit.CELSIUS,
    *,
    place: Place | None = None,
    options: Optional[Options] = None,  # noqa: UP045 # the older spellings are in use
    days: Union[int, str] = 1,  # noqa: UP007
) -> dict[str, Any]:
    """Forecast the weather.

    It is often wrong.

    Args:
        city: Where, by
            name.
        unit: The scale.

    Returns:
        The weather as an object.
    """
    return {"city": city, "unit": unit, "place": place, "options": options, "days": days}


def properties(tool: Tool) -> dict[str, dict[str, Any]]:
    found = tool.parameters["properties"]
    assert isinstance(found, dict)
    return found


def kind(annotation: object) -> dict[str, Any]:
    """The schema of one parameter with this annotation."""

    def sample(value: object) -> None: ...

    sample.__annotations__["value"] = annotation
    return properties(tool_from(sample))["value"]


def test_a_tool_is_described_by_its_function() -> None:
    tool = tool_from(forecast)
    assert tool.name == "forecast"
    assert tool.description == (
        "Forecast the weather.\n\nIt is often wrong.\n\nReturns: The weather as an object."
    )
    assert tool.parameters["type"] == "object"
    assert tool.parameters["required"] == ["city"]
    assert tool.parameters["additionalProperties"] is False
    assert properties(tool)["city"] == {"type": "string", "description": "Where, by name."}
    assert properties(tool)["unit"] == {"$ref": "#/$defs/Unit", "default": "c", "description": "The scale."}
    assert list(properties(tool)) == ["city", "unit", "place", "options", "days"]
    json.dumps(tool.parameters)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Path, {"type": "string", "format": "path"}),
        ("dt.datetime", {"type": "string", "format": "date-time"}),
        ("dt.date", {"type": "string", "format": "date"}),
        (Annotated[int, Field(ge=1, description="n")], {"type": "integer", "minimum": 1, "description": "n"}),
        (Annotated[str, "in words"], {"type": "string", "description": "in words"}),
        (Annotated[str, Doc("in words")], {"type": "string", "description": "in words"}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Any, {}),
    ],
)
def test_annotations_become_schemas(annotation: object, schema: dict[str, object]) -> None:
    assert kind(annotation) == schema


def test_a_tuple_has_its_own_length() -> None:
    schema = kind(tuple[int, str])
    assert schema["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert schema["minItems"] == schema["maxItems"] == 2


def google(city: str) -> None:
    """Look.

    Args:
        city (str): Where.
    """


def numpy(city: str) -> None:
    """Look.

    Parameters
    ----------
    city : str
        Where.
    """


def rest(city: str) -> None:
    """Look.

    :param city: Where.
    """


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_every_docstring_style_describes_parameters(function: Callable[..., object]) -> None:
    tool = tool_from(function)
    assert tool.description == "Look."
    assert properties(tool)["city"]["description"] == "Where."


def test_what_has_no_docstring_is_described_by_its_name() -> None:
    def look() -> None: ...

    assert tool_from(look).description == "look"
    assert properties(tool_from(look)) == {}


def test_names_that_mean_something_to_pydantic_are_ordinary_parameters() -> None:
    def copy(_x: int, schema: int, model_config: int, self: int) -> int:
        return _x + schema + model_config + self

    tool = tool_from(copy)
    assert list(properties(tool)) == ["_x", "schema", "model_config", "self"]
    assert tool.call('{"_x": 1, "schema": 2, "model_config": 3, "self": 4}') == "10"


def test_a_default_that_json_cannot_carry_is_left_to_the_function() -> None:
    marker = object()

    def keep(value: Any = marker) -> bool:
        return value is marker

    assert properties(tool_from(keep))["value"] == {}
    assert tool_from(keep).call("") == "true"


def test_methods_partials_callables_and_tools_are_tools() -> None:
    class Counter:
        """Count."""

        def __init__(self) -> None:
            self.total = 0

        def add(self, amount: int) -> int:
            self.total += amount
            return self.total

        def __call__(self, amount: int) -> int:
            return self.add(amount)

    counter = Counter()
    assert tool_from(counter.add).call('{"amount": 2}') == "2"
    assert tool_from(counter).name == "Counter"
    assert tool_from(counter).call('{"amount": 2}') == "4"
    bound = tool_from(functools.partial(forecast, "Rome"))
    assert bound.name == "forecast"
    assert json.loads(bound.call("{}"))["city"] == "Rome"
    assert tool_from(bound) is bound


def starred(*names: str) -> None: ...
def double_starred(**names: str) -> None: ...
def unresolved(value: Unknown) -> None: ...
def calling_back(value: Callable[[], None]) -> None: ...
def taking_a_thread(value: threading.Thread) -> None: ...


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (starred, r"tool starred: \*names"),
        (double_starred, r"tool double_starred: \*\*names"),
        (unresolved, "tool unresolved: parameter value: cannot resolve 'Unknown'"),
        (calling_back, "tool calling_back: parameter value"),
        (taking_a_thread, "tool taking_a_thread: parameter value: its annotation"),
        (lambda: None, "tool '<lambda>': name it"),
        (dict, "tool dict"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_by_name(function: Callable[..., object], complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        tool_from(function)


def test_arguments_are_converted_and_defaults_are_the_functions_own() -> None:
    seen: list[object] = []

    def record(when: dt.date, where: Path, place: Place, tags: set[str], more: list[int] = []) -> None:  # noqa: B006
        seen.extend((when.year, where.name, place, tags, more))
        more.append(1)

    call = functools.partial(
        tool_from(record).call,
        '{"when": "2026-04-20", "where": "/a/b", "place": {"latitude": "1.5"}, "tags": ["x", "x"]}',
    )
    assert call() == NO_RESULT
    assert seen == [2026, "b", Place(1.5), {"x"}, [1]]
    call()
    assert seen[-1] == [1, 1]


def test_positional_only_parameters_are_given_by_name_too() -> None:
    def power(base: int, exponent: int = 2, /, scale: int = 1) -> int:
        return scale * int(base**exponent)

    assert tool_from(power).call('{"base": 3, "scale": 10}') == "90"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            '{"city": "Ro',
            "error: the arguments are not valid JSON: EOF while parsing a string at line 1 column 12",
        ),
        ('["Rome"]', "error: the arguments must be one JSON object"),
        ("", "error: city is missing"),
        ("null", "error: city is missing"),
        (
            '{"town": "Rome"}',
            "error: city is missing; town is unknown (the parameters are: city, unit, place, options, days)",
        ),
        ('{"city": null}', "error: city: Input should be a valid string (got null)"),
        ('{"city": "Rome", "unit": "k"}', """error: unit: Input should be 'c' or 'f' (got "k")"""),
        ('{"city": "Rome", "place": {}}', "error: place.latitude is missing"),
    ],
)
def test_wrong_arguments_are_explained_to_the_model(arguments: str, complaint: str) -> None:
    assert tool_from(forecast).call(arguments) == complaint


def test_a_huge_wrong_value_is_not_sent_back_whole() -> None:
    assert len(tool_from(forecast).call(json.dumps({"city": ["x" * 100_000]}))) < 300


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is\n", "as it is\n"),
        (None, NO_RESULT),
        ("", NO_RESULT),
        (True, "true"),
        (0, "0"),
        ([1, "\xe9"], '[1,"\xe9"]'),
        (Place(1, 2), '{"latitude":1,"longitude":2}'),
        ({"unit": Unit.CELSIUS, "where": Path("a")}, '{"unit":"c","where":"a"}'),
        (float("nan"), '"NaN"'),
        (b"\xff", '"_w=="'),
        (["\udcff"], r"['\udcff']"),
        (threading.Lock, None),
    ],
)
def test_results_become_text(result: object, text: str | None) -> None:
    def give() -> object:
        return result

    given = tool_from(give).call("{}")
    assert given == text if text is not None else "lock" in given


def test_a_result_that_contains_itself_is_still_text() -> None:
    def circle() -> list[object]:
        ring: list[object] = []
        ring.append(ring)
        return ring

    assert tool_from(circle).call("")


def test_a_coroutine_function_is_run() -> None:
    async def wait() -> str:
        return "done"

    assert tool_from(wait).call("") == "done"
    assert tool_from(wait).call("", timeout=60) == "done"


class Silent(Exception):
    pass


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such city"), "error: ValueError: no such city"),
        (Silent(), "error: Silent"),
        (SystemExit(3), "error: SystemExit: 3"),
    ],
)
def test_an_exception_becomes_the_result(error: BaseException, text: str, timeout: float | None) -> None:
    def fail() -> NoReturn:
        raise error

    assert tool_from(fail).call("{}", timeout) == text


@pytest.mark.parametrize("timeout", [None, 60])
def test_ctrl_c_passes_through(timeout: float | None) -> None:
    def interrupted() -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tool_from(interrupted).call("", timeout)


def test_ctrl_c_does_not_wait_for_the_function() -> None:
    release = threading.Event()

    def wait() -> None:
        _thread.interrupt_main()
        release.wait(60)

    with pytest.raises(KeyboardInterrupt):
        tool_from(wait).call("", timeout=60)
    release.set()


def test_a_stuck_function_is_abandoned() -> None:
    release, ended = threading.Event(), threading.Event()

    def stuck() -> None:
        release.wait(60)
        ended.set()

    assert tool_from(stuck).call("", timeout=0.05) == "error: timed out after 0.05 s"
    assert not ended.is_set()
    release.set()
    assert ended.wait(60)


def test_a_function_with_a_time_limit_sees_the_callers_context() -> None:
    language = ContextVar("language", default="en")
    language.set("fr")

    def read() -> str:
        return language.get()

    assert tool_from(read).call("", timeout=60) == "fr"


def test_a_tool_built_by_hand_checks_its_arguments_too() -> None:
    tool = Tool("weather", "Forecast.", {"type": "object"}, forecast)
    assert tool.call("") == "error: city is missing"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    return tmp_path


def test_a_tool_is_loaded_from_the_current_directory(elsewhere: Path) -> None:
    (elsewhere / "weather_tools.py").write_text(
        "class Station:\n    @staticmethod\n    def read(city: str) -> str:\n        import near_by\n"
        "        return near_by.WORD + city\n",
        encoding="utf-8",
    )
    (elsewhere / "near_by.py").write_text("WORD = 'sun in '\n", encoding="utf-8")
    tool = load("weather_tools:Station.read")
    assert tool.name == "read"
    assert sys.path[0] != str(elsewhere)
    assert tool.call('{"city": "Rome"}') == "sun in Rome"


def test_a_tool_is_loaded_from_an_installed_module() -> None:
    assert load("math:sqrt").call('{"x": 9}') == "3.0"


@pytest.mark.parametrize(
    ("reference", "complaint"),
    [
        ("math", "write MODULE:FUNCTION"),
        (":sqrt", "write MODULE:FUNCTION"),
        ("math:", "write MODULE:FUNCTION"),
        ("no_such_module:f", "cannot import no_such_module: ModuleNotFoundError"),
        ("broken:f", "cannot import broken: ZeroDivisionError"),
        ("leaving:f", "cannot import leaving: SystemExit: 3"),
        (".relative:f", "cannot import .relative"),
        ("math:sqr", "no sqr in math; did you mean 'sqrt'?"),
        ("math:pi", "pi is a float, not a function"),
        ("json:dumps", r"\*\*kw"),
    ],
)
def test_a_reference_that_is_no_tool_is_named(elsewhere: Path, reference: str, complaint: str) -> None:
    (elsewhere / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    (elsewhere / "leaving.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        load(reference)
    assert f"tool {reference!r}: " in str(caught.value)
    assert caught.value.exit_code == 78


def test_tools_cost_no_pydantic_until_one_is_made() -> None:
    code = "import sys, agentmem.tools; sys.exit(bool({'pydantic', 'docstring_parser'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
