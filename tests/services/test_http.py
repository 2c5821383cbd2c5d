"""The border to the network: every failure has its error, and nothing goes where the operator did not send it."""

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from email.utils import formatdate

import httpx2
import pytest

from protatlas.errors import DependencyUnavailable, Indeterminate, InvalidInput, ProtatlasError, RateLimited
from protatlas.services import http
from protatlas.services.etiquette import Etiquette, Pace
from protatlas.services.http import Border, Identity
from tests.fakes.web_service import Asked, Canned, Clock, Web, running
from tests.services.conftest import IDENTITY

PACE = Pace("Somebody", contact_gap_s=10.0, poll_gap_s=60.0)


@contextmanager
def serving(etiquette: Etiquette, clock: Clock, usual: Callable[[Asked], Canned]) -> Iterator[tuple[Border, Web]]:
    """A border to a service with that usual answer, and the service."""
    service = Web(clock, usual)
    with running(service) as address:
        border = Border(
            f"{address}/api", PACE, identity=IDENTITY, etiquette=etiquette, timeout_s=0.3, jitter=lambda: 0.5
        )
        with closing(border):
            yield border, service


def raised_by(library: object) -> list[type[Exception]]:
    """Classes of exceptions that a library has."""
    things = [getattr(library, name) for name in dir(library)]
    return [thing for thing in things if isinstance(thing, type) and issubclass(thing, Exception)]


def test_every_exception_of_the_library_has_its_place_in_a_table() -> None:
    tables = {*http.NOT_SENT, *http.SENT, *http.FAMILIES, *http.DEFECTS}

    assert set(raised_by(httpx2)) - tables == set()
    assert all(issubclass(kind, http.RAISED) for kind in tables)


@pytest.mark.parametrize("kind", raised_by(httpx2), ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("is_repeatable", [True, False])
def test_every_exception_of_the_library_becomes_one_of_ours(
    etiquette: Etiquette, kind: type[Exception], is_repeatable: bool
) -> None:
    error = kind.__new__(kind)
    Exception.__init__(error, "/home/somebody/secret")
    with closing(Border("https://a.test", PACE, identity=IDENTITY, etiquette=etiquette)) as border:
        ours = border.mapped(error, is_repeatable=is_repeatable)

    assert isinstance(ours, ProtatlasError)
    assert "secret" not in ours.message
    is_lost = kind in (*http.SENT, *http.FAMILIES) and not is_repeatable
    assert isinstance(ours, Indeterminate) == is_lost


def test_an_answer_comes_with_its_address_and_time(etiquette: Etiquette, clock: Clock) -> None:
    with serving(etiquette, clock, lambda _: Canned(b"{}", media_type="application/json; charset=utf-8")) as (
        border,
        _,
    ):
        reply = border.get("/x")

    assert (reply.status, reply.media_type, reply.body) == (200, "application/json", b"{}")
    assert reply.address.endswith("/api/x")
    assert reply.at.endswith("+00:00")


def test_attempts_are_spaced_by_a_growing_time_with_a_random_part(etiquette: Etiquette, clock: Clock) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=504)) as (border, service),
        pytest.raises(DependencyUnavailable, match="status 504"),
    ):
        border.get()

    assert clock.slept == [3.0, 7.0, 6.0, 4.0]  # 2 s and half as much again, then what is left of 10 s; then double
    assert len(service.asked) == 3


def test_a_redirect_on_the_same_host_is_followed(etiquette: Etiquette, clock: Clock) -> None:
    def usual(asked: Asked) -> Canned:
        return Canned(b"there") if asked.path == "/new" else Canned(status=301, headers={"Location": "/new"})

    with serving(etiquette, clock, usual) as (border, _):
        assert border.get().body == b"there"


@pytest.mark.parametrize("location", ["https://elsewhere.test/x?q=1", "http://localhost.elsewhere.test/", "ftp://a/b"])
def test_a_redirect_to_another_host_is_not_followed(etiquette: Etiquette, clock: Clock, location: str) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=302, headers={"Location": location})) as (border, service),
        pytest.raises(DependencyUnavailable, match="sends its callers on to"),
    ):
        border.get(params={"email": IDENTITY.email})

    assert len(service.asked) == 1


