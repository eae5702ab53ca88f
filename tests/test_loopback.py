from __future__ import annotations

import httpx

from tests.loopback import Answer, Provider


def post(provider: Provider) -> httpx.Response:
    return httpx.post(
        f"{provider.url}/chat/completions", json={"messages": [], "model": "m"}, trust_env=False
    )


def test_an_unexpected_request_is_an_error_and_a_complaint() -> None:
    with Provider() as provider:
        assert post(provider).status_code == 500
        assert len(provider.complaints) == 1


def test_a_script_answers_from_the_body_again_and_again() -> None:
    with Provider() as provider:
        provider.answers.append(lambda body: Answer(f"{len(body['messages'])} of {body['model']}"))
        replies = [post(provider).json()["choices"][0]["message"]["content"] for _ in range(2)]
    assert replies == ["0 of m", "0 of m"]
    assert not provider.unasked()
