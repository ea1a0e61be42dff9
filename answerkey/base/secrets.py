"""Hide secrets: `hide_secrets` is called wherever text leaves the program.

A secret is found in two ways. The first is its position: in a URL, after `password=` or `Bearer`.
The second is its own text: `remember_secrets` stores the secrets of a URL, so that they are hidden
in every message of a driver or a server. Secrets in environment variables are always known.
"""

from __future__ import annotations

import html
import json
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "..."

_NAMES = (
    r"pass(?:word|wd|phrase|code)?|pwd|secret|token|credentials?|signature|sig"
    r"|(?:api|access|private|account|shared|client|auth|sas)[_-]?key"
)
# A parameter, a field of JSON, or an item of a DSN: `sslpassword=x`, `"token": "x"`, `PWD={x}`.
# The value may be in quotes or braces; otherwise it ends at a separator.
_FIELD = re.compile(
    rf"""(?P<name>(?:{_NAMES})["']?\s{{0,3}}(?:=|:|%3D|%3A)\s{{0,3}})(?!//)"""
    r"""(?P<value>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.)*"|\{(?:[^}]|\}\})*\}"""
    r"""|[^\s&;,"'<>)\]}]+)""",
    re.IGNORECASE,
)
# A parameter of a URL ends only at `&`: it may hold blanks and quotes that should be %20 and %22.
_PARAMETER = re.compile(rf"[?&][\w.-]*(?:{_NAMES})=(?P<value>[^&]+)", re.IGNORECASE)
# A message may hold a path that was made from a URL: `//` is `/` there.
_URL_HEAD = re.compile(r"(?<![\w+.-])[a-z][\w+.-]{1,40}:/{1,3}", re.IGNORECASE)
_USERINFO = re.compile(
    rf"(?P<head>{_URL_HEAD.pattern})(?P<user>[^\s:@/?#'\"<>]*):(?P<value>[^\s'\"<>]*)@",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\b(?P<name>(?:Bearer|Basic)\s+)(?P<value>[\w.~+/=-]{3,})", re.IGNORECASE)
# Keys with a known prefix.
_SHAPE = re.compile(r"\b(?:sk-|hf_|gh[opsur]_|github_pat_|xox[abp]-|AKIA|eyJ[\w-]{8,}\.)[\w.-]{8,}")
# The variable PWD itself is the shell's current folder.
_ENVIRONMENT = re.compile(r"(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|_KEY|_PWD)$")
# Placeholders for a key if a server needs none. Hiding them would damage words of a reply.
_NO_SECRETS = frozenset({"empty", "none", "null", "true", "false", "dummy", "ollama", "test"})
_LEAST, _LONG = 3, 12  # characters: shorter texts are no secrets; longer ones are hidden in words
_DELIMITERS = re.compile(r"[\s/?#@\[\]:&=;,'\"\\%+]+")

_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]*\]|[^\[\]:]*)(?::\d*)?")

_known: set[str] = set()


def hide_secrets(text: str) -> str:
    """Return a text with `...` in place of each secret, for messages, logs and reports.

    >>> hide_secrets("postgresql://kim:s3c/ret@db.example.org/shop?sslpassword=x&port=1")
    'postgresql://kim:...@db.example.org/shop?sslpassword=...&port=1'
    >>> hide_secrets("host=db password='s3 cret' port=1"), hide_secrets("Authorization: Bearer abc")
    ('host=db password=... port=1', 'Authorization: Bearer ...')
    """
    text = hide_known(text)
    text = _USERINFO.sub(rf"\g<head>\g<user>:{HIDDEN}@", text)
    for pattern in (_FIELD, _TOKEN):
        text = pattern.sub(rf"\g<name>{HIDDEN}", text)
    return _SHAPE.sub(HIDDEN, text)


def hide_known(text: str) -> str:
    """Return a text without known secrets and otherwise unchanged. It is for texts that others
    wrote, where `password = 'x'` may be SQL."""
    for secret in sorted(_known | _read_environment(), key=lambda each: (-len(each), each)):
        if secret.lower() in text.lower():
            text = _match(secret).sub(HIDDEN, text)
    return text


