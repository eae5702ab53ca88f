"""Tokens that their issuers made recognisable: a prefix or a shape of their own."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# kind, a text that every match contains, pattern. A pattern is searched for only in texts with its
# marker, and compiled only then. All are linear: what follows the prefix is one run of a class that the
# guard in front excludes, or is bounded.
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
KINDS: tuple[tuple[str, str, str], ...] = (
    # Models and what is around them
    ("anthropic key", "sk-ant-", r"sk-ant-[\w-]{16,}"),
    ("openai key", "sk-", r"sk-(?:proj|svcacct|admin|None|service)-[\w-]{20,}"),
    ("openai key", "sk-", r"sk-(?!ant-|or-|lf-)[A-Za-z0-9]{20,}"),
    ("openrouter key", "sk-or-", r"sk-or-[\w-]{32,}"),
    ("langfuse key", "sk-lf-", rf"sk-lf-{_UUID}"),
    ("langsmith key", "lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{32,}"),
    ("huggingface token", "hf_", r"hf_[A-Za-z0-9]{30,}"),
    ("huggingface token", "api_org_", r"api_org_[A-Za-z0-9]{30,}"),
    ("groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai key", "xai-", r"xai-[A-Za-z0-9]{40,}"),
    ("perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{32,}"),
    ("replicate token", "r8_", r"r8_[A-Za-z0-9]{30,}"),
    ("nvidia key", "nvapi-", r"nvapi-[\w-]{40,}"),
    ("cerebras key", "csk-", r"csk-[a-z0-9]{40,}"),
    ("fireworks key", "fw_", r"fw_[A-Za-z0-9]{22,}"),
    ("together key", "tgp_v1_", r"tgp_v1_[\w-]{40,}"),
    ("elevenlabs key", "sk_", r"sk_[a-f0-9]{48}"),
    ("pinecone key", "pcsk_", r"pcsk_[A-Za-z0-9_]{40,}"),
    ("tavily key", "tvly-", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{24,}"),
    ("firecrawl key", "fc-", r"fc-[a-f0-9]{32}"),
    ("jina key", "jina_", r"jina_[\w-]{40,}"),
    ("voyage key", "pa-", r"pa-[\w-]{43,}"),
    ("wandb key", "wandb_v1_", r"wandb_v1_[\w-]{40,}"),
    # Clouds
    ("google api key", "AIza", r"AIza[\w-]{35,}"),
    ("google oauth secret", "GOCSPX-", r"GOCSPX-[\w-]{20,}"),
    ("google oauth token", "ya29.", r"ya29\.[\w-]{20,}"),
    ("google refresh token", "1//", r"1//0[\w-]{40,}"),
    ("aws access key id", "A", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("aws bedrock key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}"),
    ("azure client secret", "Q~", r"[\w~.]{3}\dQ~[\w~.-]{30,33}[\w~-]"),
    ("azure service key", "JQQJ99", r"[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}"),
    ("azure devops token", "AZDO", r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("azure signature", "sig=", r"sig=(?P<secret>[A-Za-z0-9%/+]{40,}(?:%3D|=))"),
    ("digitalocean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    ("alibaba key id", "LTAI", r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])"),
    ("tencent key id", "AKID", r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("yandex key", "AQVN", r"AQVN[\w-]{35,}"),
    ("cloudflare key", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{146}"),
    ("cloudflare token", "cf", r"cf(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    ("heroku key", "HRKU-", r"HRKU-[\w-]{36,}"),
    ("netlify token", "nfp_", r"nfp_[A-Za-z0-9]{36,}"),
    ("vercel token", "vc", r"vc[pkiar]_[A-Za-z0-9]{24,}"),
    ("fly token", "fm2_", r"fm2_[A-Za-z0-9+/=]{60,}"),
    ("fly token", "fo1_", r"fo1_[\w-]{43,}"),
    ("supabase key", "sb", r"(?:sbp_[a-f0-9]{40,}|sb_secret_[\w-]{20,})"),
    ("planetscale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.=-]{31,}[\w=-]"),
    ("neon key", "napi_", r"napi_[a-z0-9]{60,}"),
    ("databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?![a-f0-9])"),
    ("vault token", "hv", r"hv[sbr]\.[\w-]{24,}"),
    ("terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,}"),
    ("pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    ("doppler token", "dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("tailscale key", "tskey-", r"tskey-[a-z]{1,16}-[A-Za-z0-9-]{16,}"),
    ("openshift token", "sha256~", r"sha256~[\w-]{43}"),
    # Code, packages, continuous integration
    ("github token", "gh", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    ("github token", "github_pat_", r"github_pat_\w{22,}"),
    ("gitlab token", "gl", r"gl(?:pat|dt|rt|rtr|ptt|ft|cbt|imt|agent|oas|soat|ffct|wt)-[\w.-]{19,}[\w-]"),
    ("gitlab token", "GR1348941", r"GR1348941[\w-]{20,}"),
    ("bitbucket token", "ATBB", r"ATBB[A-Za-z0-9_=]{32,}"),
    ("atlassian token", "AT", r"AT[AC]TT3[\w=-]{50,}"),
    ("npm token", "npm_", r"npm_[A-Za-z0-9]{36,}"),
    ("pypi token", "pypi-", r"pypi-Ag[\w-]{40,}"),
    ("rubygems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    ("nuget key", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("clojars token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    ("docker token", "dckr_", r"dckr_(?:pat|oat)_[\w-]{24,}"),
    ("artifactory key", "AKC", r"AKC[A-Za-z0-9]{60,}"),
    ("circleci token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{22}_[a-f0-9]{40}"),
    ("buildkite token", "bk", r"bk(?:ua|ct)_[a-f0-9]{40}"),
    ("postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    ("sourcegraph token", "sgp_", r"sgp_[a-f0-9_]{40,}"),
    ("sentry token", "sntry", r"(?:sntrys_eyJ[A-Za-z0-9+/=_-]{60,}|sntryu_[a-f0-9]{64})"),
    ("grafana token", "gl", r"(?:glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}|glc_[A-Za-z0-9+/=]{32,})"),
    ("grafana key", "eyJrIjoi", r"eyJrIjoi[A-Za-z0-9+/]{60,}={0,2}"),
    ("new relic key", "NR", r"NR(?:AK|JS|II|IQ|AA)-[A-Za-z0-9-]{19,}"),
    ("dynatrace token", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("posthog key", "phx_", r"phx_[A-Za-z0-9]{40,}"),
    ("prefect key", "pn", r"pn[ub]_[A-Za-z0-9]{36}"),
    # Messages, mail, offices
    ("slack token", "xox", r"xox[abeoprsd](?:\.xox[bp])?-[A-Za-z0-9-]{10,}"),
    ("slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,}"),
    ("slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/[a-z]+/(?P<secret>[A-Za-z0-9+/]{24,})"),
    ("discord webhook", "/webhooks/", r"/webhooks/(?P<secret>\d{17,20}/[\w-]{60,})"),
    ("discord token", ".", r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"),
    ("telegram token", ":AA", r"\d{8,10}:AA[\w-]{32,35}(?![\w-])"),
    ("twilio key", "SK", r"SK[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("sendgrid key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,}"),
    ("mailgun key", "key-", r"key-[a-f0-9]{32}(?![A-Za-z0-9])"),
    ("mailgun key", "-", r"[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-])"),
    ("mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?![A-Za-z0-9])"),
    ("brevo key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("resend key", "re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9])"),
    ("linear key", "lin_", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("notion token", "ntn_", r"ntn_[A-Za-z0-9]{40,}"),
    ("notion token", "secret_", r"secret_[A-Za-z0-9]{43}(?![A-Za-z0-9])"),
    ("airtable token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("asana token", "/", r"\d/\d{16}:[a-f0-9]{32}"),
    ("figma token", "figd_", r"figd_[\w-]{36,}"),
    ("dropbox token", "sl.", r"sl\.(?:u\.)?[\w-]{120,}"),
    ("contentful token", "CFPAT-", r"CFPAT-[\w-]{43}"),
    ("typeform token", "tfp_", r"tfp_[\w.=-]{58}[\w=-]"),
    ("hubspot token", "pat-", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    # Shops and money
    ("stripe key", "k_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    ("stripe webhook secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("shopify token", "shp", r"shp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}"),
    ("square token", "sq0", r"sq0[a-z]{3}-[\w-]{22,}"),
    ("square token", "EAAA", r"EAAA[\w-]{60,}"),
    ("facebook token", "EAA", r"EAA[B-Z][A-Za-z0-9]{80,}"),
    ("plaid token", "access-", rf"access-(?:sandbox|development|production)-{_UUID}"),
    ("flutterwave key", "FLWSECK", r"FLWSECK(?:_TEST)?-[A-Za-z0-9]{12,48}-X"),
    ("easypost key", "EZ", r"EZ[AT]K[A-Za-z0-9]{54}"),
    ("shippo token", "shippo_", r"shippo_(?:live|test)_[a-f0-9]{40}"),
    # Keys of one's own
    ("age key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Za-z]{50,}"),
    ("age plugin key", "AGE-PLUGIN-", r"AGE-PLUGIN-[A-Z0-9-]{1,40}-1[0-9A-Z]{20,}"),
    ("1password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/=_-]{60,}"),
    ("1password key", "A3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("json web token", "eyJ", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]*(?:\.[\w-]+){0,2}"),
    ("json web token", "eyJ", r"eyJ[\w-]{15,}(?:\.[\w-]*){3}\.[\w-]{10,}"),
)

# A token begins where no word goes on, or after an escape such as \n or %3D, whose last letter is none of it.
_GUARD = r"(?:(?<![\w-])|(?<=\\[nrt])|(?<=%[0-9A-F]{2}))"


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each recognisable token, kind by kind."""
    for kind, marker, pattern in KINDS:
        if marker in text:
            for found in _compiled(pattern).finditer(text):
                yield (kind, *found.span("secret" if "secret" in found.re.groupindex else 0))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A webhook's or a query's pattern starts amid an address, where anything may stand before it. What is
    # glued to a token goes with it: it may be a part of it, and must not become a token's beginning.
    return re.compile(pattern if "(?P<secret>" in pattern else rf"{_GUARD}(?:{pattern})[\w-]*", re.ASCII)
