import re
from html.parser import HTMLParser
from importlib.resources import files

PAGE = files("protatlas.structures").joinpath("viewer.html").read_text(encoding="utf-8")


class Attributes(HTMLParser):
    """Collects every attribute of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [(tag, name, value or "") for name, value in attrs]


def attributes(page: str) -> list[tuple[str, str, str]]:
    parser = Attributes()
    parser.feed(page)
    return parser.found


def external_origins(page: str) -> list[str]:
    """Addresses of other origins anywhere in the page, and loading attributes, imports and style addresses."""
    loads = [value for _, name, value in attributes(page) if name in {"src", "href", "srcset", "action", "data"}]
    return loads + re.findall(r"(?:https?|wss?):[^\s'\"]+|@import|url\([^)]*\)|\b(?:fetch|import|Worker)\(", page)


def test_page_refers_to_no_other_origin() -> None:
    assert external_origins(PAGE) == []


def test_the_check_sees_scripts_styles_and_requests_of_other_origins() -> None:
    page = '<script src="https://cdn.example/x.js"></script><style>@import "a"; b{background:url(c)}</style>'
    assert len(external_origins(page + "<script>fetch('/d')</script>")) == 5


def test_page_needs_no_evaluation_of_text() -> None:
    assert not re.search(r"\beval\(|new Function|innerHTML|document\.write", PAGE)


def test_page_handles_every_message_of_the_host() -> None:
    for method in (
        "tool-input",
        "tool-result",
        "tool-cancelled",
        "host-context-changed",
        "initialized",
        "size-changed",
    ):
        assert f'"ui/notifications/{method}"' in PAGE
    assert '"ui/initialize"' in PAGE


def test_page_declares_its_language_and_speaks_its_state() -> None:
    found = attributes(PAGE)
    assert ("html", "lang", "en") in found
    assert ("p", "role", "status") in found
    assert any(name == "aria-label" for tag, name, _ in found if tag == "canvas")
