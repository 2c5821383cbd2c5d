"""The errors of protatlas: one root, one child for each stable code of the contract.

An error takes values and builds its own sentence: what was wrong, what was expected, what to do next. `fields` are the
values that travel beside `code` and `message` in the answer of a tool.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

Field = str | int | float | bool | None


class ProtatlasError(Exception):
    """Root of the errors that a caller may see.

    Attributes
    ----------
    code : str
        One of the ten stable codes of the contract.
    retryable : bool
        Whether the same call may succeed later, unchanged.
    fields : dict
        Values that the error object carries besides its code and message.
    """

    code: ClassVar[str] = "internal_error"
    retryable: bool = False

    def __init__(self, message: str, **fields: Field) -> None:
        super().__init__(message)
        self.message = message
        self.fields: dict[str, Field] = fields

    def answer(self) -> dict[str, Field]:
        """Error object of the contract: `code`, `message`, `retryable` and the fields of this error."""
        return {"code": self.code, "message": self.message, "retryable": self.retryable, **self.fields}


class InvalidInput(ProtatlasError, ValueError):
    """An argument is malformed or out of its schema."""

    code = "invalid_input"

    def __init__(self, argument: str, found: str, expected: str, **fields: Field) -> None:
        super().__init__(f"`{argument}`: {found}. Expected {expected}.", argument=argument, **fields)


class InvalidArguments(InvalidInput):
    """Several arguments of one call are wrong: a sentence for each, and the fields of the first."""

    MOST = 6
    """Problems that are written out; more would bury the first ones."""

    def __init__(self, problems: Sequence[InvalidInput]) -> None:
        left = len(problems) - self.MOST
        sentences = [problem.message for problem in problems[: self.MOST]]
        more = [f"And {left} more."] if left > 0 else []
        ProtatlasError.__init__(self, " ".join(sentences + more), **problems[0].fields)


class HighlightMismatch(ProtatlasError, ValueError):
    """A highlight names another residue than the structure has; the sentence is fixed by the contract."""

    code = "invalid_input"

    def __init__(
        self, *, chain_id: str, residue_number: int, expected: str, found: str, hint: str | None = None
    ) -> None:
        super().__init__(
            "A highlighted residue identity does not match the structure.",
            chain_id=chain_id,
            author_residue_number=residue_number,
            expected_residue=expected,
            found_residue=found,
            hint=hint,
        )


class NotFound(ProtatlasError, LookupError):
    """No record or cluster has that identifier."""

    code = "not_found"

    def __init__(self, kind: str, identifier: str, where: str, next_step: str) -> None:
        super().__init__(f"No {kind} for {identifier} in {where}. {next_step}")


class Restricted(ProtatlasError):
    """The atlas or the service withholds this record."""

    code = "restricted"

    def __init__(self, what: str, who: str) -> None:
        super().__init__(f"{who} restricts {what}. Ask for another record.")


class RateLimited(ProtatlasError):
    """Too many requests."""

    code = "rate_limited"
    retryable = True

    def __init__(self, who: str, retry_after_s: float) -> None:
        super().__init__(
            f"{who} takes no more requests now. Try again in {retry_after_s:g} s.", retry_after_s=retry_after_s
        )


class DependencyUnavailable(ProtatlasError):
    """A service, program or package that the answer needs is not there."""

    code = "dependency_unavailable"

    def __init__(self, missing: str, next_step: str, **fields: Field) -> None:
        super().__init__(f"{missing} is not available. {next_step}", **fields)


class Indeterminate(ProtatlasError):
    """Whether a computation was done is unknown."""

    code = "indeterminate"

    def __init__(self, what: str, next_step: str, **fields: Field) -> None:
        super().__init__(f"The outcome of {what} is unknown. {next_step}", **fields)


class SequenceTooLongToFold(ProtatlasError, ValueError):
    """A sequence without a stored structure is longer than the folding limit."""

    code = "sequence_too_long_to_fold"

    def __init__(self, *, actual_length: int, max_length: int) -> None:
        super().__init__(
            f"The sequence has {actual_length} residues and no stored structure; a fold takes at most {max_length}. "
            "Pass one domain of it.",
            actual_length=actual_length,
            max_length=max_length,
        )


class SequenceTooLongForFeatures(ProtatlasError, ValueError):
    """A sequence that the atlas does not hold is longer than the limit of the feature engine."""

    code = "sequence_too_long_for_features"

    def __init__(self, *, actual_length: int, max_length: int) -> None:
        super().__init__(
            f"The sequence has {actual_length} residues and is not in this atlas; features are computed up to "
            f"{max_length}. Pass one domain of it.",
            actual_length=actual_length,
            max_length=max_length,
        )


class ResourceTooLarge(ProtatlasError):
    """The complete answer is over the response limit."""

    code = "resource_too_large"

    def __init__(self, what: str, *, actual_bytes: int, max_bytes: int, next_step: str) -> None:
        super().__init__(
            f"{what} has {actual_bytes} bytes; an answer takes at most {max_bytes}. {next_step}",
            actual_bytes=actual_bytes,
            max_bytes=max_bytes,
        )


class InternalError(ProtatlasError):
    """A defect of protatlas; its text never travels to a client."""

    code = "internal_error"

    def __init__(self) -> None:
        super().__init__("Something failed inside the server. The server's log has the details.")


class AtlasDamaged(ProtatlasError, OSError):
    """An atlas directory cannot be opened."""

    code = "dependency_unavailable"

    def __init__(self, path: str, problem: str, next_step: str) -> None:
        super().__init__(f"The atlas at {path} cannot be opened: {problem}. {next_step}")


def kept_error(answer: Mapping[str, Field]) -> ProtatlasError:
    """The error whose object was written down, as far as a caller sees it: same code, sentence and fields."""
    fields = dict(answer)
    code, message, retryable = (fields.pop(name) for name in ("code", "message", "retryable"))
    kind = next((kind for kind in ProtatlasError.__subclasses__() if vars(kind).get("code") == code), InternalError)
    error = kind.__new__(kind)
    ProtatlasError.__init__(error, str(message), **fields)
    error.retryable = bool(retryable)
    return error
