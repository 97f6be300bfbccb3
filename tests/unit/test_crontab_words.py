"""The command of a crontab's line: where its input begins, and whether it needs a shell."""

import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobrunner.crontab.words import Plain, take_apart, without_input

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
def test_what_follows_a_percent_sign_is_the_input(line: str, command: str, text: str) -> None:
    assert without_input(line) == (command, text)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("/usr/bin/certbot -q renew", ["/usr/bin/certbot", "-q", "renew"]),
        ("  backup.sh 'a b' \"c d\"  ", ["backup.sh", "a b", "c d"]),
        ("find /tmp -mtime +1 -exec rm {} \\;", ["find", "/tmp", "-mtime", "+1", "-exec", "rm", "{}", ";"]),
        ("grep '*?[$`|&;<>(){}~#' \\$x a\\ b", ["grep", "*?[$`|&;<>(){}~#", "$x", "a b"]),
        ('mail -s "it\'s 5 > 4; ok?" root', ["mail", "-s", "it's 5 > 4; ok?", "root"]),
        ("x a=b --c=d e#f g~h", ["x", "a=b", "--c=d", "e#f", "g~h"]),
        ("echo hello", ["echo", "hello"]),
        ("x ''", ["x", ""]),
    ],
)
def test_a_plain_call_needs_no_shell(command: str, words: list[str]) -> None:
    assert take_apart(command) == Plain(tuple(words), {}, None)


def test_a_change_of_the_folder_and_variables_in_front_need_none_either() -> None:
    assert take_apart("cd /srv/app && ./backup.sh x") == Plain(("./backup.sh", "x"), {}, "/srv/app")
    assert take_apart("LANG=C TZ=Europe/Berlin date -R") == Plain(
        ("date", "-R"), {"LANG": "C", "TZ": "Europe/Berlin"}, None
    )
    assert take_apart("cd app && A=1 ./x") == Plain(("./x",), {"A": "1"}, "app")


@pytest.mark.parametrize(
    ("command", "because"),
    [
        ("a | b", "|"),
        ("a > /dev/null 2>&1", "> >&"),
        ("a && b || c; d &", "&& || ; &"),
        ("rm *.tmp", "*"),
        ("rm a?b", "?"),
        ("rm [ab]", "[ ]"),
        ('echo "$HOME"', "$"),
        ("echo `id`", "`"),
        ('echo "`id`"', "`"),
        (r'su - app -c "cd \$HOME && ./run.sh"', "$"),
        (r'x "\`id\`"', "`"),
        ("(a)", "( )"),
        ("cp a.{b,c} d", "{ }"),
        ("ls ~", "~"),
        ("a --to=~/x", "~"),
        ("a # why", "#"),
        ("[ -x /a ] && /a", "[ ] &&"),
        ("if true; then a; fi", ";"),
        ("cd /srv", "cd"),
        ("cd ~/app && ./x", "~ &&"),
        ("cd -P && ./x", "&&"),
        (". /etc/profile", "."),
        ("! a", "!"),
        ("exec a", "exec"),
        ("command -v a", "command"),
        ('A="b c" d', "a variable in front"),
        ("A=1 ", "a variable in front"),
        ("a 'b", "quotes that do not close"),
        ('""', "no program"),
        ("echo 'a\\nb'", "echo, of which the shell's own is another"),
        ("echo -n a", "echo, of which the shell's own is another"),
    ],
)
def test_what_needs_a_shell_is_told(command: str, because: str) -> None:
    assert take_apart(command) == because


PIECES = ["a", "b c", " ", "  ", "\t", "=", "{}", "-x", "/tmp", ":", ",", "ä", "!", "^", "@", "+", "]", "\\"]
SPECIAL = ["$HOME", "$", "~", "#", "*", ";", "|", "&", "<", ">", "(", ")", "{", "}", "`", "[", "?", "'", '"']
TEXTS = st.lists(st.sampled_from(PIECES + SPECIAL), max_size=5).map("".join)
QUOTED = TEXTS.map("'{}'".format) | TEXTS.map('"{}"'.format)
TAILS = st.lists(TEXTS | QUOTED | st.just(" "), max_size=5).map("".join)


@settings(max_examples=40)
@given(st.lists(TAILS, min_size=30, max_size=60))
@example(['"cd \\$HOME && ./run.sh"', '"\\`id\\`"', "'\\$HOME'", "\\$HOME", '"\\a\\""'])
def test_no_shell_is_where_a_shell_would_find_the_same_words(
    tmp_path_factory: pytest.TempPathFactory, tails: list[str]
) -> None:
    """What is given as a list is what /bin/sh itself would have handed to the program."""
    commands = [f"printf '%s|' x {tail}" for tail in tails]
    taken = {command: parts for command in commands if isinstance(parts := take_apart(command), Plain)}
    # One process for all of them: it takes most of the time.
    script = "".join(f"{command}\necho\n" for command in taken)
    done = subprocess.run(
        ["/bin/sh"], input=script.encode(), capture_output=True, cwd=tmp_path_factory.getbasetemp(), check=True
    )
    found = dict(zip(taken, done.stdout.decode().splitlines(), strict=True))
    assert found == {command: "".join(f"{word}|" for word in parts.words[2:]) for command, parts in taken.items()}
