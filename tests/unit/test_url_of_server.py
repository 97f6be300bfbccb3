"""The URL that is made of what Django gives to its driver."""

from typing import Any

import pytest

from jobrunner.store.drivers.full_url import url_of_server
from jobrunner.store.drivers.location import locate


@pytest.mark.parametrize(
    "given",
    [
        {"dbname": "app", "user": "ada", "password": "p@ss:/?#%", "host": "db", "port": 5433},
        {"dbname": "my app", "user": "ada@corp", "host": "db", "sslmode": "verify-full", "sslrootcert": "/etc/ca.pem"},
        {"dbname": "app", "host": "/var/run/postgresql", "port": 5433, "options": "-c search_path=shop,public"},
        {"dbname": "app", "user": "ada", "service": "production", "passfile": "/srv/app/.pgpass"},
        {"dbname": "app"},
        {"dbname": "app", "host": "::1", "port": 5433},
        {"dbname": "app", "host": "fe80::1"},
    ],
    ids=["password", "certificates", "socket", "service", "name", "IPv6", "IPv6 without a port"],
)
def test_url_leads_the_driver_to_the_same_place(given: dict[str, Any]) -> None:
    of_django = {"client_encoding": "UTF8", "cursor_factory": object, "context": object(), "prepare_threshold": None}
    found = locate(url_of_server(given | of_django)).options
    assert {name: str(value) for name, value in found.items()} == {name: str(value) for name, value in given.items()}
