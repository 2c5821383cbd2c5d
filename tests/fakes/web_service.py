"""What the fakes of public services share: a web server on a real socket that can misbehave, and a clock by hand."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, NamedTuple
from urllib.parse import parse_qs, urlsplit

Manner = Literal["whole", "truncated", "dropped", "silent"]


class Clock:
    """Time that passes only when somebody sleeps; `slept` holds for how long."""

    def __init__(self, now: float = 1_764_547_200.0) -> None:  # a Monday, 00:00 UTC: a weekend evening at NCBI
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Canned(NamedTuple):
    """An answer, and how it is delivered: whole, cut in the middle, connection dropped without one, or never."""

    body: bytes = b""
    status: int = 200
    media_type: str = "text/html"
    headers: Mapping[str, str] = {}
    manner: Manner = "whole"


class Asked(NamedTuple):
    """A request that arrived: method, path, form or query, headers and time."""

    method: str
    path: str
    form: dict[str, str]
    headers: dict[str, str]
    at: float


class FakeService:
    """A service that answers by `answer`, after the answers in `next` have been given; `asked` holds all requests."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.asked: list[Asked] = []
        self.next: deque[Canned] = deque()
        self.stopped = threading.Event()

    def take(self, asked: Asked) -> Canned:
        """Answer to a request: one that was prepared, or the usual one."""
        self.asked.append(asked)
        usual = self.answer(asked)
        return self.next.popleft() if self.next else usual

    def answer(self, asked: Asked) -> Canned:
        """The usual answer."""
        raise NotImplementedError


class Web(FakeService):
    """A service whose usual answer is a function of the request."""

    def __init__(self, clock: Clock, usual: Callable[[Asked], Canned]) -> None:
        super().__init__(clock)
        self._usual = usual

    def answer(self, asked: Asked) -> Canned:
        return self._usual(asked)


def _handler(service: FakeService) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._deliver(service.take(self._asked(urlsplit(self.path).query)))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            self._deliver(service.take(self._asked(body.decode())))

        def _asked(self, form: str) -> Asked:
            pairs = {name: values[0] for name, values in parse_qs(form, keep_blank_values=True).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            return Asked(self.command, urlsplit(self.path).path, pairs, headers, service.clock())

        def _deliver(self, canned: Canned) -> None:
            if canned.manner == "silent":
                service.stopped.wait(timeout=10)
            if canned.manner in ("silent", "dropped"):
                return
            self.send_response(canned.status)
            for name, value in {"Content-Type": canned.media_type, **canned.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(canned.body)))
            self.end_headers()
            end = len(canned.body) // 2 if canned.manner == "truncated" else len(canned.body)
            self.wfile.write(canned.body[:end])

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler


@contextmanager
def running(service: FakeService) -> Iterator[str]:
    """Address of a service while it runs in threads of this process."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(service))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        service.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
