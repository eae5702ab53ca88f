"""Long conversations with planted facts, and summarisers that are good or bad in one way each."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.loopback import Answer, Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.loopback import Scripted

FILLER = re.findall(
    r"\w+",
    "we went over the plan once more and it still looks sound to me although a few loose ends remain open and "
    "somebody should tie them up soon because the rest of the work depends on it in one way or another while the "
    "others wait for an answer that may take some time since nobody has looked into it as closely as it deserves",
)
OPENINGS = (
    "about that point",
    "as for the work",
    "on another note",
    "to come back to it",
    "going on from there",
)


@dataclass(frozen=True)
class Planted:
    """A fact put into a conversation.

    Attributes:
        text: its exact words.
        sentence: the sentence that tells it.
        turn: number of the exchange that tells it.
        by_user: whether the user tells it.
        rule: whether it is one of the user's rules.
    """

    text: str
    sentence: str
    turn: int
    by_user: bool = True
    rule: bool = False


@dataclass
class Talk:
    """A conversation as (role, text) in turn, user first, and what is planted in it.

    Attributes:
        budget: the last of the figures that the user replaced by another now and then.
    """

    turns: list[tuple[str, str]] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)
    budget: str = ""


def _facts(rng: random.Random, number: int) -> list[tuple[str, str]]:
    day = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    code = f"{rng.choice(['INV', 'ORD', 'BUG'])}-{rng.randint(1000, 99999)}"
    path = f"/srv/{rng.choice(['app', 'lib', 'cfg'])}{number}/{rng.choice(['main', 'core', 'site'])}.toml"
    url = f"https://wiki.example/{rng.choice(['ops', 'dev'])}/{rng.randint(100, 999)}"
    mail = f"{rng.choice(['ada', 'bob', 'eve'])}{number}@corp.example"
    size = f"{rng.randint(2, 900)} GB"
    money = f"{rng.randint(1, 99)},{rng.randint(100, 999)} EUR"
    name = f"{rng.choice(['Mara', 'Tariq', 'Ines', 'Jun'])} {rng.choice(['Okafor', 'Lindqvist', 'Moreau', 'Tanaka'])}"
    share = f"{rng.randint(1, 99)}.{number} %"
    version = f"v{rng.randint(1, 9)}.{rng.randint(0, 20)}.{number}"
    address = f"10.{rng.randint(0, 255)}.{number % 256}.{rng.randint(1, 254)}"
    hour = f"{rng.randint(7, 18):02}:{rng.randint(10, 59)}"
    setting = f"MAX_{rng.choice(['RETRY', 'BATCH', 'QUEUE'])}_{number}"
    command = f"make {rng.choice(['deploy', 'check', 'clean'])} TARGET=site{number}"
    phone = f"+49 30 {rng.randint(100000, 999999)}{number % 10}"
    return [
        (version, f"they still run {version} over there"),
        (address, f"the old one answers at {address} only"),
        (hour, f"the call is at {hour} every morning"),
        (setting, f"it depends on {setting} being set"),
        (command, f"it all starts with `{command}` in a shell"),
        (phone, f"the desk can be reached at {phone} by phone"),
        (path, f"the settings live in {path} on every machine"),
        (url, f"the notes are at {url} for now"),
        (mail, f"questions go to {mail} first"),
        (code, f"it is tracked as {code} there"),
        (size, f"the volume has {size} left"),
        (day, f"the move is planned for {day} at the moment"),
        (name, f"it was decided together with {name} last week"),
        (money, f"the offer came to {money} in total"),
        (share, f"the error rate fell to {share} since"),
    ]


RULES = (
    "never deploy on a weekend",
    "always answer in plain words",
    "don't touch the billing tables",
    "prefer short names for branches",
    "every change must have a review",
)


def talk(seed: int, exchanges: int, *, start: int = 0, words: int = 60) -> Talk:
    """Make a conversation; the same seed gives the same one.

    Args:
        seed: of the random numbers.
        exchanges: a user's message and a reply each.
        start: number of the first exchange, so that several talks can follow one another.
        words: of filler around each fact.
    """
    rng = random.Random(f"{seed}/{start}")
    made = Talk()
    for number in range(start, start + exchanges):
        for by_user in (True, False):
            text, sentence = rng.choice(_facts(rng, number))
            made.planted.append(Planted(text, sentence, number, by_user))
            sentences = [_filler(rng, words // 2), sentence, _filler(rng, words // 2)]
            if by_user and number % 5 == 0 and number // 5 < len(RULES):
                rule = RULES[number // 5]
                made.planted.append(Planted(rule, rule, number, rule=True))
                sentences.insert(1, rule)
            if by_user and number % 4 == 1:
                made.budget = f"{number + 2},{rng.randint(100, 999)} EUR"
                sentence = f"the budget is {made.budget} from today"
                made.planted.append(Planted(made.budget, sentence, number))
                sentences.insert(1, sentence)
            made.turns.append(("User" if by_user else "Ada", ". ".join(sentences) + "."))
    return made


def _filler(rng: random.Random, words: int) -> str:
    return f"{rng.choice(OPENINGS)} {' '.join(rng.choice(FILLER) for _ in range(words))}"


# Summarisers: each gets the request's body and answers.

Summarise = "Callable[[dict[str, Any]], Scripted]"


def read(body: dict[str, Any]) -> str:
    """Return what a summariser is given to condense."""
    found: str = body["messages"][-1]["content"]
    return found


def told(body: dict[str, Any], every: int = 1) -> list[str]:
    """Return the sentences of a summariser's input that tell anything, or every n-th of them."""
    text = re.sub(r"\[\d{4}-\d\d-\d\dT[^\]]+\] \w+: ", "", read(body))
    sentences = [part.strip(" -").removeprefix("User: ") for part in re.split(r"\. |\.?\n", text)]
    telling = [
        each
        for each in dict.fromkeys(sentences)
        if each
        and not each.startswith(("<", "#", "(", "Kept word", "The user's own", "Said along", "Write the"))
        and not any(each.startswith(opening) for opening in OPENINGS)
    ]
    return telling[::every]


