"""The first remedy of each finding makes it go: harness/remedies.py has a row for each that the code can name."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from harness import App, Commands, Database, pages
from harness.clinic import Check, Clinic
from harness.doctor_remedies import CHECKED, Planted, execute
from harness.explain_reasons import ELSEWHERE, NEVER, RUNS, SCHEDULES
from harness.explain_scene import Scene, make_scene
from harness.planted import insert_ticks
from harness.remedies import FOUND, FOUND_ELSEWHERE, Elsewhere
from jobrunner.admin.finding import Finding
from jobrunner.admin.findings import FINDINGS, findings
from jobrunner.settings import config
from jobrunner.store.drivers.database import Database as Store
from jobrunner.store.drivers.location import locate
from jobrunner.store.questions.explain.reasons import REASONS
from jobrunner.web.pages.leads import LEADS, led
from jobrunner.web.permissions import EVERYTHING
from jobrunner.web.routes import Found
from jobrunner.web.routes import find as find_route

TESTS = Path(__file__).parents[1]
CLEARED = ("job_runs", "job_definitions", "job_effects", "job_pauses", "job_set_limits", "job_events", "job_ticks")


@pytest.fixture
def scene(jobrunner: Commands, database: Database, app: App) -> Scene:
    return make_scene(jobrunner, database, app)


@pytest.fixture
def store(database: Database) -> Iterator[Store]:
    with closing(Store(locate(database.url), patience=timedelta(seconds=20))) as opened:
        yield opened


def find(store: Store, problem: str | None = None) -> dict[str, Finding]:
    found = store.read(lambda connection: findings(connection, config.load({}), problem))
    return {each.name: each for each in found}


def check_lead(finding: Finding) -> None:
    """What the page links beside it is a page, and its button a form."""
    found = led(finding, EVERYTHING)
    assert found.words
    assert found.path.startswith("#") or isinstance(find_route("GET", f"/{found.path.partition('?')[0]}"), Found)
    if found.button is not None:
        assert isinstance(find_route("POST", f"/{found.button[1]}"), Found)
        assert "" not in [found.button[0], *found.button[2]]
    assert led(finding, ()).button is None


@pytest.mark.promise("P12")
def test_the_first_remedy_of_each_finding_of_health_makes_it_go(scene: Scene, store: Store) -> None:
    """Many were commands that only look, such as `crontab -l`: executed as printed, nothing was mended."""
    for name, plant, cure in FOUND:
        for table in CLEARED:
            scene.database.execute(f"DELETE FROM {table}")
        insert_ticks(scene.database, "here")
        assert name not in find(store), name
        plant(scene)
        found = find(store)
        assert name in found, (name, found)
        check_lead(found[name])
        cure.apply(scene, found[name].remedy)
        assert name not in find(store), found[name]


def test_a_state_folder_that_cannot_be_used_is_told_with_its_variable(store: Store) -> None:
    assert "JOBRUNNER_STATE_DIR" in find(store, "it cannot be made")["state_folder"].remedy


def test_every_reason_and_every_finding_that_the_code_can_name_has_a_row() -> None:
    folder = pages.ROOT / "jobrunner/store/questions/explain"
    source = "".join(path.read_text() for path in (*folder.glob("*.py"), pages.ROOT / "jobrunner/admin/own_ticks.py"))
    of_runs = set(re.findall(r"""(?:asked\.say|_full|_too_fast|LimitInTheWay)\(\s*"(\w+)\"""", source))
    of_runs |= set(re.findall(r"""reason="(\w+)\"""", source))
    assert of_runs == set(REASONS["run"]) == {*RUNS, *ELSEWHERE["run"]}
    of_schedules = set(re.findall(r"""_say\(\s*row, "(\w+)\"""", source))
    skipped = {name for name in REASONS["schedule"] if name.startswith("skipped_")}
    assert of_schedules == set(REASONS["schedule"]) - skipped - {"ticks_elsewhere"}
    assert of_schedules == {*SCHEDULES, *ELSEWHERE["schedule"], *NEVER} - skipped
    assert {*(name for name, _, _ in FOUND), *FOUND_ELSEWHERE} == set(FINDINGS) == set(LEADS)


def test_what_is_tested_elsewhere_is_tested_there() -> None:
    rows = [*(row for of_kind in ELSEWHERE.values() for row in of_kind.values()), *FOUND_ELSEWHERE.values()]
    rows += [row for of_place in CHECKED.values() for row in of_place if isinstance(row, Elsewhere)]
    for row in rows:
        file, _, name = row.test.partition("::")
        (found,) = TESTS.rglob(file)
        assert f"def {name}" in found.read_text(), row


def planted() -> Iterator[tuple[str, int, str]]:
    for where, rows in CHECKED.items():
        for at, row in enumerate(rows):
            if isinstance(row, Planted):
                yield from ((where, at, name) for name in row.on.split())


@pytest.mark.long(sample=6)
@pytest.mark.parametrize(("where", "at", "database"), list(planted()), indirect=["database"])
def test_the_first_remedy_of_a_check_of_doctor_makes_it_go(
    where: str, at: int, jobrunner: Commands, app: App, database: Database, tmp_path: Path
) -> None:
    row = CHECKED[where][at]
    assert isinstance(row, Planted)
    jobrunner.tick()
    clinic = Clinic(jobrunner, app, database, tmp_path)
    row.plant(clinic)
    env = row.env(clinic)

    def found(given: Mapping[str, str | None]) -> list[Check]:
        _, checks = clinic.examine("--no-crontab", **given)
        of_name = [each for each in checks if each["name"] == row.name and each["verdict"] != "ok"]
        return [each for each in of_name if "on this server" not in each["found"]]

    (check,) = [each for each in found(env) if each["verdict"] == row.verdict]
    for word in row.names:
        assert word in check["remedy"], check
    if row.act is None:
        execute(clinic, check["remedy"], env)
        assert found(env) == []
    else:
        row.act(clinic)
        # What is wrong in the environment is taken out of it.
        assert [each for each in found({}) if each["verdict"] == row.verdict] == []


def test_every_place_where_doctor_says_that_something_is_wrong_has_a_row() -> None:
    places = Counter[str]()
    for path in (
        *(pages.ROOT / "jobrunner/admin/doctor").glob("*.py"),
        *(pages.ROOT / "jobrunner/cli").rglob("doctor.py"),
    ):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                calls = [each.func for each in ast.walk(function) if isinstance(each, ast.Call)]
                names = [each.id for each in calls if isinstance(each, ast.Name)]
                count = sum(name in ("wrong", "warning", "kind") for name in names)
                if count and path.stem != "checks":
                    places[f"{path.stem}.{function.name}"] += count
    assert places == {where: len(rows) for where, rows in CHECKED.items()}
    assert len([row for rows in CHECKED.values() for row in rows]) > 40
