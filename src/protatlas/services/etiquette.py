"""Etiquette towards public services: one record of contacts and searches for all processes of a user.

It lies in a SQLite file, so that a restart or a second server does not ask sooner than a service allows. Times are
seconds since 1970 by the clock of the machine: they have to mean the same after a restart.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from protatlas.errors import DependencyUnavailable, RateLimited

LOG = logging.getLogger(__name__)
DAY_S = 86_400.0
LOCK_TIMEOUT_S = 30.0
"""Longest wait for another process that writes the record; it holds the lock for milliseconds."""
PATIENCE_S = 60.0
"""Longest that a caller waits for its turn; when the queue is longer it is told to come back."""
REFUSED = 403
KEPT_S = 7 * DAY_S
"""Age after which a search is forgotten: no service keeps results longer (EBI: seven days, NCBI: 36 hours)."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS host (name TEXT PRIMARY KEY, next_at REAL NOT NULL DEFAULT 0,
                                 closed_until REAL NOT NULL DEFAULT 0, status INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS search (key INTEGER PRIMARY KEY, service TEXT NOT NULL, submitted_at REAL, id TEXT,
                                   next_poll_at REAL NOT NULL DEFAULT 0, has_ended INTEGER NOT NULL DEFAULT 0,
                                   has_hits INTEGER, UNIQUE (service, id));
