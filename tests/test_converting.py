"""What settings take, and what they refuse without a traceback."""

from __future__ import annotations

import pytest

from agentmem import settings
from agentmem.converting import format_duration, parse_duration
from agentmem.errors import UsageError


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e999", 10**400, "", "many", True, [], {}])
@pytest.mark.parametrize("name", ["max_tokens", "timeout", "threshold", "max_loops"])
def test_what_is_no_number_is_refused(name: str, value: object) -> None:
    with pytest.raises(UsageError, match="is wanted"):
        settings.load({name: value})


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("max_tokens", "77", 77),
        ("max_tokens", 77.0, 77),
        ("threshold", "1", 1.0),
        ("max_loops", "auto", "auto"),
        ("compression", " No ", False),
        ("tools", "one:f, two:g", ("one:f", "two:g")),
        ("lock", "none", "none"),
    ],
)
def test_a_value_is_taken_as_files_variables_and_flags_give_it(
    name: str, given: object, taken: object
) -> None:
    assert getattr(settings.load({name: given}), name) == taken


@pytest.mark.parametrize(
    ("span", "said"), [("90d", "90d"), ("2w", "14d"), ("36h", "36h"), ("90m", "90m"), ("60m", "1h")]
)
def test_a_span_is_said_in_the_largest_unit_that_says_it_all(span: str, said: str) -> None:
    assert format_duration(parse_duration(span)) == said
