"""The notes of a host about its effects, in files that may be cut, old, of another database, or anything at all."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobrunner.effects.notes import EffectNotes
from jobrunner.store.queue.effects import Note

SERVER = "7391/3"
URL = "postgresql://ada:secret@db.example:5432/app?sslmode=require"
NOW = datetime(2026, 11, 26, 2, 30, 0, 123456, tzinfo=UTC)


def note(key: str, call: str = "") -> Note:
    return Note(key, 7, "charge", 2, "a" * 32, call or f"call of {key}", NOW, NOW - timedelta(hours=1))


def notes_in(folder: Path, url: str = URL, schema: str | None = None) -> EffectNotes:
    return EffectNotes([str(folder)], url, schema)


def only_file(folder: Path) -> Path:
    (path,) = folder.glob("effects-*.notes")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "state"
    made.mkdir(mode=0o700)
    return made


def test_call_its_outcome_and_its_end_without_effect_are_read_as_they_were_noted(folder: Path) -> None:
    notes = notes_in(folder)
    for key in ("open", "applied", "refused"):
        notes.called(SERVER, note(key))
    notes.ended(SERVER, note("applied").call, outcome={"receipt": "ü\n"})
    notes.ended(SERVER, note("refused").call)
    known = note("applied")._replace(was_applied=True, its_outcome={"receipt": "ü\n"})
    assert sorted(notes.read(SERVER)) == sorted([note("open"), known])


def test_call_is_on_the_disk_before_it_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synchronized: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synchronized.append(os.fstat(descriptor).st_size))
    notes_in(folder).called(SERVER, note("a"))
    assert synchronized == [only_file(folder).stat().st_size]


def test_last_call_of_a_key_counts(folder: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a", "first"))
    notes.called(SERVER, note("a", "second"))
    assert [each.call for each in notes.read(SERVER)] == ["second"]


def test_note_that_a_crash_has_cut_takes_no_other_one_with_it(folder: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a"))
    notes.called(SERVER, note("cut"))
    os.truncate(only_file(folder), only_file(folder).stat().st_size - 9)
    notes.called(SERVER, note("b"))
    assert [each.effect for each in notes.read(SERVER)] == ["a", "b"]


def test_outcome_that_is_too_long_leaves_its_call_open(folder: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a"))
    size = only_file(folder).stat().st_size
    notes.ended(SERVER, note("a").call, outcome="x" * 20_000)
    assert (notes.read(SERVER), only_file(folder).stat().st_size) == ([note("a")], size)


def test_effects_of_another_database_or_cluster_in_the_same_folder_are_not_read(folder: Path) -> None:
    notes_in(folder).called(SERVER, note("a"))
    assert notes_in(folder, URL.replace("/app", "/other")).read(SERVER) == []
    assert notes_in(folder, schema="jobs").read(SERVER) == []
    assert notes_in(folder).read("7392/3") == []
    assert notes_in(folder).read("7391/4") == [note("a")]


def test_call_at_another_address_counts_as_open_because_it_may_be_that_of_a_copy_for_tests(folder: Path) -> None:
    elsewhere = notes_in(folder, URL.replace("db.example", "copy.example"))
    elsewhere.called(SERVER, note("a"))
    elsewhere.ended(SERVER, note("a").call, outcome=1)
    assert notes_in(folder).read(SERVER) == [note("a")]
    assert notes_in(folder, URL.replace("secret", "changed")).read(SERVER) == [note("a")]
    assert [each.was_applied for each in elsewhere.read(SERVER)] == [True]


def test_nobody_else_can_read_the_notes_whatever_the_umask_is(folder: Path) -> None:
    before = os.umask(0)
    try:
        notes_in(folder).called(SERVER, note("a"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(only_file(folder).stat().st_mode) == 0o600


def test_folder_that_others_may_write_is_neither_written_nor_read(folder: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a"))
    folder.chmod(0o770)
    notes.called(SERVER, note("b"))
    assert notes.read(SERVER) == []
    folder.chmod(0o700)
    assert notes.read(SERVER) == [note("a")]


def test_whatever_is_in_the_folder_hides_no_note_and_raises_nothing(folder: Path, tmp_path: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a"))
    path = only_file(folder)
    good = path.read_bytes()
    aside = tmp_path / "aside"
    aside.write_bytes(good.replace(b'"a"', b'"linked"'))
    numbered = str(path).removesuffix(".notes")
    os.symlink(aside, f"{numbered}1.notes")
    os.mkfifo(f"{numbered}2.notes", 0o600)
    Path(f"{numbered}3.notes").mkdir()
    bad = [b"7", b'"ended"', b"[]", b"{}", b"null", b"[" * 9000, b'{"ended": []}', b'{"ended": "unknown"}', b"\xff\xfe"]
    changed = [(b"26T", b"99T"), (b'"run": 7', b'"run": Infinity'), (b'"effect": "a"', b'"effect": ["a"]')]
    bad += [good.replace(*each) for each in changed]
    assert all(each != good for each in bad)
    path.write_bytes(b"\n".join([*bad, b"x" * 100_000, good]))
    assert notes.read(SERVER) == [note("a")]


def test_old_notes_are_removed_and_those_of_another_database_only_after_a_week(folder: Path) -> None:
    notes, other = notes_in(folder), notes_in(folder, schema="jobs")
    for each in (notes, other):
        each.called(SERVER, note("a"))
    for minutes, left in ((14, (1, 1)), (16, (0, 1)), (8 * 24 * 60, (0, 0))):
        for path in folder.iterdir():
            at = datetime.now(UTC).timestamp() - minutes * 60
            os.utime(path, (at, at))
        notes.forget_old(SERVER)
        assert (len(notes.read(SERVER)), len(other.read(SERVER))) == left


def test_new_file_leaves_the_two_before_it(folder: Path) -> None:
    notes = notes_in(folder)
    notes.called(SERVER, note("a"))
    newest = only_file(folder)
    beginning, _, number = newest.stem.rpartition("-")
    older = [folder / f"{beginning}-{int(number) - before}.notes" for before in range(1, 5)]
    for path in older:
        path.touch()
    newest.unlink()
    notes.called(SERVER, note("b"))
    assert sorted(folder.iterdir()) == sorted([newest, *older[:2]])
