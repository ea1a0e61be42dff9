"""No secret leaves: whatever it holds, in each form of a URL, a DSN, a header or an echo."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.secrets import (
    find_secrets,
    forget_secrets,
    format_traceback,
    has_plain_userinfo,
    hide_known,
    hide_secrets,
    remember_secret,
    remember_secrets,
)

CORE = "q7Zx"  # stands in each secret, and nowhere else


@pytest.fixture(autouse=True)
def nothing_known() -> Iterator[None]:
    forget_secrets()
    yield
    forget_secrets()


# A password with anything in it, the core first, last, or between.
PASSWORDS = st.tuples(
    st.text("ab1/#?[]@:&=%+ '\"{}\\;é", max_size=6), st.text("ab1/#?[]@:&=%+ ;é", max_size=6)
).map(lambda parts: parts[0] + CORE + parts[1])
FORMS = (
    "postgresql://kim:{raw}@127.0.0.1:1/shop",
    "postgresql://kim:{encoded}@127.0.0.1:1/shop?sslmode=require",
    "mysql+pymysql://kim:{raw}@db.example.org/shop",
    "shop=postgresql://kim:{raw}@127.0.0.1/shop",
    "postgresql://127.0.0.1:1/shop?user=kim&password={encoded}",
    "postgresql://127.0.0.1:1/shop?user=kim&sslpassword={encoded}&sslmode=require",
    "jdbc:postgresql://127.0.0.1:1/shop?user=kim&password={encoded}",
    "host=127.0.0.1 user=kim password={dsn} dbname=shop",
    "Server=127.0.0.1;Uid=kim;Pwd={{{odbc}}};Database=shop",
)


@pytest.mark.parametrize("form", FORMS)
@given(password=PASSWORDS)
def test_remembered_secret_is_hidden_however_it_is_written(form: str, password: str) -> None:
    forget_secrets()
    dsn = "'" + password.replace("\\", r"\\").replace("'", r"\'") + "'"
    url = form.format(
        raw=password, encoded=quote(password, safe=""), dsn=dsn, odbc=password.replace("}", "}}")
    )
    remember_secrets(url)
    said = (
        url,
        url.replace("://", ":/"),  # as a path
        f"{url}: connection failed",
        f'could not translate host name "{password}@127.0.0.1"',
        f'invalid integer value "{password.partition("/")[0]}" for port',
        repr(url),
        json.dumps({"url": url}),
        quote(url, safe=""),
        quote_plus(url),
        unquote(url),
        f"Traceback\n  ValueError: {password!r}",
    )
    for words in said:
        assert CORE.lower() not in hide_secrets(words).lower(), words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgresql://kim:pw1@h/x", "postgresql://kim:...@h/x"),
        ("No postgresql:/kim:pw1@h/x", "No postgresql:/kim:...@h/x"),
        ("https://h/x?a=1&token=pw1&b=2", "https://h/x?a=1&token=...&b=2"),
        ("https://s3/x?X-Amz-Signature=pw1&b=2", "https://s3/x?X-Amz-Signature=...&b=2"),
        ("odbc_connect=UID%3Dkim%3BPWD%3Dpw1", "odbc_connect=UID%3Dkim%3BPWD%3D..."),
        ('{"api_key": "pw1", "n": 1}', '{"api_key": ..., "n": 1}'),
        ("Authorization: Bearer pw1-long", "Authorization: Bearer ..."),
        ("wrong key sk-proj-pw1pw1pw1 sent", "wrong key ... sent"),
        ("HF_TOKEN=pw1", "HF_TOKEN=..."),
        ("no column passenger; 3 tokens: 4", "no column passenger; 3 tokens: 4"),
        ("see https://example.org/a@b, kim@example.org", None),
    ],
)
def test_secret_is_hidden_by_its_place(text: str, expected: str | None) -> None:
    assert hide_secrets(text) == (expected or text)


@given(st.text(max_size=200))
def test_text_without_a_secret_is_hidden_once_and_for_all(text: str) -> None:
    assert hide_secrets(hide_secrets(text)) == hide_secrets(text)
    assert hide_known(text) == text


def test_short_secret_is_no_part_of_a_longer_word() -> None:
    remember_secret("ship")
    assert hide_known("ships, ship, %20ship, battleship") == "ships, ..., %20..., battleship"


def test_placeholder_of_a_key_is_no_secret() -> None:
    remember_secret("EMPTY")
    assert hide_known('{"content": null, "sql": "= \'EMPTY\'"}').count("EMPTY") == 1


def test_secrets_of_the_environment_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    basic = base64.b64encode(b"kim:abc").decode()
    for name, value in (
        ("PGPASSWORD", "pg-secret-1"),
        ("OPENAI_API_KEY", "key-secret-2"),
        ("AWS_SECRET_ACCESS_KEY", "aws/secret+3"),
        ("HTTPS_PROXY", "http://kim:proxy-secret-4@proxy:3128"),
        ("SOME_TOKEN", basic),
    ):
        monkeypatch.setenv(name, value)
        secret = value.rpartition("@")[0].rpartition(":")[2] or value
        assert hide_known(f"status 401: {secret}!") == "status 401: ...!"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://kim:pw@h:1/x?user=a&sslmode=b", True),
        ("postgresql://kim:p%2Fw@[::1]:1/x", True),
        ("postgresql:///x?host=/tmp/a", True),
        ("postgresql://h1:1,h2:2/x", True),
        ("mysql://h/x", True),
        ("postgresql://kim:p#w@h/x", False),
        ("postgresql://kim:1/w@h/x", False),
        ("postgresql://kim:1?w@h/x", False),
        ("postgresql://kim:1?w=@h/x", False),
        ("postgresql://kim:p[w@h/x", False),
        ("postgresql://kim:p@w@h/x", False),
        ("postgresql://h/x?password=p#w", False),
        ("postgresql://kim:pw@h:port/x", False),
    ],
)
def test_url_that_can_be_read_in_two_ways_is_found(url: str, expected: bool) -> None:
    assert has_plain_userinfo(url) is expected


@pytest.mark.parametrize("name", ["password", "sslpassword", "api_key", "Token"])
@pytest.mark.parametrize("secret", ["a b'c\"x7Q", "<x7Q>;y9", "x7Q)]}", "'x7Q' y9"])
def test_parameter_of_a_url_is_secret_up_to_the_next_one(name: str, secret: str) -> None:
    remember_secrets(f"postgresql://h/x?user=kim&{name}={secret}&port=1")
    for words in (f'unexpected spaces found in "{secret}"', f"no such key: {secret}"):
        assert "x7Q" not in hide_secrets(words)
        assert "y9" not in hide_secrets(words)


@pytest.mark.parametrize(
    "text",
    [
        "kim:q7Zx@db:5432/shop",
        "kim:a:q7Zx/b@db/shop",
        "shop=kim:q7Zx@db",
        "jdbc:oracle:thin:kim/q7Zx@//db:1521/x",
        "kim:q7@Zx@db",
    ],
)
def test_secret_before_a_host_needs_no_head_of_a_url(text: str) -> None:
    remember_secrets(text)
    shown = hide_secrets(f"No {text.replace('//', '/')}: expected a file")
    assert CORE not in shown
    assert "q7" not in shown
    assert "Zx" not in shown


@pytest.mark.parametrize("path", ["data/local/shop@2024.db", "shop=data/a@b.csv", "kim@db", "a:b"])
def test_path_has_no_secret(path: str) -> None:
    assert find_secrets(path) == []


def test_long_text_takes_no_long_time() -> None:
    for text in (
        "a" * 200_000,
        "a:/" * 50_000,
        "password=" * 20_000,
        "://a:b@" * 30_000,
        "a:" * 50_000,
        "a:b@" * 50_000,
    ):
        hide_secrets(text)
        find_secrets(text)


def test_traceback_has_no_secret_of_a_cause() -> None:
    remember_secrets("mysql://kim:first-pw@h/x")
    try:
        try:
            raise OSError("refused: first-pw")
        except OSError as error:
            raise ValueError("password=second-pw") from error
    except ValueError as error:
        words = format_traceback(error)
    assert "refused: ..." in words
    assert "-pw" not in words.replace('remember_secrets("mysql://kim:', "")


@pytest.mark.parametrize(
    "arguments",
    [
        ["new", "postgresql://kim:q7Zx@h/shop"],
        ["new", "data/local/a", "postgresql://kim:q7Zx@h/shop"],
        ["new", "data/local/a", "--questions", "postgresql://kim:q7Zx@h/shop"],
        ["new", "data/local/a", "--databse", "host=h password=q7Zx dbname=x"],
        ["new", "data/local/a", "--dialect", "mysql://kim:q7Zx@h/shop"],
        ["evaluate", "https://kim:q7Zx@h/predictions.jsonl"],
    ],
)
def test_command_shows_no_secret_of_what_it_does_not_read(arguments: list[str], here) -> None:
    code = "import sys; from answerkey.command import main; sys.exit(main())"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
    assert CORE not in done.stdout + done.stderr
    assert not any(CORE in str(path) for path in here.rglob("*"))


def test_fault_of_ours_shows_a_traceback_without_a_secret() -> None:
    code = (
        "from answerkey.base.errors import exit_on_error\n"
        "from answerkey.base.secrets import remember_secrets\n"
        "url = 'postgresql://kim:q7' + 'Zx@h/x'\n"
        "remember_secrets(url)\n"
        "with exit_on_error('x'):\n"
        "    raise KeyError(url)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, "Traceback" in done.stderr) == (1, True)
    assert "kim:...@h/x" in done.stderr
    assert CORE not in done.stderr