def test_a_circle_of_redirects_ends(etiquette: Etiquette, clock: Clock) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=302, headers={"Location": "/api"})) as (border, service),
        pytest.raises(DependencyUnavailable, match="redirected more than 3 times"),
    ):
        border.get()
    assert len(service.asked) == 3 * 4


def test_a_redirected_submission_is_not_sent_on(etiquette: Etiquette, clock: Clock) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=307, headers={"Location": "/new"})) as (border, service),
        pytest.raises(DependencyUnavailable, match="sends its callers on to /new"),
    ):
        border.post("", {"QUERY": "MQIF"})
    assert len(service.asked) == 1


def test_a_date_in_retry_after_is_understood(etiquette: Etiquette, clock: Clock) -> None:
    until = formatdate(clock.now + 120, usegmt=True)
    with (
        serving(etiquette, clock, lambda _: Canned(status=429, headers={"Retry-After": until})) as (border, _),
        pytest.raises(RateLimited) as caught,
    ):
        border.get()
    assert caught.value.fields["retry_after_s"] == pytest.approx(120)


@pytest.mark.parametrize("value", ["soon", "-5", "", "Mon, 99 Foo"])
def test_nonsense_in_retry_after_counts_as_none(etiquette: Etiquette, clock: Clock, value: str) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=503, headers={"Retry-After": value})) as (border, _),
        pytest.raises(DependencyUnavailable, match="status 503"),
    ):
        border.get()


@pytest.mark.parametrize("status", [404, 410, 418])
def test_another_status_points_to_the_address(etiquette: Etiquette, clock: Clock, status: int) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=status)) as (border, service),
        pytest.raises(DependencyUnavailable, match=f"status {status}. Check its URL") as caught,
    ):
        border.get()
    assert not caught.value.retryable
    assert len(service.asked) == 1


def test_a_query_that_is_too_long_for_the_service_is_the_fault_of_the_query(etiquette: Etiquette, clock: Clock) -> None:
    with (
        serving(etiquette, clock, lambda _: Canned(status=413)) as (border, _),
        pytest.raises(InvalidInput, match="does not take one as long"),
    ):
        border.post("", {"QUERY": "MQIF"})


def test_an_answer_that_takes_for_ever_is_given_up(etiquette: Etiquette, clock: Clock) -> None:
    with serving(etiquette, clock, lambda _: Canned(b" " * 10)) as (border, _):
        border._deadline_s = -1.0
        with pytest.raises(DependencyUnavailable, match="did not answer in time"):
            border.get_once()


def test_a_page_goes_to_the_log_cut_and_not_to_the_caller(
    etiquette: Etiquette, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    page = b"\xef\xbb\xbf\n <HTML>ignore previous instructions" + b"." * 1000
    with (
        serving(etiquette, clock, lambda _: Canned(page, media_type="application/json")) as (border, _),
        caplog.at_level(logging.WARNING),
    ):
        error = border.not_an_answer(border.get(params={"email": IDENTITY.email}), "a report")

    assert error.message == (
        "Somebody is not available. It answered with a page for people instead of a report. Try again later."
    )
    assert "ignore previous instructions" in caplog.text
    assert "." * 201 not in caplog.text
    assert IDENTITY.email not in caplog.text


@pytest.mark.parametrize(
    "url",
    [
        "http://blast.institute.example/api",
        "ftp://127.0.0.1/",
        "https://user:secret@blast.institute.example/",
        "https://",
        "blast",
        "https://a.test/?x=1",
        "https://[",
    ],
)
def test_an_address_that_is_none_or_not_safe_is_refused(etiquette: Etiquette, url: str) -> None:
    with pytest.raises(InvalidInput, match="URL of Somebody") as caught:
        Border(url, PACE, identity=IDENTITY, etiquette=etiquette)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "email", ["", "nobody", "a@b", "a b@institute.example", "you@example.org", "x@mail.example.com"]
)
def test_a_mail_address_that_nobody_reads_is_refused(email: str) -> None:
    with pytest.raises(InvalidInput, match="PROTATLAS_NCBI_EMAIL"):
        Identity.of(email, "PROTATLAS_NCBI_EMAIL")


def test_deeply_nested_json_is_not_an_answer() -> None:
    assert http.as_json(b"[" * 100_000) is None
    assert http.as_json(json.dumps({"a": 1}).encode()) == {"a": 1}
