from __future__ import annotations

import json
import random
import string
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.redaction import Secret, find, redact

# Every secret here is put together when the tests run, so that no scanner finds a key in this file.
_random = random.Random(20260420)
_HEX = "0123456789abcdef"
_WORD = string.ascii_letters + string.digits
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits


def drawn(alphabet: str, length: int) -> str:
    """Random text with at least a letter and a digit, whatever the alphabet."""
    rest = "".join(_random.choices(alphabet, k=length - 2))
    return rest[: length // 2] + ("a" if "a" in alphabet else "A") + rest[length // 2 :] + "7"


def uuid() -> str:
    return "-".join(drawn(_HEX, length) for length in (8, 4, 4, 4, 12))


def jwt() -> str:
    return ".".join(("ey" + "J" + drawn(_WORD, 33), "ey" + "J" + drawn(_WORD, 60), drawn(_WORD, 43)))


TOKENS: dict[str, list[str]] = {
    "anthropic key": ["sk-" + "ant-api03-" + drawn(_WORD, 93) + "AA"],
    "openai key": ["sk-" + drawn(_WORD, 48), "sk-" + "proj-" + drawn(_WORD, 60) + "_-" + drawn(_WORD, 20)],
    "openrouter key": ["sk-" + "or-v1-" + drawn(_HEX, 64)],
    "langfuse key": ["sk-" + "lf-" + uuid()],
    "langsmith key": ["lsv2" + "_pt_" + drawn(_HEX, 32) + "_" + drawn(_HEX, 10)],
    "huggingface token": ["hf" + "_" + drawn(string.ascii_letters, 34)],
    "groq key": ["gsk" + "_" + drawn(_WORD, 52)],
    "xai key": ["xai" + "-" + drawn(_WORD, 80)],
    "perplexity key": ["pplx" + "-" + drawn(_WORD, 48)],
    "replicate token": ["r8" + "_" + drawn(_WORD, 37)],
    "nvidia key": ["nvapi" + "-" + drawn(_WORD, 64)],
    "cerebras key": ["csk" + "-" + drawn(_LOWER, 48)],
    "fireworks key": ["fw" + "_" + drawn(_WORD, 24)],
    "together key": ["tgp" + "_v1_" + drawn(_WORD, 43)],
    "elevenlabs key": ["sk" + "_" + drawn(_HEX, 48)],
    "pinecone key": ["pcsk" + "_" + drawn(_WORD, 6) + "_" + drawn(_WORD, 62)],
    "tavily key": ["tvly" + "-dev-" + drawn(_WORD, 32)],
    "google api key": ["AIza" + "Sy" + drawn(_WORD, 33)],
    "google oauth secret": ["GOCSPX" + "-" + drawn(_WORD, 28)],
    "google oauth token": ["ya29" + ".a0" + drawn(_WORD, 60)],
    "aws access key id": ["AK" + "IA" + drawn(_UPPER, 16), "AS" + "IA" + drawn(_UPPER, 16)],
    "azure client secret": [drawn(_WORD, 3) + "8" + "Q~" + drawn(_WORD, 34)],
    "azure service key": [drawn(_WORD, 52) + "JQQJ" + "99" + drawn(_WORD, 26)],
    "digitalocean token": ["dop" + "_v1_" + drawn(_HEX, 64)],
    "heroku key": ["HRKU" + "-" + drawn(_WORD, 58)],
    "netlify token": ["nfp" + "_" + drawn(_WORD, 36)],
    "supabase key": ["sbp" + "_" + drawn(_HEX, 40), "sb" + "_secret_" + drawn(_WORD, 31)],
    "planetscale token": ["pscale" + "_tkn_" + drawn(_WORD, 43)],
    "databricks token": ["dapi" + drawn(_HEX, 32)],
    "vault token": ["hvs" + "." + drawn(_WORD, 90)],
    "terraform token": [drawn(_WORD, 14) + ".atlas" + "v1." + drawn(_WORD, 67)],
    "pulumi token": ["pul" + "-" + drawn(_HEX, 40)],
    "doppler token": ["dp" + ".pt." + drawn(_WORD, 43)],
    "tailscale key": ["tskey" + "-auth-" + drawn(_WORD, 17) + "-" + drawn(_WORD, 32)],
    "github token": [
        "gh" + "p_" + drawn(_WORD, 36),
        "github" + "_pat_" + drawn(_WORD, 22) + "_" + drawn(_WORD, 59),
    ],
    "gitlab token": ["gl" + "pat-" + drawn(_WORD, 20)],
    "bitbucket token": ["AT" + "BB" + drawn(_WORD, 32)],
    "atlassian token": ["ATAT" + "T3" + drawn(_WORD, 186)],
    "npm token": ["npm" + "_" + drawn(_WORD, 36)],
    "pypi token": ["pypi" + "-AgEIcHlwaS5vcmc" + drawn(_WORD, 120)],
    "rubygems key": ["rubygems" + "_" + drawn(_HEX, 48)],
    "docker token": ["dckr" + "_pat_" + drawn(_WORD, 27)],
    "postman key": ["PMAK" + "-" + drawn(_HEX, 24) + "-" + drawn(_HEX, 34)],
    "sentry token": ["sntryu" + "_" + drawn(_HEX, 64)],
    "grafana token": ["glsa" + "_" + drawn(_WORD, 32) + "_" + drawn(_HEX, 8)],
    "new relic key": ["NRAK" + "-" + drawn(_UPPER, 27)],
    "slack token": [
        "xox" + "b-123456789012-123456789012-" + drawn(_WORD, 24),
        "xapp" + "-1-A0B-12-" + drawn(_HEX, 64),
    ],
    "discord token": ["M" + drawn(_WORD, 23) + "." + drawn(_WORD, 6) + "." + drawn(_WORD, 38)],
    "telegram token": ["1234567890" + ":AA" + drawn(_WORD, 33)],
    "twilio key": ["S" + "K" + drawn(_HEX, 32)],
    "sendgrid key": ["SG" + "." + drawn(_WORD, 22) + "." + drawn(_WORD, 43)],
    "mailgun key": [
        "key" + "-" + drawn(_HEX, 32),
        drawn(_HEX, 32) + "-" + drawn(_HEX, 8) + "-" + drawn(_HEX, 8),
    ],
    "mailchimp key": [drawn(_HEX, 32) + "-us" + "12"],
    "linear key": ["lin" + "_api_" + drawn(_WORD, 40)],
    "notion token": ["ntn" + "_" + drawn(_WORD, 46), "secret" + "_" + drawn(_WORD, 43)],
    "airtable token": ["pat" + drawn(_WORD, 14) + "." + drawn(_HEX, 64)],
    "figma token": ["figd" + "_" + drawn(_WORD, 40)],
    "hubspot token": ["pat" + "-na1-" + uuid()],
    "stripe key": ["sk" + "_live_" + drawn(_WORD, 24), "rk" + "_test_" + drawn(_WORD, 99)],
    "stripe webhook secret": ["whsec" + "_" + drawn(_WORD, 32)],
    "shopify token": ["shp" + "at_" + drawn(_HEX, 32)],
    "square token": ["sq0" + "atp-" + drawn(_WORD, 22), "EAA" + "A" + drawn(_WORD, 60)],
    "facebook token": ["EAA" + "C" + drawn(_WORD, 180)],
    "age key": ["AGE-SECRET" + "-KEY-1" + drawn(_UPPER, 58)],
    "json web token": [jwt()],
}
CASES = [(kind, token) for kind, examples in TOKENS.items() for token in examples]
ENCODED = "\n".join(drawn(_WORD + "+/", 64) for _ in range(12)) + "\n" + drawn(_WORD, 22) + "=="
BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
KEY = drawn(_WORD, 40)

# What stands before the secret, the secret, what stands after it, the kind.
PLACES = [
    ("postgres://ada:", "hunter2", "@db.example.org:5432/prod", "url password"),
    ("redis://:", "correct-horse", "@cache", "url password"),
    ("https://ada:", "p@ss:w0rd", "@example.org/path", "url password"),
    ("amqp://guest:", "guest", "@[::1]:5672/", "url password"),
    ("git clone https://", KEY, "@git.example.org/x.git", "url token"),
    ("Server=db;User Id=sa;Password=", "letmein", ";Encrypt=yes", "password"),
    ("host=db user=ada password=", "letmein", " dbname=prod", "password"),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", drawn(_WORD, 86) + "==", ";", "secret"),
    ("Endpoint=sb://a.example.org/;SharedAccessKeyName=x;SharedAccessKey=", KEY, "", "secret"),
    ("https://example.org/login?user=ada&password=", "letmein", "&next=1", "password"),
    ("Authorization: Bearer ", KEY, "\r\nAccept: */*", "authorization header"),
    ('{"Authorization": "Basic ', "YWRhOmxldG1laW4=", '"}', "authorization header"),
    ("-H 'Proxy-Authorization: token ", KEY, "'", "authorization header"),
    ("send it with Bearer ", KEY, " please", "bearer token"),
    ("curl -s -u ada:", "letmein", " https://example.org", "password"),
    ("tool --api-key ", KEY, " --verbose", "command line secret"),
    ("OPENAI_API_KEY=", KEY, "\n", "secret"),
    ("export COHERE_KEY='", KEY, "'", "secret"),
    ('MISTRAL_API_KEY: "', drawn(_WORD, 32), '"', "secret"),
    ("aws_secret_access_key = ", drawn(_WORD + "/+", 40), "", "secret"),
    ("//registry.npmjs.org/:_authToken=", uuid(), "", "secret"),
    ("X-API-Key: ", KEY, "", "secret"),
    ('{"client_secret": "', KEY, '"}', "secret"),
    (r"{\"client_secret\": \"", KEY, r"\"}", "secret"),
    ("DD_APP_KEY=", drawn(_HEX, 40), "", "secret"),
    ('config["api_key"] = "', KEY, '"', "secret"),
    ("$env:API_KEY = '", KEY, "'", "secret"),
    ("the token is ", KEY, ".", "secret"),
    ("password: ", "hunter2", "\n", "password"),
    ("DB_PASSWORD=", "tr0ub4dor&3".partition("&")[0], "\n", "password"),
    ('password = "', "Tr0ub4dor&3", '"', "password"),
    ("passwd='", "s3cr3t!", "'", "password"),
    ("My password is ", "hunter2", " by the way", "password"),
    ("**Password:** `", "Xy7#kk9!", "`", "password"),
    (
        "hooks.slack.com/services/",
        "T0" + drawn(_UPPER, 8) + "/B0" + drawn(_UPPER, 8) + "/" + drawn(_WORD, 24),
        "",
        "slack webhook",
    ),
    ("https://discord.com/api/webhooks/", "123456789012345678/" + drawn(_WORD, 68), "", "discord webhook"),
    ("https://a.blob.example.org/c?sv=1&sig=", drawn(_WORD, 43) + "%3D", "&se=2", "azure signature"),
    ("", BEGIN + "\n" + ENCODED + "\n" + END, "\n", "private key"),
    (
        "  key: |\n    ",
        (BEGIN + "\n" + ENCODED + "\n" + END).replace("\n", "\n    "),
        "\nnext: 1",
        "private key",
    ),
    ('{"key": "', json.dumps(BEGIN + "\n" + ENCODED + "\n" + END)[1:-1], '"}', "private key"),
    (
        "",
        BEGIN + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES,AB\n\n" + ENCODED[:300],
        "\n\nthat is all I have",
        "private key",
    ),
    ("here it is: ", BEGIN + "\n" + ENCODED[:90], "", "private key"),
    ("that is its end:\n", ENCODED[-90:].lstrip("\n") + "\n" + END, "\nso", "private key"),
    (
        "",
        "-----BEGIN PGP PRIVATE "
        "KEY BLOCK-----\n\n" + ENCODED + "\n=abcd\n-----END PGP PRIVATE " + "KEY BLOCK-----",
        "",
        "private key",
    ),
]

ORDINARY = [
    "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestDatabaseSecret-a1b2c3",
    '{"AWS::ApiGateway::ApiKey": "48205d4ffd7feba3"} and ssh://687fb701029421ae5549d998@host',
    "Authorization: Bearer your-key, Authorization: Bearer MY_VIRTUAL_KEY, Authorization: token key_here",
    "the password is required, and the token is invalid",
    "password = getpass.getpass()\ntoken = tokens[index]\nsecret = self.secret_value2\npw = env['PW2']",
    "def login(user: str, password: str = 'password', *, api_key: str | None = None) -> None: ...",
    "connect(host=host, user=user, password=password1, token=token)",
    "hash the password: sha256, base64 or utf-8; password: Base64 encoded",
    "postgres://user:password@localhost/db https://user:${PASSWORD}@host https://u:<password>@host",
    "postgres://{user}:{password}@{host}/x https://user:***@example.org http://host:8080/@ada",
    "OPENAI_API_KEY=your-api-key-here API_KEY=<key> TOKEN=$TOKEN SECRET=${SECRET} KEY=xxxxxxxxxxxxxxxxxxxx",
    "Authorization: Bearer <token> and Authorization: Bearer $TOKEN, Bearer authentication follows below",
    "class sk-circle-fade-dot-animation, task-0123456789abcdef0123456789, disk-usage-of-the-machine-today",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b, id 123e4567-e89b-12d3-a456-426614174000",
    '"NextToken": "eyJOZXh0VG9rZW4iOiBudWxsLCAiYm90b190cnVuY2F0ZV9hbW91bnQiOiAxMH0="',
    "-----BEGIN PRIVATE KEY----- is the first line, -----END PRIVATE KEY----- the last",
    "-----BEGIN CERTIFICATE-----\n" + ENCODED + "\n-----END CERTIFICATE-----",
    "max_tokens: 4000, tokens=12345678901234567890, token_type: bearer, key: value",
    "eyJhbGciOiJIUzI1NiJ9 alone is a header; import agentmem.models.openai_wire2 as wire",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "https://example.org/a:b@c?x=1, mailto:ada@example.org, git@github.com:ada/x.git, ssh://git@host/x",
]


@pytest.mark.parametrize(("kind", "token"), CASES, ids=[kind for kind, _ in CASES])
@pytest.mark.parametrize(
    "around", ["{}", "use {} for that", "KEY='{}'", '{{"a": "{}"}}', r"A=1\n{}\nB=2", "see {}.", "({}),"]
)
def test_tokens_are_found_by_their_kind(kind: str, token: str, around: str) -> None:
    assert redact(around.format(token)) == around.format(f"[redacted: {kind}]")


def test_there_are_at_least_forty_kinds() -> None:
    assert len({*TOKENS} | {kind for *_, kind in PLACES}) >= 60


@pytest.mark.parametrize(("before", "secret", "after", "kind"), PLACES)
def test_credentials_are_found_where_they_stand_and_nothing_else_goes(
    before: str, secret: str, after: str, kind: str
) -> None:
    text = before + secret + after
    assert redact(text) == f"{before}[redacted: {kind}]{after}"
    assert find(text) == [Secret(kind, len(before), len(before) + len(secret))]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact(text) == text


def test_each_secret_of_many_goes_once() -> None:
    text = " and ".join(token for _, token in CASES)
    assert redact(text) == " and ".join(f"[redacted: {kind}]" for kind, _ in CASES)


def test_two_keys_in_a_row_are_two() -> None:
    block = BEGIN + "\n" + ENCODED + "\n" + END + "\n"
    assert redact(block * 2) == "[redacted: private key]\n" * 2
    assert redact(BEGIN + "\n" + ENCODED[:200] + "\n" + block) == "[redacted: private key]\n" * 2


PIECES = st.one_of(
    st.sampled_from([token for _, token in CASES]),
    st.sampled_from([part for place in PLACES for part in place[:3]]),
    st.sampled_from(
        [
            "password",
            "api_key",
            "token",
            "=",
            ": ",
            "://",
            "@",
            '"',
            "'",
            "\n",
            r"\n",
            "%3D",
            " is ",
            "-",
            "]",
        ]
    ),
    st.sampled_from(
        ["[redacted: password]", "[redacted: openai key]", "Bearer ", "Authorization: ", BEGIN, END]
    ),
    st.text(max_size=8),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)


@given(TEXTS)
def test_redacting_again_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(TEXTS)
def test_secrets_are_in_order_and_apart(text: str) -> None:
    secrets = find(text)
    assert all(0 <= secret.start < secret.end <= len(text) for secret in secrets)
    assert all(first.end <= second.start for first, second in pairwise(secrets))


ADVERSARIAL = {
    "one letter": "a",
    "hexadecimal": "0123456789abcdef",
    "openai starts": "sk-",
    "glued openai keys": "sk-" + "a1" * 10,
    "web token starts": "eyJ" + "a" * 20 + ".",
    "web token starts without a dot": "eyJ",
    "addresses": "://a:",
    "address without end": "://" + "a" * 50,
    "assignments": "password=",
    "quotes": 'password="',
    "open quotes": 'token = "aaaaaaaaaaaaaaa',
    "curl": "curl ",
    "begin lines": BEGIN + "\n",
    "end lines": END + "\n",
    "encoded lines": "A" * 63 + "\n",
    "begin line and encoding": BEGIN + "\n" + "A1b2" * 16 + "\n",
    "bearer": "bearer ",
    "headers": "authorization: bearer ",
    "glued pulumi tokens": "pul-" + "a1" * 20,
    "glued amazon keys": "AKIA" + "A1" * 8,
    "dots": "M" + "a" * 23 + ".",
    "signatures": "sig=",
    "connections": ";user=a;password=",
    "spaces": " ",
    "newlines": "\n",
    "backslashes": "\\",
    "stars": "password: ***",
}


def seconds(text: str) -> float:
    def once() -> float:
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    return min(once() for _ in range(2))


@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_time_grows_with_the_text_and_no_faster(unit: str) -> None:
    # Four times the text takes four times as long, and sixteen if a pattern backtracks over all of it.
    short, long = (seconds((unit * size)[:size]) for size in (50_000, 200_000))
    assert long < 9 * max(short, 0.005)


@pytest.mark.parametrize("name", ["one letter", "quotes", "curl", "address without end", "begin lines"])
def test_a_megabyte_is_read_to_its_end(name: str) -> None:
    token = "gh" + "p_" + "a1" * 18
    assert redact((ADVERSARIAL[name] * 1_000_000)[:1_000_000] + "\n\n" + token).endswith(
        "[redacted: github token]"
    )
