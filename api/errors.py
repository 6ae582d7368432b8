"""API errors: exceptions with an HTTP status and an error code, and the JSON body that they share."""

from collections.abc import Mapping, Sequence

from content.records.problem import Problem


class ApiError(Exception):
    """An error response: HTTP status, stable code, message, problems and headers."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        problems: Sequence[Problem] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.problems = tuple(problems)
        self.headers = dict(headers or {})
        self.details: dict[str, object] = {}
        self.recorded = status  # for the audit trail: to a caller without a grant, a 404 hides what exists
        self.account = ""  # the existing account whose login failed: for the audit trail, never for the response

    def with_details(self, **details: object) -> "ApiError":
        """Add fields beside `error` and `message`, such as the conflicts of a publish; return the error itself."""
        self.details.update(details)
        return self

    def wire(self) -> dict[str, object]:
        """Return the JSON body: `error`, `message`, and `problems` or other fields if there are any."""
        problems = {"problems": [problem.wire() for problem in self.problems]} if self.problems else {}
        return {"error": self.code, "message": self.message, **problems, **self.details}


class TooManyAttempts(ApiError):
    """429: too many failed logins; the next attempt is possible after some seconds."""

    def __init__(self, message: str, seconds: int) -> None:
        code = "too_many_attempts"
        super().__init__(429, code, message, headers={"Retry-After": str(seconds)})
        self.seconds = seconds


class Unauthenticated(ApiError):
    """401: the token is missing, invalid or expired. The message never says which part of a token is invalid."""

    def __init__(self, message: str = "The token is invalid or expired.", code: str = "invalid_token") -> None:
        challenge = f'Bearer realm="waypost", error="{code}"' if code == "invalid_token" else 'Bearer realm="waypost"'
        super().__init__(401, code, message, headers={"WWW-Authenticate": challenge})


class ExpiredToken(Unauthenticated):
    """401: the value of an API token is right, so its holder may know that it has expired."""

    def __init__(self, expired_at: str, *, is_replaced: bool = False) -> None:
        expired = f"This API token expired on {expired_at}. Create a new one."
        ended = f"This value of an API token ended on {expired_at}, after its rotation. Use the present value."
        super().__init__(ended if is_replaced else expired)


class UnknownSession(Unauthenticated):
    """401: the session of an access token is not in memory; the database may have it."""

    def __init__(self, session: str) -> None:
        super().__init__()
        self.session = session


class Forbidden(ApiError):
    """403: the caller lacks a permission. The message is the same whether or not the resource exists."""

    def __init__(self, message: str = "Your permissions do not cover this.", code: str = "forbidden") -> None:
        super().__init__(403, code, message)


class Unavailable(ApiError):
    """503: a dependency is temporarily unavailable; `retry_after` in seconds."""

    def __init__(self, message: str, code: str = "unavailable", retry_after: int = 1) -> None:
        super().__init__(503, code, message, headers={"Retry-After": str(retry_after)})


def not_found(message: str) -> ApiError:
    """Create a 404 error: the resource does not exist."""
    return ApiError(404, "not_found", message)


def bad_request(message: str, code: str = "bad_request") -> ApiError:
    """Create a 400 error: the request is malformed."""
    return ApiError(400, code, message)


def invalid(message: str, problems: Sequence[Problem], code: str = "invalid_body") -> ApiError:
    """Create a 422 error: the request is well-formed, but its content is invalid; `problems` lists the details."""
    return ApiError(422, code, message, problems)
