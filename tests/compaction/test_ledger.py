from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from agentmem.compressor.details import complete, covered
from agentmem.compressor.ledger import TITLE, collect, previous_summary, prose_of
from agentmem.roles import SUMMARY_MARK
from agentmem.turns import Turn

STAMP = "2026-04-20T18:33:15.120001+01:00"


def count(text: str) -> int:
    return max(1, len(text) // 4)


def turns(*said: tuple[str, str]) -> list[Turn]:
    return [Turn(role, text, STAMP) for role, text in said]


def user(text: str) -> list[Turn]:
    return turns(("User", text))


def summary(text: str) -> Turn:
    return Turn("System", f"{SUMMARY_MARK}\n\n{text}", STAMP)


def words(*said: tuple[str, str]) -> list[str]:
    return [detail.fact.text for detail in collect(turns(*said)).details]


def test_rules_come_first_then_what_the_user_said_then_what_recurs_then_what_is_recent() -> None:
    ranked = words(
        ("Ada", "an old one is AAA-111"),
        ("Ada", "it was BBB-222"),
        ("User", "I sent CCC-333"),
        ("Ada", "yes, BBB-222 again"),
        ("Ada", "a new one is DDD-444"),
        ("User", "never call me"),
    )
    assert ranked == ["never call me", "CCC-333", "BBB-222", "DDD-444", "AAA-111"]


def test_the_users_own_words_stay_beside_a_detail_that_others_repeat() -> None:
    said = turns(("User", "the budget is 650 EUR now"), ("Ada", "with 650 EUR you could buy a boat"))
    assert "- User: the budget is 650 EUR now" in complete("Talk.", collect(said), 500, count).text


def test_only_the_users_rules_count() -> None:
    assert words(("Ada", "you must never do that"), ("Tool (sh)", "must not be empty")) == []


def test_what_swarms_calls_human_is_the_user() -> None:
    (rule,) = collect(turns(("Human", "never call me"))).details
    assert (rule.fact.kind, rule.by_user) == ("rule", True)


def test_what_is_pasted_does_not_crowd_out_what_is_typed() -> None:
    ranked = words(("User", "never call me"), ("User", "it must be blue. " * 200))
    assert ranked[0] == "never call me"


def test_missing_details_are_appended_word_for_word() -> None:
    ledger = collect(user("The disk of db-3 has 42 GB. Never reboot it."))
    done = complete("A disk was talked about.", ledger, 500, count)
    assert prose_of(done.text) == "A disk was talked about."
    assert "- Never reboot it." in done.text
    assert "42 GB" in done.text
    assert "db-3" in done.text
    assert (done.kept, done.total) == (3, 3)


def test_what_the_summary_says_already_is_not_repeated() -> None:
    done = complete("The disk db-3 has 42 GB.", collect(user("the disk of db-3 has 42 GB")), 500, count)
    assert done.text == "The disk db-3 has 42 GB."


def test_what_does_not_fit_is_counted() -> None:
    said = " and ".join(f"ID-{number}" for number in range(1000, 1400))
    done = complete("Many.", collect(user(said)), 200, count)
    assert count(done.text) <= 260
    listed = len(re.findall(r"ID-\d+", done.text))
    assert 0 < listed < 400
    assert f"{400 - listed} more details" in done.text
    assert (done.kept, done.total) == (listed, 400)


def test_the_count_of_what_was_left_out_adds_up_over_generations() -> None:
    said = " and ".join(f"ID-{number}" for number in range(1000, 1400))
    first = complete("Many.", collect(user(said)), 200, count)
    left = first.total - first.kept
    again = complete("Still many.", collect([summary(first.text), *user("hello")]), 400, count)
    assert f"{left} more details" in again.text


def test_rules_stay_rules_through_generations() -> None:
    text = ""
    record = user("never deploy on Fridays; the host is db-3.example")
    for _ in range(5):
        text = complete("Talk.", collect(record), 500, count).text
        record = [summary(text), *user("go on")]
    ledger = collect(record)
    assert [detail.fact.text for detail in ledger.details if detail.fact.kind == "rule"] == [
        "never deploy on Fridays; the host is db-3.example"
    ]


def test_what_the_user_said_stays_the_users_through_generations() -> None:
    record = [*user("my number is USR-1"), *turns(("Ada", "yours is ADA-1"))]
    for _ in range(4):
        record = [summary(complete("Talk.", collect(record), 500, count).text)]
    by_user = {detail.fact.text: detail.by_user for detail in collect(record).details}
    assert by_user == {"USR-1": True, "ADA-1": False}


def test_german_nouns_are_not_taken_for_names() -> None:
    text = (
        "Der Hund sitzt vor dem Haus und die Katze liegt auf dem Dach neben der Antenne mit dem Vogel. " * 12
    )
    assert words(("User", text)) == ["Der Hund"]


def test_the_newest_summary_is_the_previous_one() -> None:
    record = [summary("old"), *user("hi"), summary(f"new\n\n{TITLE}\n\n- x")]
    assert previous_summary(record) == f"new\n\n{TITLE}\n\n- x"


facts = st.from_regex(r"[A-Z]{2,4}-[0-9]{2,6}", fullmatch=True)


@given(
    st.lists(st.tuples(st.sampled_from(["User", "Ada"]), facts), min_size=1, max_size=40), st.integers(1, 5)
)
def test_while_the_ledger_fits_nothing_is_ever_lost(said: list[tuple[str, str]], generations: int) -> None:
    record = turns(*((role, f"so it is {fact} then") for role, fact in said))
    for _ in range(generations):
        record = [summary(complete("Talk.", collect(record), 2000, count).text)]
    assert all(fact in record[0].content for _, fact in said)


@given(st.text(max_size=400), st.integers(0, 300))
def test_the_budget_holds_and_the_count_is_honest(said: str, budget: int) -> None:
    ledger = collect(user(said))
    done = complete("Talk.", ledger, budget, count)
    assert done.total == len(ledger.details)
    assert done.kept == len(covered(ledger.details, done.text))
    assert count(done.text) <= budget + 40  # the line that counts what is left out
