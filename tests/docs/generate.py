"""The generated parts of the documents, and the command that writes them: `python -m tests.docs.generate`, or `make docs`.

A part is between two marks in a page, `begin NAME` and `end NAME`; the rest of the page is written by hand.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import schemas
from schemas.contract import QUERY_NAMES
from tests.docs.blocks import documents
from tests.docs.house import ROOTS, Imports, Package, imports_between, list_packages, order, reduce
from tests.docs.markdown import fill, flowchart, part_names, table
from tests.docs.store_api import Type, list_components, list_methods, list_types
from tests.service import ROOT

DRAWN = ("cli", "api", "gitstore", "content")
"""The packages whose sub-packages are drawn."""


def changed_files() -> Iterator[tuple[Path, str]]:
    """Yield the pages and the generated files that differ from the code, with their text as it should be."""
    for path, write in FILES.items():
        after = write()
        if not path.exists() or path.read_text("utf-8") != after:
            yield path, after
    for path in documents():
        before = path.read_text("utf-8")
        after = fill(before, write_part)
        if after != before:
            yield path, after


def write_part(name: str) -> str:
    """Write the part with this name; raises KeyError for an unknown one."""
    return PARTS[name]()


def pages() -> dict[Path, list[str]]:
    """Return the pages with generated parts, and the names of these."""
    found = {path: part_names(path.read_text("utf-8")) for path in documents()}
    return {path: names for path, names in found.items() if names}


@cache
def _packages() -> dict[str, Package]:
    return {package.name: package for package in list_packages()}


def _draw_roots() -> str:
    return _draw(imports_between(ROOTS))


def _draw_sub_packages(root: str) -> str:
    imports = imports_between([name for name in _packages() if name.rpartition(".")[0] == root])
    rows = [
        (_link(_packages()[name]), _packages()[name].summary, ", ".join(_sort(imports, found)))
        for name, found in ((name, imports[name]) for name in order(imports))
    ]
    return f"{_draw(imports)}\n\n{table(('sub-package', 'responsibility', 'imports'), rows)}"


def _link(package: Package) -> str:
    return f"[`{package.folder}`](../reference/modules.md#{package.folder.replace('/', '')})"


def _draw(imports: Imports) -> str:
    return flowchart(map(_last, order(imports)), ((_last(name), _last(found)) for name, found in reduce(imports)))


def _sort(imports: Imports, names: set[str]) -> list[str]:
    return [_last(name) for name in order(imports) if name in names]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _list_modules() -> str:
    return "\n\n".join(_list_package(package) for package in _packages().values())


def _list_package(package: Package) -> str:
    level = "#" * (2 + package.name.count("."))
    head = f"{level} `{package.folder}`\n\n{package.summary}"
    rows = [(f"`{Path(module.path).name}`", module.summary) for module in package.modules]
    return f"{head}\n\n{table(('module', 'responsibility'), rows)}" if rows else head


def _list_methods() -> str:
    sections = []
    for name, component in list_components().items():
        summary = (component.__doc__ or "").partition("\n")[0]
        lines = [f"{method.signature}\n    {method.summary}" for method in list_methods(component)]
        sections.append(f"### `store.{name}`\n\n{summary}\n\n```text\n{chr(10).join(lines)}\n```")
    return "\n\n".join(sections)


def _list_types() -> str:
    return table(("import from", "type", "meaning"), map(_type_row, list_types()))


def _type_row(each: Type) -> tuple[str, str, str]:
    return f"`{each.module}`", f"`{each.definition}`", each.summary


PARTS: dict[str, Callable[[], str]] = {
    "packages": _draw_roots,
    **{f"sub-packages of {name}": partial(_draw_sub_packages, name) for name in DRAWN},
    "modules": _list_modules,
    "methods": _list_methods,
    "types": _list_types,
}


def _write_query_names() -> str:
    names = {f"{each.method} {each.path}": each.query for each in schemas.operations()}
    return json.dumps(names, indent=2) + "\n"


FILES = {ROOT / "schemas" / QUERY_NAMES: _write_query_names}
"""The files that are generated as a whole."""


def main() -> None:
    """Write and list the pages and files that differ from the code; with `--check` only list them, and exit with 1 if there is any."""
    is_check = sys.argv[1:] == ["--check"]
    names = []
    for path, text in changed_files():
        names.append(path.relative_to(ROOT).as_posix())
        if not is_check:
            path.write_text(text, "utf-8")
    sys.stdout.write(
        "".join(f"{name}: {'differs from the code; run make docs' if is_check else 'written'}\n" for name in names)
    )
    sys.exit(1 if names and is_check else 0)


if __name__ == "__main__":
    main()
