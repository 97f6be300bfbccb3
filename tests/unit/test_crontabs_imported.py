"""What a line of a crontab becomes: its command, its name and its description, or the reason why it is left."""

from pathlib import Path

import pytest

from harness.crontabs import about, job, refusal, taken
from jobrunner.crontab.parse import without_input
from jobrunner.crontab.toml import write
from jobrunner.settings import toml_file

# Seen at Debian's cron, 3.0pl1-162, whose daemon ran each of them.
INPUTS = [
    (r"printf '[\%s]' 'a\\b'", r"printf '[%s]' 'a\b'", ""),
    (r"printf '[\%s]' a\\\%b", r"printf '[%s]' a\%b", ""),
    (r"printf '[\%s]' '\d\%\\d'", r"printf '[%s]' '\d%\d'", ""),
    (r"cat%one\%two%three\four%%", "cat", "one%two\nthree\\four\n\n"),
    ("cat%", "cat", ""),
    ("cat%x%", "cat", "x\n"),
    ("cat", "cat", ""),
    (r"cat%a\\%b", "cat", "a\\%b\n"),
    ("printf x # no% in", "printf x # no", " in\n"),
    (r"cat%\%", "cat", "%\n"),
]


@pytest.mark.parametrize(("line", "command", "text"), INPUTS)
def test_text_after_a_percent_sign_is_the_standard_input(line: str, command: str, text: str) -> None:
    assert without_input(line) == (command, text)


@pytest.mark.parametrize(
    "command",
    [
        "/usr/bin/certbot -q renew",
        r'su - app -c "cd \$HOME && ./run.sh"',
        "cd /srv && ./x 'a b'",
        "awk '{print}' x",
        "'{}' x",
        "{print}",
        "a # why",
        "a 'b",
        "a \\ ",
    ],
)
def test_an_imported_command_is_the_text_that_cron_gives_its_shell(command: str, tmp_path: Path) -> None:
    found = taken(f"0 5 * * * {command}\n")
    path = tmp_path / "jobrunner.toml"
    path.write_text(write(found.jobs, "a test"))
    (read_back,) = toml_file.read(path).commands.values()
    assert read_back.argv == ("/bin/sh", "-c", command)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("@reboot a", "@reboot"),
        ("*/90 * * * * a", "at most 60"),
        ("5/15 * * * * a", "write 5-59/15"),
        ("0 22-2 * * * a", "22-23,0-2"),
        ("0 5 31 2 * a", "never fire"),
        ("0~30 5 * * * a", "not understood"),
        ("0 5 * * * %a", "no command"),
        ("0 5 * * * a {payload.x}", "{payload.x}"),
        ("0 5 * * * a | b {run_id}", "{run_id}"),
        ("SHELL=/bin/bash\n0 5 * * * {x}", "{x} is not a placeholder"),
        ("0 5 * * *", "neither"),
        ("0 5 * * 6#1 a", "cron reads 6#1 as 6, each week"),
        ("0 5 * * mon#2 a", "cron reads mon#2 as mon, each week"),
        ("0 5 L * * a", "cron does not know L"),
    ],
)
def test_line_that_cannot_be_imported_is_listed_with_the_reason(text: str, word: str) -> None:
    line, reason = refusal(f"\n{text}\n")
    assert line == 2 + text.count("\n")
    assert word in reason


def test_job_with_an_unknown_time_zone_is_not_imported() -> None:
    line, reason = refusal("CRON_TZ=Europe/Berln\n0 5 * * * a\n")
    assert (line, "Europe/Berlin" in reason) == (2, True)


def test_jobs_of_other_users_are_not_imported() -> None:
    found = taken("1 * * * * app a\n2 * * * * root b\n", has_user=True)
    assert [each.command for each in found.jobs] == ["a"]
    assert [each.line for each in found.refused] == [2]
    assert "--user root" in found.refused[0].text


