"""Which database a URL names, and that no part of a password is taken for something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobrunner.errors import DatabaseUnavailable
from jobrunner.store.drivers.location import locate
from jobrunner.store.drivers.raw import raw_driver

SECRET = "s3cret"


@given(st.lists(st.sampled_from([*"@/?#:,=&%[]", "host", "p", SECRET]), max_size=12).map("".join))
def test_a_password_with_an_at_sign_is_refused_before_any_part_of_it_is_shown_or_asked_of_dns(before: str) -> None:
    """`p@s3cret/x` and `p@s3cret?x` were read as a host, shown in the error, logged, and asked of DNS."""
    url = f"postgresql://user:{before}@{SECRET}/x@db.example/app"
    with pytest.raises(DatabaseUnavailable, match=r"^the database URL (holds more|cannot be)") as refused:
        locate(url)
    assert SECRET not in str(refused.value)
    with pytest.raises(raw_driver.UnusualUrl):
        raw_driver.server_options(url)


@pytest.mark.parametrize("tail", ["/x@h/app", "?x@h/app", "/app?host=x@h/app", "#x@h/app"])
def test_url_with_two_at_signs_is_refused_with_the_remedy(tail: str) -> None:
    with pytest.raises(DatabaseUnavailable, match="more than one @; write an @ in the password as %40"):
        locate(f"postgresql://user:p@{SECRET}{tail}")


def test_at_sign_in_the_path_of_a_file_is_kept() -> None:
    assert locate("sqlite:////srv/me@home/a@b.db").label == "sqlite:////srv/me@home/a@b.db"


HOSTS = {
    "postgresql://u:p@a,b/app": (("a", "b"), "postgresql://u@a,b/app"),
    "postgresql://a:1,b:2/app?target_session_attrs=primary": (("a:1", "b:2"), "postgresql://a:1,b:2/app"),
    "postgres://u:p,q%40@10.0.0.1:1,b.c:2,d": (("10.0.0.1:1", "b.c:2", "d"), "postgresql://u@10.0.0.1:1,b.c:2,d"),
}


@pytest.mark.parametrize("url", HOSTS)
def test_several_hosts_are_all_tried_as_other_programs_do(url: str) -> None:
    hosts, label = HOSTS[url]
    found = locate(url)
    ports = (f":{port}" if port else "" for port in found.options["port"].split(","))
    assert tuple(map("".join, zip(found.options["host"].split(","), ports, strict=True))) == hosts
    assert found.label == label
