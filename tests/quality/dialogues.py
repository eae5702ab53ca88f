"""Long talks of many sessions with known evidence, and paraphrased questions about it: made up, always the same."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

USER, AGENT = "User", "Ada"


@dataclass(frozen=True)
class Question:
    """What is asked, and the numbers of the entries that hold the answer."""

    text: str
    evidence: tuple[int, ...]
    kind: str


@dataclass
class Talk:
    """Entries as `(when, role, text)`, oldest first, and the questions about them."""

    entries: list[tuple[datetime, str, str]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)


NAMES = [
    "Amara",
    "Bjorn",
    "Chiara",
    "Dmitri",
    "Elif",
    "Farouk",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Kwame",
    "Leila",
    "Mateo",
    "Nadia",
    "Olu",
    "Priya",
    "Quentin",
    "Rosa",
    "Sven",
    "Tomas",
    "Uma",
    "Viktor",
    "Wanjiru",
    "Xenia",
    "Yusuf",
    "Zofia",
    "Anouk",
    "Bela",
    "Ciro",
    "Dalia",
    "Emre",
    "Fiona",
    "Gustav",
    "Hana",
    "Ilya",
    "Jade",
]
PLACES = [
    "Lisbon",
    "Oslo",
    "Kyoto",
    "Nairobi",
    "Quito",
    "Tallinn",
    "Valencia",
    "Porto",
    "Ghent",
    "Turin",
    "Lima",
    "Hanoi",
    "Cusco",
    "Bergen",
    "Graz",
    "Riga",
    "Split",
    "Tbilisi",
    "Zagreb",
    "Dakar",
]
FOODS = [
    "pistachio",
    "mango",
    "fennel",
    "cardamom",
    "rhubarb",
    "hazelnut",
    "saffron",
    "quince",
    "tamarind",
    "walnut",
]
SERVICES = [
    "billing",
    "gateway",
    "scheduler",
    "mailer",
    "crawler",
    "indexer",
    "exporter",
    "importer",
    "notifier",
    "thumbnailer",
]
COLOURS = ["teal", "crimson", "ochre", "indigo", "magenta", "olive", "amber", "violet", "maroon", "turquoise"]
THINGS = [
    "bicycle",
    "tent",
    "violin",
    "lawnmower",
    "telescope",
    "kayak",
    "printer",
    "sewing-machine",
    "piano",
    "drone",
]
PETS = ["parrot", "hamster", "greyhound", "tortoise", "ferret", "rabbit", "canary", "gecko", "kitten", "pony"]

# Each fact: how it is said (role, text) and how it is asked for later, in other words. Words in braces are
# filled in; the same facts about other people and places are the distractors.
FACTS: list[tuple[str, list[tuple[str, str]], list[str]]] = [
    (
        "stated",
        [(USER, "{name} from {place} is allergic to {food}, so please never put it on the menu.")],
        [
            "What are the allergies of {name} from {place}?",
            "Which ingredient must we never put on the menu when {name} comes from {place}?",
        ],
    ),
    (
        "stated",
        [(USER, "{name} and I decided to move the {service} service to the {place} region next month.")],
        [
            "Where is the {service} going to be moved, as {name} agreed?",
            "To which region did {name} decide on moving the {service}?",
        ],
    ),
    (
        "stated",
        [(USER, "{name} painted the front door of the {place} flat {colour} last weekend.")],
        ["What colour is {name}'s door of the flat in {place}?", "How did {name} paint the door in {place}?"],
    ),
    (
        "stated",
        [(USER, "My {thing} broke down again near {place}; {name} repaired it for 80 euros.")],
        ["Who fixed the {thing} near {place}?", "What did repairing the {thing} cost me near {place}?"],
    ),
    (
        "stated",
        [(USER, "{name} bought a {pet} and called it {other}.")],
        ["What is the name of {name}'s {pet}?", "How is the {pet} of {name} called?"],
    ),
    (
        "stated",
        [
            (
                USER,
                "The password hint for the {service} dashboard is the street in {place} where {name} grew up.",
            )
        ],
        [
            "What hint about {name} do I have for logging in to the {service} dashboard?",
            "Which hint on passwords did we set for {service}, with {name}'s street?",
        ],
    ),
    (
        "stated",
        [(USER, "{name}'s train to {place} leaves at 7:42 from platform 9.")],
        [
            "When does {name} depart for {place}?",
            "From which platform does the train of {name} to {place} leave?",
        ],
    ),
    (
        "stated",
        [(USER, "{name} prefers the {colour} theme for the {service} charts; the others hurt the eyes.")],
        [
            "Which theme should the charts of the {service} have for {name}?",
            "What colour does {name} like for {service} charts?",
        ],
    ),
    (
        "answered",
        [
            (USER, "Which {place} hotel would you recommend for {name}'s visit?"),
            (AGENT, "I would take the Aurora: quiet, near the station, and it has a garden."),
        ],
        [
            "What hotel did you suggest in {place} for {name}?",
            "Recommended hotel for the visit of {name} to {place}",
        ],
    ),
    (
        "answered",
        [
            (USER, "Why did the {service} crash on {name}'s machine?"),
            (AGENT, "The disk was full, so the write-ahead log could not grow."),
        ],
        [
            "What was the reason for the crash of the {service} at {name}'s?",
            "Why was the {service} crashing for {name}?",
        ],
    ),
    (
        "answered",
        [
            (USER, "How long should the {food} cake for {name} stay in the oven?"),
            (AGENT, "Forty minutes at 170 degrees, then test it with a skewer."),
        ],
        ["Baking time of {name}'s {food} cake", "How many minutes does the {food} cake bake for {name}?"],
    ),
    (
        "changed",
        [
            (USER, "The meeting with {name} about the {service} is on Tuesday in {place}."),
            (USER, "Change of plan: {name} wants to have the {service} meeting on Friday instead."),
        ],
        [
            "On which day do I meet {name} about the {service}?",
            "When is the meeting with {name} on the {service}?",
        ],
    ),
    (
        "changed",
        [
            (USER, "{name} lends me the {thing} until the holidays."),
            (USER, "I returned the {thing} to {name} together with a bottle of {food} syrup."),
        ],
        [
            "Has the {thing} I borrowed from {name} been returned?",
            "What about {name}'s {thing} that was lent to me?",
        ],
    ),
    (
        "exact",
        [
            (
                USER,
                "The failing call is {service}_client.fetch_{pet}s() in /srv/{service}/{pet}_pool.py, since v2.{digit}.1.",
            )
        ],
        ["/srv/{service}/{pet}_pool.py", "{service}_client.fetch_{pet}s", "fetch_{pet}s {service}"],
    ),
]

FILLER = [
    "Could you have a look at the figures {name} sent about {place}?",
    "Sure, here is what I found on {place}: the weather is mild and the trains run on time.",
    "Let us go on with the {service} tomorrow, I am tired.",
    "The {service} tests are green again after the fix.",
    "{name} asked whether the {colour} version is ready for the meeting.",
    "I think the report on {place} needs another paragraph about costs.",
    "Please remind me to call {name} and to water the plants.",
    "Done. Anything else I can do about the {service}?",
    "What is a good recipe with {food} for a cold evening?",
    "Take {food}, butter and a little salt, and bake it slowly; it goes well with tea.",
    "The {pet} woke me up at five, so I had time to read about {place}.",
    "That sounds lovely. Did {name} enjoy the trip to {place}?",
    "No, the door of the {thing} shed is still open, and nobody knows why.",
    "I moved the meeting notes on the {service} into the usual folder.",
    "How does the {service} talk to the {other_service}?",
    "Over a queue; when the {other_service} crashes, the messages wait there.",
]


def make_talk(sessions: int = 300, seed: int = 11) -> Talk:
    """Return a talk of so many sessions; each has a fact and more or less chatter around it."""
    chance = random.Random(seed)
    talk = Talk()
    used: set[tuple[str, ...]] = set()
    when = datetime(2025, 1, 6, 9, tzinfo=timezone.utc)
    later: list[tuple[int, str, str, tuple[int, ...], Question]] = []
    for session in range(sessions):
        when += timedelta(hours=chance.randint(8, 40))
        kind, lines, asked = FACTS[session % len(FACTS)]
        words = _words(chance, used, session % len(FACTS))
        when = _chatter(talk, chance, when, chance.randint(4, 14))
        for due in [each for each in later if each[0] <= session]:
            later.remove(due)
            when = _say(talk, when, due[1], due[2])
            question = due[4]
            talk.questions.append(Question(question.text, (*due[3], len(talk.entries) - 1), question.kind))
        first, *rest = lines
        when = _say(talk, when, first[0], first[1].format(**words))
        said: tuple[int, ...] = (len(talk.entries) - 1,)
        text = chance.choice(asked).format(**words)
        if kind == "changed":
            # The second half of the evidence comes many sessions later.
            role, line = rest[0]
            due_at = session + chance.randint(5, 40)
            later.append((due_at, role, line.format(**words), said, Question(text, said, kind)))
        else:
            for role, line in rest:
                when = _say(talk, when, role, line.format(**words))
                said = (*said, len(talk.entries) - 1)
            # Of a question and its answer, the answer is the evidence.
            talk.questions.append(Question(text, said[-1:], kind))
        when = _chatter(talk, chance, when, chance.randint(4, 14))
    return talk


def _words(chance: random.Random, used: set[tuple[str, ...]], fact: int) -> dict[str, str]:
    while True:
        words = _pick(chance)
        # What every wording of the question names has to tell the fact from all others like it.
        named = [slot for slot in words if all(f"{{{slot}}}" in asked for asked in FACTS[fact][2])]
        key = (str(fact), *(words[slot] for slot in named))
        if key not in used:
            used.add(key)
            return words


def _pick(chance: random.Random) -> dict[str, str]:
    service, other_service = chance.sample(SERVICES, 2)
    name, other = chance.sample(NAMES, 2)
    return {
        "name": name,
        "other": other,
        "place": chance.choice(PLACES),
        "food": chance.choice(FOODS),
        "service": service,
        "other_service": other_service,
        "colour": chance.choice(COLOURS),
        "thing": chance.choice(THINGS),
        "pet": chance.choice(PETS),
        "digit": str(chance.randint(0, 9)),
    }


def _chatter(talk: Talk, chance: random.Random, when: datetime, turns: int) -> datetime:
    for turn in range(turns):
        when = _say(
            talk, when, USER if turn % 2 == 0 else AGENT, chance.choice(FILLER).format(**_pick(chance))
        )
    return when


def _say(talk: Talk, when: datetime, role: str, text: str) -> datetime:
    talk.entries.append((when, role, text))
    return when + timedelta(seconds=41)