@pytest.mark.parametrize(
    ("above", "description"),
    [
        ("# Sends the report.\n", "Sends the report."),
        ("# One\n# and two\n", "One and two"),
        ("# Head\n#\n# its own\n", "its own"),
        ("# ----------\n# its own\n# ----------\n", None),
        ("# far\n\n", None),
        ("# far\nA=b\n", None),
        ("# m h  dom mon dow   command\n", None),
        ("# 0 5 * * * switched off\n", None),
        ("#@daily off\n", None),
        ("# *  *  *  *  * user-name command to be executed\n", None),
        ("", None),
    ],
)
def test_the_comment_directly_above_is_the_description(above: str, description: str | None) -> None:
    assert job(f"{above}0 5 * * * a\n").description == description


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("MAILTO=me\n", "no mail is sent"),
        ("CRON_TZ=UTC\n", "time zone of the jobs"),
        ("TZ=Asia/Tokyo\n", "changes no schedule"),
        ("LOGNAME=x\n", "left out"),
        ("RANDOM_DELAY=6\n", 'jitter = "6m"'),
        ("PATH=$HOME/bin\n", "$ is not expanded"),
        ("X=1\n", "in the environment"),
        ("SHELL=/bin/bash\n0 5 * * * a\n", "run by /bin/bash"),
        ("0 5 * * * [ -x /a ] && /a\n", "better write `if"),
        ("0 5 * * * a & b\n", "ends with the run"),
        ("0 5 * * * a%b\n", "standard input"),
    ],
)
def test_differences_from_cron_are_reported(text: str, said: str) -> None:
    assert said in about(text, text.count("\n"))


@pytest.mark.parametrize(
    "command",
    [
        "a &",
        "a&",
        "(sleep 1; echo late) &",
        "( a ) & # later",
        "(a &)",
        "{ a & }",
        "nohup a > /dev/null 2>&1 &  ",
        "a &;",
    ],
)
def test_line_whose_work_goes_on_in_the_background_is_not_imported(command: str) -> None:
    """Under cron its output came to three lines; as a run it would succeed at once, with none."""
    found = taken(f"0 5 * * * {command}\n")
    assert found.jobs == ()
    assert "not imported: it leaves its work in the background" in about(f"0 5 * * * {command}\n", 1)


@pytest.mark.parametrize(
    "command",
    ["a && b", "a 2>&1", "echo 'a &'", 'echo "a &" # b &', "echo a \\&", "a & b & wait", "a &> b", "a >& b", "a |& b"],
)
def test_an_ampersand_that_leaves_nothing_in_the_background_is_imported_without_a_word(command: str) -> None:
    assert job(f"0 5 * * * {command}\n").command == command
    assert "background" not in about(f"0 5 * * * {command}\n", 1)


def test_job_is_named_after_the_value_of_a_variable() -> None:
    assert job("NICETIGER=/usr/sbin/tigercron\n0 5 * * * $NICETIGER -q > /dev/null\n").name == "tigercron"


@pytest.mark.parametrize(
    ("commands", "names"),
    [
        (
            ["/usr/bin/certbot renew", "/srv/app/backup.sh", "python3 /x/manage.py clear"],
            ["certbot", "backup", "manage"],
        ),
        (["mailman notify", "mailman digests"], ["mailman_notify", "mailman_digests"]),
        (["a 1", "a 2", "a 3"], ["a", "a_2", "a_3"]),
        (["a x", "a x", "a_x_2"], ["a_x", "a_x_3", "a_x_2"]),
        (["[ ! -x /a/b ] || nice -n 10 /a/b", "cd / && run-parts /etc/cron.daily"], ["b", "run-parts"]),
        (["if test -e $(date +\\%d); then X=1 sudo -n /x/y.py; fi"], ["y"]),
        (["> x"], ["x"]),
        ([": | :"], ["job"]),
        (["ärger"], ["rger"]),
    ],
)
def test_a_job_is_named_after_what_it_runs(commands: list[str], names: list[str]) -> None:
    text = "".join(f"0 {hour} * * * {command}\n" for hour, command in enumerate(commands))
    assert [each.name for each in taken(text).jobs] == names