def good(body: dict[str, Any]) -> Scripted:
    return "## Facts and names\n" + "\n".join(f"- {each}." for each in told(body))


def lossy(body: dict[str, Any]) -> Scripted:
    return "## Facts and names\n- some things were talked about\n" + "\n".join(
        f"- {each}." for each in told(body, 4)
    )


INVENTED = (
    "ZZ-90210",
    "/opt/imaginary/engine.cfg",
    "nobody@nowhere.example",
    "https://made.up.example/x",
    "7777 GB",
)


def hallucinating(body: dict[str, Any]) -> Scripted:
    lines = [f"- {each}." for each in told(body, 2)]
    lines += [f"- it was settled that {each} is what counts." for each in INVENTED]
    return (
        "## Facts and names\n" + "\n".join(lines) + '\n- the user said "we shall paint it all bright green".'
    )


def truncating(body: dict[str, Any]) -> Scripted:
    return Answer("## Facts and names\n- the first thing that was", finish="length")


def empty(body: dict[str, Any]) -> Scripted:
    return Answer("", reasoning="hm")


def inflating(body: dict[str, Any]) -> Scripted:
    return Answer(f"{read(body)}\n{read(body)}")


def refusing(body: dict[str, Any]) -> Scripted:
    return "I'm sorry, but I can't help with summarizing this conversation."


def erroring(body: dict[str, Any]) -> Scripted:
    return Refusal(500, "the engine is on fire")


def error_text(body: dict[str, Any]) -> Scripted:
    return "Error: upstream connection timed out (request id 12345)"


def thinking(body: dict[str, Any]) -> Scripted:
    return "<think>let me see what to write</think>" + str(good(body))


SUMMARISERS: dict[str, Callable[[dict[str, Any]], Scripted]] = {
    "good": good,
    "lossy": lossy,
    "hallucinating": hallucinating,
    "truncating": truncating,
    "empty": empty,
    "inflating": inflating,
    "refusing": refusing,
    "erroring": erroring,
    "error text": error_text,
    "thinking": thinking,
}
BAD: Sequence[str] = ("truncating", "empty", "inflating", "refusing", "erroring", "error text")


def summarising(summarise: Callable[[dict[str, Any]], Scripted]) -> Callable[[dict[str, Any]], Scripted]:
    """Return a model that summarises when asked to, and answers everything else politely."""

    def answer(body: dict[str, Any]) -> Scripted:
        return summarise(body) if "You condense" in body["messages"][0]["content"] else "I am fine"

    return answer
