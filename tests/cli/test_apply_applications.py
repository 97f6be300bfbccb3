"""Several applications on one database: `apply` of one changes no schedule of another."""

from typing import Any

from harness import App, Commands, Database
from harness.declarations import applied, declare, definitions, everything, nothing, one
from harness.slots import NO_HANDLERS

SHOP = {"JOBRUNNER_APPLICATION": "shop", **NO_HANDLERS}
BLOG = {"JOBRUNNER_APPLICATION": "blog", **NO_HANDLERS}
NAMELESS = {"JOBRUNNER_APPLICATION": None, **NO_HANDLERS}
ENTRY = '[jobs.{name}]\ncommand = ["/bin/true"]\nschedule = "{expression}"\n'


def filed(app: App, *names: str, expression: str = "@daily") -> None:
    declare(app, file="".join(ENTRY.format(name=name, expression=expression) for name in names))


def owners(database: Database) -> dict[str, Any]:
    return {name: row["application"] for name, row in definitions(database).items()}


def test_hosts_with_files_of_their_own_do_not_disable_each_others_schedules(
    jobrunner: Commands, app: App, database: Database
) -> None:
    filed(app, "orders", "stock")
    assert applied(jobrunner, env=SHOP)["added"] == ["orders", "stock"]
    filed(app, "posts")
    assert applied(jobrunner, env=BLOG) == {**nothing(0), "added": ["posts"]}
    assert owners(database) == {"orders": "shop", "stock": "shop", "posts": "blog"}
    filed(app, "orders")
    done = jobrunner("apply", env=SHOP)
    assert done.stdout.splitlines() == [
        "- stock: no longer in jobrunner.toml",
        "1 of the application blog left alone",
        "1 disabled, 1 unchanged",
    ]
    assert owners(database) == {"orders": "shop", "posts": "blog"}
    assert jobrunner("apply", "--json", env=SHOP).json()["of_other_applications"] == {"blog": 1}


def test_gone_disables_only_schedules_of_its_own_application(jobrunner: Commands, app: App, database: Database) -> None:
    declare(app, code=one("of the blog"))
    assert applied(jobrunner, env={"JOBRUNNER_APPLICATION": "blog"})["added"] == ["of the blog"]
    filed(app, "orders")
    assert applied(jobrunner, "--gone", "code", env=SHOP)["disabled"] == []
    assert owners(database) == {"of the blog": "blog", "orders": "shop"}


def test_a_name_of_another_application_is_refused(jobrunner: Commands, app: App, database: Database) -> None:
    filed(app, "clean_up")
    jobrunner("apply", env=SHOP)
    filed(app, "clean_up", "posts", expression="@hourly")
    before = everything(database)
    for env in (BLOG, NAMELESS):
        jobrunner.refused(1, "apply", env=env, says=["'clean_up'", "the application 'shop'", "rename it"])
    assert everything(database) == before


def test_schedule_without_application_belongs_to_the_one_that_declares_it(
    jobrunner: Commands, app: App, database: Database
) -> None:
    filed(app, "orders", "old")
    jobrunner("apply", env=NAMELESS)
    filed(app, "orders")
    assert applied(jobrunner, env=SHOP) == {**nothing(0), "changed": {"orders": {"application": ("", "shop")}}}
    # It may be somebody's who has not named itself.
    assert owners(database) == {"orders": "shop", "old": ""}
    assert applied(jobrunner, env=SHOP) == nothing(1)


def test_schedule_given_up_by_an_application_can_be_declared_by_another(
    jobrunner: Commands, app: App, database: Database
) -> None:
    filed(app, "clean_up")
    jobrunner("apply", env=SHOP)
    filed(app)
    jobrunner("apply", env=SHOP)
    filed(app, "clean_up")
    assert applied(jobrunner, env=BLOG)["added"] == ["clean_up"]
    assert owners(database) == {"clean_up": "blog"}


def test_an_application_without_a_proper_name_is_refused(jobrunner: Commands, app: App, database: Database) -> None:
    filed(app, "orders")
    before = everything(database)
    for name in ("a b", "caf\u00e9", "x" * 101, "\x1b[2J"):
        jobrunner.refused(78, "apply", env={"JOBRUNNER_APPLICATION": name}, says=["JOBRUNNER_APPLICATION", "letters"])
    assert everything(database) == before
