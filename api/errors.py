"""Why a request is refused, and the one JSON shape that every refusal has."""

from collections.abc import Mapping, Sequence

from content.problem import Problem


class ApiError(Exception):
    """One answer other than success: HTTP status, stable code, a sentence, problems, headers."""

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

    def beside(self, **details: object) -> "ApiError":
        """The same answer with further fields beside `error` and `message`, such as the conflicts of a publish."""
        self.details.update(details)
        return self

    def wire(self) -> dict[str, object]:
        """The JSON body: `error`, `message`, and `problems` or other fields where there are any."""
        problems = {"problems": [problem.wire() for problem in self.problems]} if self.problems else {}
        return {"error": self.code, "message": self.message, **problems, **self.details}


class Unauthenticated(ApiError):
    """There is no token, or none that holds: 401. The message never says which part of a token is wrong."""

    def __init__(self, message: str = "The token is not valid, or not any more.", code: str = "invalid_token") -> None:
        challenge = f'Bearer realm="waypost", error="{code}"' if code == "invalid_token" else 'Bearer realm="waypost"'
        super().__init__(401, code, message, headers={"WWW-Authenticate": challenge})


class Forbidden(ApiError):
    """The caller is known and may not do this: 403, in the same words whether or not the thing exists."""

    def __init__(self, message: str = "Your permissions do not cover this.", code: str = "forbidden") -> None:
        super().__init__(403, code, message)


class Unavailable(ApiError):
    """Something this needs is away for the moment: 503; `retry_after` in seconds."""

    def __init__(self, message: str, code: str = "unavailable", retry_after: int = 1) -> None:
        super().__init__(503, code, message, headers={"Retry-After": str(retry_after)})


def not_found(message: str) -> ApiError:
    """404: what was named does not exist."""
    return ApiError(404, "not_found", message)


def bad_request(message: str, code: str = "bad_request") -> ApiError:
    """400: the question itself is malformed."""
    return ApiError(400, code, message)


def invalid(message: str, problems: Sequence[Problem], code: str = "invalid_body") -> ApiError:
    """422: the question is well-formed and its content is wrong, as the problems say."""
    return ApiError(422, code, message, problems)
