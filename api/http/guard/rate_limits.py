"""Rate limits: how many calls of each quota one caller, and one address, may make in a minute.

The headers `RateLimit` and `RateLimit-Policy` are those of
https://www.ietf.org/archive/id/draft-ietf-httpapi-ratelimit-headers-10.html. Reports of
agents are never limited, and reads only if the operator sets a limit on all reads.
"""

import math
import time
from collections.abc import Callable, Mapping

from falcon.asgi import Request, Response

from api.auth.logins.throttle import address_block
from api.db.accounts.attempts import Rate
from api.errors import ApiError
from api.http.guard.access import Quota
from api.interfaces import Principal
from api.runtime.rate_counters import Outcome, RateCounters
from api.settings import Settings

WINDOW = 60.0  # seconds
ADDRESS_SHARE = 4  # an address may make as many calls as this number of callers: an office has one address

_CALLS = {
    Quota.WRITES: "writes",
    Quota.HEAVY: "calls that read a whole project (test, lint, diff, import, export)",
    Quota.READS: "reads",
    Quota.FAILURES: "requests without a valid token",
}


class RateLimits:
    """The rate limits of a service; 0 calls a minute means no limit."""

    def __init__(self, settings: Settings, counters: RateCounters, clock: Callable[[], float] = time.time) -> None:
        self._per_minute: Mapping[Quota, int] = {
            Quota.WRITES: settings.writes_per_minute,
            Quota.HEAVY: settings.heavy_calls_per_minute,
            Quota.READS: settings.reads_per_minute,
            Quota.FAILURES: settings.invalid_tokens_per_minute,
        }
        self._counters = counters
        self._clock = clock

    def charge(self, req: Request, resp: Response, quota: Quota, principal: Principal | None) -> None:
        """Charge a call to its caller and address, and show what is left in the headers; 429 if nothing is."""
        most = self._per_minute.get(quota, 0)
        if not most or (principal is None and quota is Quota.READS):
            return
        rates: dict[str, Rate] = {}
        if principal is not None:
            rates[f"{quota} {principal.email}"] = Rate(most, WINDOW)
        if req.remote_addr:
            each = most if quota is Quota.FAILURES else most * ADDRESS_SHARE
            rates[f"{quota} address {address_block(req.remote_addr)}"] = Rate(each, WINDOW)
        if rates:
            self._take(resp, quota, most, rates)

    def _take(self, resp: Response, quota: Quota, most: int, rates: Mapping[str, Rate]) -> None:
        outcome = self._counters.take(rates, self._clock())
        headers = _headers(quota, most, outcome)
        if outcome.wait:
            seconds = max(1, math.ceil(outcome.wait))
            message = f"Too many {_CALLS[quota]}: {most:,} a minute are allowed. Try again in {seconds} s."
            raise ApiError(429, "too_many_requests", message, headers={**headers, "Retry-After": str(seconds)})
        if quota is not Quota.FAILURES:
            resp.set_headers(headers)


def _headers(quota: Quota, most: int, outcome: Outcome) -> dict[str, str]:
    left = min(outcome.left, most)
    return {
        "RateLimit-Policy": f'"{quota}";q={most};w={int(WINDOW)}',
        "RateLimit": f'"{quota}";r={left};t={max(1, math.ceil(outcome.wait or outcome.seconds_until_full))}',
    }
