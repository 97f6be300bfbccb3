"""What of a value and of a text is hidden as a secret."""

import json
import time
from typing import Any

import pytest

from harness.canaries import Canary, canaries
from jobrunner.masking.names import is_secret
from jobrunner.masking.secrets import Secrets
from jobrunner.masking.shapes import HINTS
from jobrunner.masking.values import Names

ALL = canaries()


@pytest.mark.parametrize("canary", ALL, ids=[each.name for each in ALL])
def test_secret_of_any_shape_is_hidden_in_its_value_and_in_each_text_about_it(canary: Canary) -> None:
    names, secrets = Names(canary.needs), Secrets()
    names.learn(canary.payload, secrets)
    shown = [names.hide(each, secrets) for each in (canary.payload, *canary.texts)]
    assert [each for each in shown if canary.secret in json.dumps(each, ensure_ascii=False)] == []


@pytest.mark.parametrize(
    "value",
    [
        {"max_tokens": 4096, "tokens_left": 10**30, "token_count": 5, "token_type": "bearer", "author": "Ada Lovelace"},
        {"secretary": "Ada", "compass": "north", "passenger": "Ada", "tokenizer": "gpt", "password_changed_at": "2026"},
        {"PWD": "/srv/app", "keyboard": "de", "monkey": "x", "bypass": "yes", "authority": "x", "has_token": True},
        "wrong password: try again",
        "http://h:8080/path?mail=ada@example.org",
        "ssh://git@h/x",
        'File "/srv/shop.py", line 3: login(user, password=password)',
        "--token is required",
    ],
    ids=str,
)
def test_what_only_resembles_a_secret_is_shown(value: Any) -> None:
    names, secrets = Names(), Secrets()
    names.learn(value, secrets)
    assert names.hide(value, secrets) == value
    assert not secrets


def test_cost_of_a_text_does_not_grow_with_the_number_of_secrets() -> None:
    text = "no login with eyJhbGciOiJIUzI1NiIsInR5cCI6.000000017 today and so on\n" * 500
    few, many = Secrets(), Secrets()
    for number in range(18_000):
        for secrets in (few, many) if number < 18 else (many,):
            secrets.learn(f"eyJhbGciOiJIUzI1NiIsInR5cCI6.{number:09}")
    assert few.hide(text) == many.hide(text)
    costs = [min(processor_seconds(secrets, text) for _ in range(3)) for secrets in (few, many)]
    assert costs[1] < 10 * costs[0]


def test_text_is_not_shown_where_there_are_more_secrets_than_are_looked_for() -> None:
    secrets = Secrets()
    for number in range(50_000):
        secrets.learn(f"secret-{number}")
    assert secrets.hide("no login with secret-49999") == "••• not shown: too many secrets to hide in it"


def processor_seconds(secrets: Secrets, text: str) -> float:
    begin = time.process_time()
    secrets.hide(text)
    return time.process_time() - begin


def test_each_name_of_a_secret_has_a_hint_by_which_texts_are_looked_at() -> None:
    for canary in ALL:
        for name in canary.payload:
            if is_secret(name, "x"):
                assert any(hint in name.lower() for hint in HINTS), name
