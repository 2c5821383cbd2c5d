"""The record of contacts: kept between threads, processes and restarts, and over a clock that is set back."""

import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from protatlas.errors import DependencyUnavailable, RateLimited
from protatlas.services.etiquette import PATIENCE_S, Etiquette, Pace, quiet_hours_in
from tests.fakes.web_service import Clock

PACE = Pace("Somebody", contact_gap_s=10.0, poll_gap_s=60.0)
HOST = "somebody.test"
TAKE_TURNS = """
import sys
from pathlib import Path
from protatlas.services.etiquette import Etiquette, Pace

waits = []
etiquette = Etiquette(Path(sys.argv[1]), clock=lambda: 1000.0, sleep=waits.append)
for _ in range(3):
    etiquette.wait_for_turn(Pace("Somebody", contact_gap_s=10.0, poll_gap_s=60.0), "somebody.test")
print(*waits)
"""


def at(moment: str) -> float:
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


def test_two_processes_share_one_queue(record: Path) -> None:
    command = [sys.executable, "-c", TAKE_TURNS, str(record)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]

    outputs = [process.communicate(timeout=60)[0] for process in processes]

    assert sorted(float(wait) for output in outputs for wait in output.split()) == [10, 20, 30, 40, 50]


def test_threads_get_turns_of_their_own(record: Path) -> None:
    waits: list[float] = []
    etiquette = Etiquette(record, clock=lambda: 1000.0, sleep=waits.append)
    with ThreadPoolExecutor(6) as pool:
        for turn in [pool.submit(etiquette.wait_for_turn, PACE, HOST) for _ in range(6)]:
            turn.result()

    assert sorted(waits) == [10, 20, 30, 40, 50]


def test_a_queue_of_more_than_a_minute_is_refused_and_takes_no_turn(record: Path) -> None:
    etiquette = Etiquette(record, clock=lambda: 1000.0, sleep=lambda _: None)
    for _ in range(7):
        etiquette.wait_for_turn(PACE, HOST)

    for _ in range(2):
        with pytest.raises(RateLimited) as caught:
            etiquette.wait_for_turn(PACE, HOST)
        assert caught.value.fields["retry_after_s"] == 70


def test_hosts_do_not_wait_for_each_other(etiquette: Etiquette, clock: Clock) -> None:
    etiquette.wait_for_turn(PACE, HOST)
    etiquette.wait_for_turn(PACE, "another.test")

    assert clock.slept == []


def test_one_of_many_callers_polls_a_search(record: Path) -> None:
    etiquette = Etiquette(record, clock=lambda: 1000.0, sleep=lambda _: None)
    with ThreadPoolExecutor(24) as pool:
        waits = list(pool.map(lambda _: etiquette.claim_poll(PACE, HOST, "A"), range(24)))

    assert sorted(waits) == [0, *[60] * 23]


def test_a_restart_remembers_the_last_contact(record: Path, clock: Clock) -> None:
    Etiquette(record, clock=clock, sleep=clock.sleep).wait_for_turn(PACE, HOST)
    clock.now += 4

    Etiquette(record, clock=clock, sleep=clock.sleep).wait_for_turn(PACE, HOST)

    assert clock.slept == [6]


def test_a_clock_that_was_set_back_closes_nothing(etiquette: Etiquette, clock: Clock) -> None:
    etiquette.wait_for_turn(PACE, HOST)
    etiquette.claim_poll(PACE, HOST, "A")
    clock.sleep(10)
    etiquette.claim_poll(PACE, HOST, "A")
    clock.slept.clear()
    clock.now -= 100_000

    assert etiquette.claim_poll(PACE, HOST, "A") == 0
    assert etiquette.claim_poll(PACE, HOST, "A") == PACE.poll_gap_s
    etiquette.wait_for_turn(PACE, HOST)
    assert clock.slept == [10]


def test_a_search_is_counted_for_a_day(etiquette: Etiquette, clock: Clock) -> None:
    pace = PACE._replace(searches_a_day=2)
    etiquette.begin_search(pace)
    clock.now += 3_600
    etiquette.drop_search(etiquette.begin_search(pace))
    etiquette.begin_search(pace)

    with pytest.raises(RateLimited, match="2 searches in 24 hours") as caught:
        etiquette.begin_search(pace)

    assert caught.value.fields["retry_after_s"] == 23 * 3_600
    assert etiquette.searches(pace) == 2
    clock.now += 23 * 3_600 + 1
    etiquette.begin_search(pace)


def test_after_fifty_searches_the_next_waits_for_the_evening(etiquette: Etiquette, clock: Clock) -> None:
    pace = PACE._replace(searches_by_day=2)
    clock.now = at("2026-12-01T15:00")
    etiquette.begin_search(pace)
    etiquette.begin_search(pace)

    with pytest.raises(RateLimited, match="outside nights and weekends") as caught:
        etiquette.begin_search(pace)

    assert caught.value.fields["retry_after_s"] == 11 * 3_600
    clock.now += 11 * 3_600
    etiquette.begin_search(pace)


@pytest.mark.parametrize(
    ("moment", "hours"),
    [
        ("2026-12-01T01:59:00", 1 / 60),  # Monday 20:59 in New York
        ("2026-12-01T02:00:00", 0),
        ("2026-12-01T08:59:59", 0),
        ("2026-12-01T09:00:00", 17),  # 04:00 in winter, 05:00 in summer
        ("2026-12-05T04:59:00", 0),  # Saturday night
        ("2026-12-05T12:00:00", 0),
        ("2026-12-06T23:00:00", 0),
        ("2026-12-07T03:59:00", 0),  # Sunday 22:59
        ("2026-12-07T10:00:00", 16),
    ],
)
def test_quiet_hours_are_nights_and_weekends_in_washington(moment: str, hours: float) -> None:
    assert quiet_hours_in(at(moment)) == pytest.approx(hours * 3_600)


def test_a_search_of_last_week_is_forgotten(etiquette: Etiquette, clock: Clock, record: Path) -> None:
    etiquette.name_search(etiquette.begin_search(PACE), "A", first_poll_s=1)
    clock.now += 8 * 86_400
    etiquette.begin_search(PACE)

    with sqlite3.connect(record) as connection:
        assert connection.execute("SELECT count(*) FROM search").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize("content", [None, b"this is no SQLite file, and long enough to tell" * 20])
def test_nobody_is_asked_where_the_record_cannot_be_kept(tmp_path: Path, content: bytes | None) -> None:
    record = tmp_path / "contacts.sqlite"
    if content is None:
        record.mkdir()
    else:
        record.write_bytes(content)

    with pytest.raises(DependencyUnavailable, match=r"record of contacts.*nobody is asked"):
        Etiquette(record).wait_for_turn(PACE, HOST)


def test_patience_is_longer_than_any_gap() -> None:
    assert PACE.contact_gap_s <= PATIENCE_S
