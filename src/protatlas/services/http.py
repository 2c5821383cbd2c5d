"""The border to the network: one service each, and whatever goes wrong there is an error of protatlas here.

Requests name the tool and whom to write to. A GET is repeated after a failure that may pass; a POST is sent once, and
where its fate is unknown the error is `indeterminate`. What comes back is bytes: status 200 is not yet an answer.
"""

import json
import logging
import random
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import httpx2

from protatlas import __version__
from protatlas.errors import (
    DependencyUnavailable,
    Indeterminate,
    InternalError,
    InvalidInput,
    ProtatlasError,
    RateLimited,
    ResourceTooLarge,
)
from protatlas.services.etiquette import PATIENCE_S, REFUSED, Etiquette, Pace, ServiceClosed

LOG = logging.getLogger(__name__)
TOOL = "protatlas"
MAX_BYTES = 64 * 2**20
"""Largest answer that is read, unpacked: 5,000 hits with alignments have about 20 MB."""
TIMEOUT_S = 60.0
"""For each step of an exchange: to connect, to send, to hear the next byte."""
DEADLINE_S = 300.0
"""For a whole answer: a server that sends a byte now and then does not hold a caller for ever."""
ATTEMPTS = 3
BACKOFF_S = 2.0
"""Before the second attempt, doubled before the third; a random part of as much is added."""
MAX_REDIRECTS = 3
REFUSED_PAUSE_S = 3_600.0
"""Time that a service is left alone after it refused this machine (403)."""
BUSY_PAUSE_S = 60.0
"""After 429 without a Retry-After."""
LONGEST_PAUSE_S = 86_400.0
FIRST_CHARACTERS = 200
"""Of an answer that is none: as much goes to the log, and none of it to the caller."""
OK, BAD_REQUEST, TOO_LARGE, TOO_MANY, UNAVAILABLE = 200, 400, 413, 429, 503
MAY_PASS = (500, 502, 503, 504)
REDIRECTS = (301, 302, 303, 307, 308)
EMAIL = re.compile(r"[^@\s<>\"',;]+@[^@\s<>\"',;]+\.[A-Za-z]{2,}")
PLACEHOLDER = re.compile(r"@(?:.+\.)?example\.(?:com|org|net)\Z", re.IGNORECASE)
"""Domains of documentation (RFC 2606): mail to them reaches nobody."""
HOST_NAME = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+")
LOOPBACK = ("127.0.0.1", "::1", "localhost")

NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
    httpx2.InvalidURL,
)
"""What the HTTP library raises before the request has left."""
SENT = (
    httpx2.ReadError,
    httpx2.ReadTimeout,
    httpx2.WriteError,
    httpx2.WriteTimeout,
    httpx2.CloseError,
    httpx2.RemoteProtocolError,
    httpx2.DecodingError,
    httpx2.TooManyRedirects,
    httpx2.SSEError,
)
"""What it raises when the request, or a part of it, may have arrived."""
FAMILIES = (
    httpx2.HTTPError,
    httpx2.RequestError,
    httpx2.TransportError,
    httpx2.TimeoutException,
    httpx2.NetworkError,
    httpx2.ProtocolError,
)
"""Classes that the ones above derive from; a new child of them is taken for one that was sent."""
DEFECTS = (
    httpx2.StreamError,
    httpx2.StreamClosed,
    httpx2.StreamConsumed,
    httpx2.ResponseNotRead,
    httpx2.RequestNotRead,
    httpx2.CookieConflict,
    httpx2.HTTPStatusError,
)
"""What only a mistake in this module can cause."""
RAISED = (*FAMILIES, *NOT_SENT, *DEFECTS)


class Identity(NamedTuple):
    """Who asks: the mail address that the operator set, to which a service writes before it blocks."""

    email: str

    @property
    def user_agent(self) -> str:
        """Name, version and contact, as services ask for."""
        return f"{TOOL}/{__version__} ({self.email})"

    @classmethod
    def of(cls, email: str, setting: str) -> "Identity":
        """Identity with that address.

        Raises
        ------
        InvalidInput
            It is no mail address, or one of documentation; `setting` is named.
        """
        address = email.strip()
        if not EMAIL.fullmatch(address) or not address.isascii():
            raise InvalidInput(setting, "it is no mail address", "the address of who runs this server")
        if PLACEHOLDER.search(address):
            raise InvalidInput(setting, f"{address} is a placeholder", "an address that somebody reads")
        return cls(address)


class Reply(NamedTuple):
    """An answer that came whole: status, media type, body, the address asked and the moment (UTC, ISO 8601)."""

    status: int
    media_type: str
    body: bytes
    address: str
    at: str

    @property
    def text(self) -> str:
        """Body as text."""
        return self.body.decode("utf-8", errors="replace")

    @property
    def is_page(self) -> bool:
        """Whether it is a page for people, whatever the media type says."""
        start = self.body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        return start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<p>", b"<!--"))