def remember_secrets(*texts: str | None) -> None:
    """Store all secrets of URLs and DSNs, in every spelling, and their parts: an error may show
    only a part, as when a driver reads the text before `/` as a port."""
    for text in texts:
        for secret in find_secrets(text or ""):
            parts = (part for way in (secret, unquote(secret)) for part in _DELIMITERS.split(way))
            for part in (secret, *parts):
                remember_secret(part)


def remember_secret(secret: str | None) -> None:
    """Store a secret, such as a key."""
    _known.update(_spell(secret or ""))


def find_secrets(text: str) -> list[str]:
    """Return the possible secrets of a URL or a DSN, as they are written there. If a password holds
    `/`, `?`, `#` or `@`, a URL can be read in two ways: then each possible part is returned.

    >>> find_secrets("mysql://kim:a#b@host/shop"), find_secrets("x://host/?user=kim&password=a%20b")
    (['a#b'], ['a%20b'])
    """
    values = [match["value"] for match in _FIELD.finditer(text)]
    secrets = [value.strip("'\"{}") for value in values]
    secrets += [value[1:-1].replace("}}", "}") for value in values if value.startswith("{")]  # ODBC
    if head := _URL_HEAD.search(text):
        secrets += [match["value"] for match in _PARAMETER.finditer(text, head.end())]
        before, is_there, _ = text[head.end() :].rpartition("@")
        _, has_password, password = before.partition(":")
        if is_there and has_password:
            secrets.append(password)
    elif not re.search(r"\s", text):  # kim:password@host, or oracle:thin:kim/password@//host
        user, _, password = text.rpartition("@")[0].partition(":")
        secrets += [password] if "/" not in user else []
    return [secret for secret in dict.fromkeys(secrets) if secret]


def has_plain_userinfo(url: str) -> bool:
    """Return whether a URL can be read in only one way: user and password have no character that
    must be written as %23, %2F, %3F, %40, %5B or %5D.

    >>> has_plain_userinfo("mysql://kim:a%23b@host/x"), has_plain_userinfo("mysql://kim:a#b@host/x")
    (True, False)
    """
    rest = _URL_HEAD.sub("", url, count=1)
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    userinfo, _, host = authority.rpartition("@")
    if "#" in rest or "@" in userinfo + rest[len(authority) :] or re.search(r"[\[\]]", userinfo):
        return False
    query = rest.partition("?")[2]
    if not all("=" in item for item in query.split("&") if item):
        return False
    return all(_HOST.fullmatch(each) for each in host.split(","))


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an error and of its causes, without secrets."""
    return hide_secrets("".join(traceback.format_exception(error)))


def print_traceback(error: BaseException) -> None:
    print(format_traceback(error), end="", file=sys.stderr)


def _read_environment() -> set[str]:
    named = (value for name, value in os.environ.items() if _ENVIRONMENT.search(name.upper()))
    urls = (value for value in os.environ.values() if _URL_HEAD.match(value))
    secrets = [*named, *(secret for url in urls for secret in find_secrets(url))]
    return {way for secret in secrets for way in _spell(secret)}


def _spell(secret: str) -> Iterator[str]:
    """Yield all spellings of a secret."""
    plain = dict.fromkeys((secret, unquote(secret), unquote_plus(secret)))
    ways = dict.fromkeys(plain)
    for text in plain:
        encoded = (quote(text), quote(text, safe=""), quote_plus(text), html.escape(text))
        ways |= dict.fromkeys((*encoded, quote(quote(text, safe=""), safe="")))
        ways |= dict.fromkeys((repr(text)[1:-1], json.dumps(text)[1:-1]))
        ways |= dict.fromkeys((ascii(text)[1:-1],))
    for way in ways:
        if len(way) >= _LEAST and way.lower() not in _NO_SECRETS:
            yield way


def _match(secret: str) -> re.Pattern[str]:
    """Return a pattern for a secret. A short secret does not match inside a longer word."""
    pattern = re.escape(secret)
    if len(secret) < _LONG:
        before = r"(?:(?<![^\W_])|(?<=%[0-9A-F]{2})|(?<=\\[nrtbf]))" if secret[0].isalnum() else ""
        pattern = before + pattern + (r"(?![^\W_])" if secret[-1].isalnum() else "")
    return re.compile(pattern, re.IGNORECASE)


def forget_secrets(secrets: Iterable[str] = ()) -> None:
    """Forget all secrets but these: for tests, which share a process."""
    _known.clear()
    _known.update(secrets)
