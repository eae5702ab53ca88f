from __future__ import annotations

import json

import pytest

from agentmem import errors
from agentmem.models.failures import Refusal, error_from

OVERFLOWS = [
    (
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        8192,
    ),
    ("Input tokens exceed the configured limit of 272,000 tokens. Your messages resulted in 300001.", 272000),
    ("Your input exceeds the context window of this model.", None),
    ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
    ("input length and `max_tokens` exceed context limit: 195000 + 8192 > 200000, decrease input", 200000),
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
    ("request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it", 8192),
    ("This model's maximum context length is 4096 tokens and your request has 5000 input tokens", 4096),
    ("The decoder prompt (length 9000) is longer than the maximum model length of 8192.", 8192),
    ("You passed 4097 input tokens. However, the model's context length is only 4096 tokens", 4096),
    ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768),
    ("Please reduce the length of the messages or completion.", None),
    ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292", 4081),
    ("`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens", 4097),
    ("This model's maximum prompt length is 131072 but the request contains 200000 tokens.", 131072),
    ("Input is too long for requested model.", None),
    ("However, the model is loaded with context length of only 4096 tokens, which is not enough", 4096),
    ("Range of input length should be [1, 30720]", 30720),
    ("Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)", 8192),
    ("Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000),
    ("the input length exceeds the context length", None),
]


@pytest.mark.parametrize(("said", "limit"), OVERFLOWS)
@pytest.mark.parametrize("status", [400, 413, 500])
def test_an_overflow_is_known_in_every_wording(said: str, limit: int | None, status: int) -> None:
    error = error_from(Refusal("m", status, json.dumps({"error": {"message": said}})))
    assert isinstance(error, errors.ContextOverflow)
    assert error.limit == limit


@pytest.mark.parametrize(
    "said",
    [
        "m does not support tools",
        "No endpoints found that support tool use.",
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        "`tool calling` is not supported with this model",
        "tools param requires --jinja flag",
        "Function calling is not enabled for this model",
    ],
)
@pytest.mark.parametrize("status", [400, 404, 500])
def test_a_model_without_tools_is_known_when_tools_were_offered(said: str, status: int) -> None:
    assert isinstance(error_from(Refusal("m", status, said, tools=True)), errors.ToolsNotSupported)
    assert not isinstance(error_from(Refusal("m", status, said)), errors.ToolsNotSupported)


@pytest.mark.parametrize(
    "said",
    [
        "Incorrect API key provided: sk-proj-abcdef0123456789. Find yours at https://example.org",
        "Incorrect API key provided: sk-proj-********************6789.",
        "invalid x-api-key my-own-secret",
        "API key AIzaSyA0123456789abcdef is not valid",
        "gsk_abcdefghijklmnop0123 was revoked",
    ],
)
def test_no_key_gets_into_an_error(said: str) -> None:
    message = str(error_from(Refusal("m", 401, said, key="my-own-secret")))
    assert not any(part in message for part in ("abcdef", "6789", "my-own-secret", "AIza", "gsk_"))
    assert message.startswith("m: the provider rejected the key (401)")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error": {"message": "No such thing."}}', "no such thing"),
        ('{"error": "plain"}', "plain"),
        ('[{"error": {"message": "in a list"}}]', "in a list"),
        ('{"detail": [{"msg": "field required"}]}', "field required"),
        ('{"message": "API is down"}', "API is down"),
        (
            "<html><head><title>x</title></head><body><h1>502</h1>\n<p>bad gateway</p></body></html>",
            "502 bad gateway",
        ),
        ("two\nlines\r\n", "two lines"),
        ("", "(400)"),
        ("null", "(400)"),
    ],
)
def test_the_words_of_any_body_make_one_line(body: str, words: str) -> None:
    message = str(error_from(Refusal("m", 400, body)))
    assert message.endswith(words)
    assert message.splitlines() == [message]


def test_a_long_body_is_shortened() -> None:
    assert len(str(error_from(Refusal("m", 400, "word " * 10_000)))) < 400


@pytest.mark.parametrize(
    ("header", "words"),
    [("7", "try again in 7 s"), ("0.5", "try again in 0.5 s"), ("", "try again later")],
)
def test_a_rate_limit_says_when_to_come_back(header: str, words: str) -> None:
    assert words in str(error_from(Refusal("m", 429, "", retry_after=header)))