class ServiceUnavailable(DependencyUnavailable):
    """A service does not answer as it should; the same call may succeed later."""

    retryable = True

    def __init__(self, service: str, what: str, *, retry_after_s: float | None = None) -> None:
        when = "later" if retry_after_s is None else f"in {retry_after_s:.0f} s"
        super().__init__(service, f"{what}. Try again {when}.", retry_after_s=retry_after_s)


class Border:
    """One service: its address, pace and manners.

    Parameters
    ----------
    base_url
        Address from the settings; other hosts are never asked.
    pace
        What the service asks of its callers.
    identity
        Who asks.
    etiquette
        The record of contacts that all processes share.
    timeout_s, deadline_s
        Longest silence in an exchange, and longest exchange.
    jitter
        A random number from 0 to 1.
    """

    def __init__(
        self,
        base_url: str,
        pace: Pace,
        *,
        identity: Identity,
        etiquette: Etiquette,
        timeout_s: float = TIMEOUT_S,
        deadline_s: float = DEADLINE_S,
        max_bytes: int = MAX_BYTES,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.pace = pace
        self.identity = identity
        self.etiquette = etiquette
        self._url = checked_url(base_url, pace.service)
        self.address = str(self._url)
        self.host = self._url.netloc.decode("ascii")
        self._deadline_s = deadline_s
        self._max_bytes = max_bytes
        self._jitter = jitter
        self._client = httpx2.Client(
            headers={"User-Agent": identity.user_agent, "Accept": "*/*"}, timeout=timeout_s, follow_redirects=False
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str = "", params: Mapping[str, str] | None = None) -> Reply:
        """Answer to a GET, asked up to three times while its failure may pass.

        Raises
        ------
        ServiceUnavailable, DependencyUnavailable, RateLimited, ResourceTooLarge
            There is none; the error says whether asking later may help.
        """
        for attempt in range(1, ATTEMPTS + 1):
            self.etiquette.wait_for_turn(self.pace, self.host)
            try:
                return self._get(path, params)
            except (ServiceUnavailable, RateLimited) as error:
                pause_s = float(error.fields.get("retry_after_s") or 0)
                if attempt == ATTEMPTS or pause_s > PATIENCE_S:
                    raise
                LOG.info("attempt %d of %d at %s: %s", attempt, ATTEMPTS, self.pace.service, error)
                self.etiquette.sleep(BACKOFF_S * 2 ** (attempt - 1) * (1 + self._jitter()))
        raise InternalError

    def get_once(self, path: str = "", params: Mapping[str, str] | None = None) -> Reply:
        """Answer to a GET whose turn `Etiquette.claim_poll` has taken already; it is not repeated."""
        return self._get(path, params)

    def post(self, path: str, form: Mapping[str, str]) -> Reply:
        """Answer to a POST, which is sent once.

        Raises
        ------
        Indeterminate
            Whether it arrived, or what became of it, is unknown.
        ServiceUnavailable, DependencyUnavailable, RateLimited
            It was not taken.
        """
        self.etiquette.wait_for_turn(self.pace, self.host)
        reply, headers = self._exchange("POST", self._address(path), form=form)
        if reply.status in MAY_PASS and reply.status != UNAVAILABLE:
            raise self._unknown_fate(f"answered with status {reply.status}")
        return self._accepted(reply, headers)

    def not_an_answer(self, reply: Reply, expected: str) -> ServiceUnavailable:
        """Error for an answer of another kind than expected; the first characters of it go to the log."""
        LOG.warning(
            "%s, status %d, %s, begins: %r",
            reply.address.partition("?")[0],
            reply.status,
            reply.media_type or "no media type",
            reply.text[:FIRST_CHARACTERS],
        )
        kind = "a page for people" if reply.is_page else f"{len(reply.body)} bytes of something else"
        return ServiceUnavailable(self.pace.service, f"It answered with {kind} instead of {expected}")

    def _get(self, path: str, params: Mapping[str, str] | None) -> Reply:
        address = self._address(path)
        for _ in range(MAX_REDIRECTS + 1):
            reply, headers = self._exchange("GET", address, params=params)
            if reply.status not in REDIRECTS:
                return self._accepted(reply, headers)
            address = self._redirected(address, headers.get("location", ""))
            params = None
        raise ServiceUnavailable(self.pace.service, f"It redirected more than {MAX_REDIRECTS} times")

    def _address(self, path: str) -> httpx2.URL:
        return self._url.copy_with(path=self._url.path.rstrip("/") + path) if path else self._url

    def _redirected(self, address: httpx2.URL, location: str) -> httpx2.URL:
        """Where to go on, on the same host; a query, with the mail address in it, goes to no other."""
        target = address.join(location)
        upgraded = (address.scheme, target.scheme) in (("http", "http"), ("https", "https"), ("http", "https"))
        if target.host != address.host or not upgraded:
            raise self._moved(str(target.copy_with(query=None)))
        return target

    def _moved(self, target: str) -> DependencyUnavailable:
        return DependencyUnavailable(
            self.pace.service, f"It sends its callers on to {target[:FIRST_CHARACTERS]}. If that is right, set its URL."
        )

    def _exchange(
        self,
        method: str,
        address: httpx2.URL,
        *,
        params: Mapping[str, str] | None = None,
        form: Mapping[str, str] | None = None,
    ) -> tuple[Reply, Mapping[str, str]]:
        """One request and its whole answer."""
        try:
            with self._client.stream(method, address, params=params, data=form) as response:
                body = self._read(response)
        except RAISED as error:
            raise self.mapped(error, is_repeatable=method == "GET") from error
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        at = datetime.now(UTC).isoformat(timespec="seconds")
        return Reply(response.status_code, media_type, body, str(address), at), response.headers

    def _read(self, response: httpx2.Response) -> bytes:
        """Body of an answer, while it is not too large and does not take too long."""
        body = bytearray()
        start = self.etiquette.clock()
        for part in response.iter_bytes():
            body += part
            if len(body) > self._max_bytes:
                raise ResourceTooLarge(
                    f"The answer of {self.pace.service}",
                    actual_bytes=len(body),
                    max_bytes=self._max_bytes,
                    next_step="Ask for fewer hits.",
                )
            if self.etiquette.clock() - start > self._deadline_s:
                raise httpx2.ReadTimeout(f"no end after {self._deadline_s:g} s")
        return bytes(body)

    def mapped(self, error: Exception, *, is_repeatable: bool) -> ProtatlasError:
        """Error of protatlas for one of the HTTP library."""
        LOG.info("%s: %s: %s", self.pace.service, type(error).__name__, error)
        if isinstance(error, DEFECTS):
            return InternalError()
        what = "did not answer in time" if isinstance(error, httpx2.TimeoutException) else _reason(error)
        if isinstance(error, NOT_SENT):
            return ServiceUnavailable(self.pace.service, f"It cannot be reached ({_reason(error)}); nothing was sent")
        if is_repeatable:
            return ServiceUnavailable(self.pace.service, f"It {what}")
        return self._unknown_fate(what)

    def _unknown_fate(self, what: str) -> Indeterminate:
        return Indeterminate(
            f"the request that was sent to {self.pace.service}",
            f"It {what}. It may run there; it was not sent again. Ask again only if a second run does no harm.",
        )

    def _accepted(self, reply: Reply, headers: Mapping[str, str]) -> Reply:
        """The answer, if its status is that of one; 400 is left to the client, which knows the service's words."""
        service, status = self.pace.service, reply.status
        if status in (OK, BAD_REQUEST):
            return reply
        pause_s = self._retry_after(headers)
        if status == REFUSED:
            self.etiquette.close_host(self.host, status, REFUSED_PAUSE_S)
            raise ServiceClosed(service, status, REFUSED_PAUSE_S)
        if status == TOO_MANY or (status == UNAVAILABLE and pause_s):
            pause_s = pause_s or BUSY_PAUSE_S
            self.etiquette.close_host(self.host, status, pause_s)
            raise RateLimited(service, round(pause_s, 1))
        if status in MAY_PASS:
            raise ServiceUnavailable(service, f"It answers with status {status}")
        if status in REDIRECTS:
            raise self._moved(headers.get("location", "nowhere"))
        if status == TOO_LARGE:
            raise InvalidInput("sequence", f"{service} does not take one as long", "a shorter sequence")
        raise DependencyUnavailable(service, f"It answers with status {status}. Check its URL in the settings.")

    def _retry_after(self, headers: Mapping[str, str]) -> float:
        """Seconds of the header Retry-After, which has a number or a date; 0 where it has neither."""
        value = headers.get("retry-after", "").strip()
        if value.isdecimal():
            return min(float(value), LONGEST_PAUSE_S)
        try:
            wait_s = parsedate_to_datetime(value).timestamp() - self.etiquette.clock()
        except ValueError:
            return 0.0
        return min(max(wait_s, 0.0), LONGEST_PAUSE_S)


def checked_url(url: str, service: str) -> httpx2.URL:
    """Address of a service.

    Raises
    ------
    InvalidInput
        It is none, has a password, or would carry sequences unencrypted over a network.
    """
    try:
        parsed = httpx2.URL(url.strip())
    except httpx2.InvalidURL as error:
        raise InvalidInput(f"URL of {service}", str(error), "https://HOST/PATH") from error
    is_safe = parsed.scheme == "https" or (parsed.scheme == "http" and parsed.host in LOOPBACK)
    if not is_safe or not HOST_NAME.fullmatch(parsed.host) or parsed.userinfo or parsed.query or parsed.fragment:
        raise InvalidInput(f"URL of {service}", "not an https address without password and query", "https://HOST/PATH")
    return parsed


def as_json(body: bytes) -> Any:
    """Value of a JSON text; None where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reason(error: Exception) -> str:
    """What happened, in words of this project: texts of the library name addresses and files."""
    words: dict[type[Exception], str] = {
        httpx2.ConnectError: "no connection",
        httpx2.ConnectTimeout: "no connection in time",
        httpx2.PoolTimeout: "too many connections",
        httpx2.ProxyError: "the proxy failed",
        httpx2.RemoteProtocolError: "broke off in the middle of its answer",
        httpx2.DecodingError: "sent a body that does not unpack",
    }
    return words.get(type(error), "broke the connection")
