"""The verdicts on a push: each change of a ref is accepted, or refused with its problems and the way on.

Begin with `judge_push`. Nothing is written but compiled files, which are caches.
"""

from gitstore.compiled.compiler import Compiler
from gitstore.pushes.push import NoRecords, Progress, Push, PushRecords, PushRules, RefVerdict

_NO_RECORDS, _DEFAULT_RULES = NoRecords(), PushRules()


def judge_push(
    compiler: Compiler,
    push: Push,
    progress: Progress = lambda _line: None,
    records: PushRecords = _NO_RECORDS,
    rules: PushRules = _DEFAULT_RULES,
) -> tuple[RefVerdict, ...]:
    """Return the verdict on each change of a ref, in their order.

    `compiler.repository` sees the new objects. Hold the repository's lock, from before this call until the ref has
    moved, if the push moves release: then the compiled files and the manifest are complete as soon as it moves.
    """
    del compiler, progress, records, rules
    return tuple(RefVerdict(update) for update in push.updates)
