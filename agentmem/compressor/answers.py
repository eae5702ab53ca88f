"""Whether what a summariser answered is a summary at all. Pure."""

from __future__ import annotations

import re

from agentmem.compressor.ledger import TITLE

_REASONING = re.compile(
    r"<(think|thinking|reasoning|thought|analysis|reflection)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
# A chat template may have opened the block before the reply began.
_UNOPENED = re.compile(
    r"\A.*</(?:think|thinking|reasoning|thought|analysis|reflection)>", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(r"\A```(?:markdown|md|text)?\n(.*)\n```\Z", re.DOTALL)
_OWN_TITLE = re.compile(rf"^{TITLE}\s*$", re.MULTILINE)
_NOTES = re.compile(r"^\((?:Left out for lack of room|Not summarised): .*\)$\n?", re.MULTILINE)
_REFUSAL = re.compile(
    r"\A[\s\"'*_>]*(?:(?:i['’]?m|i am) (?:so |very |really )?(?:sorry|afraid|unable|not able|an ai\b)|sorry\b|(?:i )?apologi[sz]e"
    r"|i (?:can(?:no|['’])t|could(?:n['’]t| not)|won['’]t|will not|must decline|do(?:n['’]t| not) have (?:access|the ability))"
    r"|unfortunately,? i|as an ai\b|i['’]m just an?\b|(?:this|your|the) (?:request|content) (?:violates|was (?:blocked|flagged)))",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\A\W*(?:(?:internal |api |server |fatal |unexpected )*error\b(?!s? (?:in|that|handling|budget|message))"
    r"|traceback \(most recent|exception\b|\{\s*\"?(?:error|detail|message)\"?\s*:|<!doctype|<html|http[ /]?[\d. ]*[45]\d\d\b"
    r"|[45]\d\d (?:bad|unauthorized|forbidden|not found|too many|internal|service|gateway)|rate.?limit|too many requests"
    r"|service unavailable|bad gateway|gateway time-?out|quota exceeded|insufficient_quota|invalid api key"
    r"|(?:request|connection) (?:failed|refused|timed out|error))",
    re.IGNORECASE,
)
_SHORT = 600  # characters; a refusal or an error is short, a summary may well begin with the word


def cleaned(answer: str) -> str:
    """Return an answer without reasoning blocks, an enclosing code fence, and lines that only code may write."""
    text = _REASONING.sub("", answer)
    text = _UNOPENED.sub("", text).strip()
    fence = _FENCE.match(text)
    text = fence[1] if fence and "\n```" not in fence[1] else text
    return _NOTES.sub("", _OWN_TITLE.sub("## Details", text)).strip()


def objection(text: str, finish: str) -> str:
    """Say what is wrong with a cleaned answer, or "".

    Args:
        text: the answer.
        finish: why it ended, in the provider's word.
    """
    if finish == "content_filter":
        return "the model refused to summarise"
    if not any(character.isalnum() for character in text):
        return "the model's summary was empty"
    if finish == "length":
        return "the model's summary was cut off"
    if len(text) <= _SHORT and _REFUSAL.match(text):
        return "the model refused to summarise"
    if len(text) <= _SHORT and _ERROR.match(text):
        return "the model answered with an error instead of a summary"
    return ""