"""


class Pace(NamedTuple):
    """What a service asks of its callers.

    Attributes
    ----------
    service : str
        Name in messages.
    contact_gap_s, poll_gap_s : float
        Least seconds between two contacts of any kind, and between two polls of one search.
    searches_a_day : int or None
        Most searches in 24 hours; None for no limit.
    searches_by_day : int or None
        Most of them that may begin outside the hours that the service has for larger batches; None for no limit.
    open_searches : int or None
        Most searches that run at a time; None for no limit.
    """

    service: str
    contact_gap_s: float
    poll_gap_s: float
    searches_a_day: int | None = None
    searches_by_day: int | None = None
    open_searches: int | None = None


class ServiceClosed(DependencyUnavailable):
    """A service refused this machine a while ago; it is not asked again before that time is over."""

    def __init__(self, service: str, status: int, wait_s: float) -> None:
        super().__init__(
            service,
            f"It refused this machine (status {status}), and is left alone for {wait_s:.0f} s more. The operator may "
            "write to the service; search another way meanwhile.",
            status=status,
            retry_after_s=round(wait_s, 1),
        )


class Etiquette:
    """The record in a file that is made at the first use.

    Parameters
    ----------
    path
        The SQLite file; processes that share it share the etiquette.
    clock, sleep
        Seconds since 1970, and how to wait.
    """

    def __init__(
        self, path: Path, *, clock: Callable[[], float] = time.time, sleep: Callable[[float], object] = time.sleep
    ) -> None:
        self._path = path
        self.clock = clock
        self.sleep = sleep

    def wait_for_turn(self, pace: Pace, host: str) -> None:
        """Wait until the service may be contacted, and take that moment.

        Raises
        ------
        RateLimited
            More callers wait already than have a turn within a minute, or the service asked for a pause.
        ServiceClosed
            The service refused this machine a while ago.
        """
        now = self.clock()
        with self._transaction() as record:
            turn = self._next_turn(record, pace, host, now)
            if turn - now > PATIENCE_S:
                raise RateLimited(pace.service, round(turn - now, 1))
            self._take(record, pace, host, turn)
        if turn > now:
            self.sleep(turn - now)

    def claim_poll(self, pace: Pace, host: str, search: str) -> float:
        """Seconds until a search may be polled; 0 means now, and that the poll is counted as made.

        Raises
        ------
        RateLimited, ServiceClosed
            As `wait_for_turn`.
        """
        now = self.clock()
        with self._transaction() as record:
            record.execute("INSERT OR IGNORE INTO search (service, id) VALUES (?, ?)", (pace.service, search))
            (poll_at,) = record.execute(
                "SELECT next_poll_at FROM search WHERE service = ? AND id = ?", (pace.service, search)
            ).fetchone()
            turn = self._next_turn(record, pace, host, now)
            wait_s: float = max(turn, poll_at if poll_at <= now + pace.poll_gap_s else now) - now
            if wait_s > 0:
                return wait_s
            self._take(record, pace, host, turn)
            self._set(record, pace, search, "next_poll_at", turn + pace.poll_gap_s)
        return 0.0

    def begin_search(self, pace: Pace) -> int:
        """Count a search that is about to be sent; the key under which `name_search` gives it its id.

        It counts until `drop_search`: whether one that failed was begun is not always known.

        Raises
        ------
        RateLimited
            A daily limit, or the limit of searches at a time, is reached.
        """
        now = self.clock()
        with self._transaction() as record:
            record.execute("DELETE FROM search WHERE coalesce(submitted_at, next_poll_at) < ?", (now - KEPT_S,))
            self._refuse_too_many(record, pace, now)
            key = record.execute(
                "INSERT INTO search (service, submitted_at) VALUES (?, ?)", (pace.service, now)
            ).lastrowid
        assert key is not None
        return key

    def name_search(self, key: int, search: str, *, first_poll_s: float) -> None:
        """Note the id that the service gave to a search, and the seconds until its first poll."""
        with self._transaction() as record:
            record.execute(
                "UPDATE search SET id = ?, next_poll_at = ? WHERE key = ?", (search, self.clock() + first_poll_s, key)
            )

    def drop_search(self, key: int) -> None:
        """Forget a search that never began."""
        with self._transaction() as record:
            record.execute("DELETE FROM search WHERE key = ?", (key,))

    def end_search(self, pace: Pace, search: str, *, has_hits: bool | None = None) -> None:
        """Note that a search has ended, and whether the service said that it found something."""
        with self._transaction() as record:
            self._set(record, pace, search, "has_ended", 1)
            self._set(record, pace, search, "has_hits", has_hits)

    def has_hits(self, pace: Pace, search: str) -> bool | None:
        """What the service said about the hits of a search; None where it said nothing."""
        with self._transaction() as record:
            row = record.execute(
                "SELECT has_hits FROM search WHERE service = ? AND id = ?", (pace.service, search)
            ).fetchone()
        return None if row is None or row[0] is None else bool(row[0])

    def searches(self, pace: Pace) -> int:
        """Searches of the last 24 hours."""
        with self._transaction() as record:
            return _count(record, pace, since=self.clock() - DAY_S)

    def close_host(self, host: str, status: int, pause_s: float) -> None:
        """Leave a host alone for some seconds, because it answered with that status."""
        with self._transaction() as record:
            record.execute(
                "INSERT INTO host (name, closed_until, status) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE "
                "SET closed_until = max(closed_until, ?2), status = ?3",
                (host, self.clock() + pause_s, status),
            )
        LOG.warning("%s answered with status %d: it is left alone for %.0f s", host, status, pause_s)

    def _next_turn(self, record: sqlite3.Connection, pace: Pace, host: str, now: float) -> float:
        """Earliest moment for the next contact; one that lies too far ahead comes from a clock that was set back."""
        row = record.execute("SELECT next_at, closed_until, status FROM host WHERE name = ?", (host,)).fetchone()
        next_at, closed_until, status = row or (0.0, 0.0, 0)
        if next_at > now + PATIENCE_S + pace.contact_gap_s:
            next_at = now
        if closed_until > now + DAY_S:
            closed_until = now
        if closed_until > now and status == REFUSED:
            raise ServiceClosed(pace.service, status, closed_until - now)
        return float(max(now, next_at, closed_until))

    def _take(self, record: sqlite3.Connection, pace: Pace, host: str, turn: float) -> None:
        record.execute(
            "INSERT INTO host (name, next_at) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET next_at = ?2",
            (host, turn + pace.contact_gap_s),
        )

    def _set(self, record: sqlite3.Connection, pace: Pace, search: str, column: str, value: float | None) -> None:
        record.execute(
            f"UPDATE search SET {column} = ? WHERE service = ? AND id = ?",  # column: a name of this module
            (value, pace.service, search),
        )

    def _refuse_too_many(self, record: sqlite3.Connection, pace: Pace, now: float) -> None:
        done = _count(record, pace, since=now - DAY_S)
        if pace.searches_a_day is not None and done >= pace.searches_a_day:
            raise RateLimited(
                f"{pace.service} ({pace.searches_a_day} searches in 24 hours)", _free_in(record, pace, now)
            )
        if pace.searches_by_day is not None and done >= pace.searches_by_day and (wait_s := quiet_hours_in(now)) > 0:
            raise RateLimited(
                f"{pace.service} (after {pace.searches_by_day} searches in 24 hours, outside nights and weekends)",
                wait_s,
            )
        if pace.open_searches is not None and _count(record, pace, since=now - DAY_S, only_open=True) >= (
            pace.open_searches
        ):
            raise RateLimited(f"{pace.service} ({pace.open_searches} searches at a time)", PATIENCE_S)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The record, locked against other processes. Nobody is asked where it cannot be kept."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as record:
                record.executescript(SCHEMA)
                record.execute("BEGIN IMMEDIATE")
                with record:
                    yield record
        except (sqlite3.Error, OSError) as error:
            raise DependencyUnavailable(
                f"The record of contacts with public services at {self._path}",
                f"SQLite says: {error}. Without it nobody is asked; move the file away or make its folder writable.",
            ) from error


def quiet_hours_in(now: float) -> float:
    """Seconds until larger batches may run at NCBI: weekends, and 21:00 to 05:00 US Eastern on weekdays; 0 is now.

    Counted by the hours that belong to it in winter and in summer time alike, so that no time-zone table is needed:
    02:00 to 09:00 UTC, and Saturday 05:00 to Monday 04:00 UTC.
    """
    moment = datetime.fromtimestamp(now, UTC)
    hour = timedelta(hours=moment.hour, minutes=moment.minute, seconds=moment.second).total_seconds() / 3600
    is_weekend = (moment.weekday() == 5 and hour >= 5) or moment.weekday() == 6 or (moment.weekday() == 0 and hour < 4)
    if is_weekend or 2 <= hour < 9:
        return 0.0
    return ((2 - hour) % 24) * 3600


def _count(record: sqlite3.Connection, pace: Pace, *, since: float, only_open: bool = False) -> int:
    where = "service = ? AND submitted_at > ?" + (" AND has_ended = 0" if only_open else "")
    (count,) = record.execute(f"SELECT count(*) FROM search WHERE {where}", (pace.service, since)).fetchone()
    return int(count)


def _free_in(record: sqlite3.Connection, pace: Pace, now: float) -> float:
    """Seconds until the oldest search of the last 24 hours is older than that."""
    (oldest,) = record.execute(
        "SELECT min(submitted_at) FROM search WHERE service = ? AND submitted_at > ?", (pace.service, now - DAY_S)
    ).fetchone()
    return float(round(oldest + DAY_S - now, 1)) if oldest is not None else 0.0
