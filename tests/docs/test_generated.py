"""The generated parts of the documents are those of the code, and the generator sees all of it."""

import inspect
from collections import Counter
from pathlib import Path

import pytest

from gitstore.store.access import Component
from tests.docs.blocks import blocks, codes, documents, rows
from tests.docs.generate import DRAWN, FILES, PARTS, pages, write_part
from tests.docs.house import ImportCycle, import_graph, imports_between, list_packages, order, reduce
from tests.docs.markdown import fill, flowchart, mark, table
from tests.docs.store_api import list_components, list_methods, list_types
from tests.service import ROOT

PAGES = pages()
ARCHITECTURE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
IN_THE_WHEEL = {"waypost/_packages", "waypost/_packages/"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_as_make_docs_writes_it(path: Path) -> None:
    text = path.read_text("utf-8")
    assert fill(text, write_part) == text, f"run `make docs`: {path.name} differs from the code"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_as_make_docs_writes_it(path: Path) -> None:
    assert path.read_text("utf-8") == FILES[path](), f"run `make docs`: {path.name} differs from its source"


def test_every_part_is_on_one_page() -> None:
    assert Counter(name for names in PAGES.values() for name in names) == Counter(list(PARTS))


def test_an_unknown_part_is_an_error() -> None:
    with pytest.raises(KeyError):
        fill(mark("roof", "tiles"), write_part)


def test_only_the_marked_part_of_a_page_is_replaced() -> None:
    text = f"before\n{mark('roof', 'tiles')}\nbetween\n{mark('cellar', 'coal')}\nafter\n"
    filled = fill(text, {"roof": "slate", "cellar": "coal"}.__getitem__)
    assert filled == text.replace("tiles", "slate")


def test_every_module_is_listed() -> None:
    listed = {module.path for package in list_packages() for module in package.modules}
    listed |= {f"{package.folder}__init__.py" for package in list_packages()}
    found = {f"{name.replace('.', '/')}.py" for name in import_graph().modules}
    assert {path.replace("/__init__.py", ".py") for path in listed} == found


def test_every_module_has_a_responsibility() -> None:
    summaries = [package.summary for package in list_packages()]
    summaries += [module.summary for package in list_packages() for module in package.modules]
    assert [text for text in summaries if not text.endswith(".")] == []


def test_an_import_of_a_module_counts_for_its_packages() -> None:
    imports = imports_between(["gitstore.publish", "gitstore.merge", "gitstore.errors"])
    assert imports["gitstore.publish"] == {"gitstore.merge", "gitstore.errors"}
    assert imports["gitstore.errors"] == set()


def test_an_importer_is_above_its_imports_whatever_its_name() -> None:
    assert order({"a": {"b"}, "b": set(), "c": {"a"}}) == ["c", "a", "b"]


def test_a_picture_with_an_import_upwards_is_refused() -> None:
    with pytest.raises(ImportCycle, match="a, b"):
        order({"a": {"b"}, "b": {"c", "a"}, "c": set()})


def test_only_imports_that_follow_from_others_are_left_out() -> None:
    imports = {"a": {"b", "c", "d"}, "b": {"d"}, "c": {"d"}, "d": set(), "e": {"d"}}
    assert reduce(imports) == [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("e", "d")]


def test_a_picture_has_arrows_and_nodes_without_any() -> None:
    picture = "```mermaid\nflowchart TD\n    c\n    a --> b\n```"
    assert flowchart(["a", "b", "c"], [("a", "b")]) == picture


def test_a_bar_does_not_end_a_cell() -> None:
    assert rows(table(("type", "meaning"), [("`int | None`", "")])) == [["type", "meaning"], ["`int \\| None`", ""]]


@pytest.mark.parametrize("component", list_components().values(), ids=lambda component: component.__name__)
def test_every_public_method_of_a_component_is_listed_as_python_calls_it(component: type[Component]) -> None:
    listed = {method.signature.partition("(")[0]: method.signature for method in list_methods(component)}
    public = {name for name in dir(component) if not name.startswith("_")}
    assert set(listed) == public
    for name, signature in listed.items():
        parameters = list(inspect.signature(getattr(component, name)).parameters.values())[1:]
        assert [each.name for each in parameters if f"{each.name}: " not in signature] == []
        assert signature.count(" = ") == sum(each.default is not inspect.Parameter.empty for each in parameters)


def test_every_method_has_a_summary() -> None:
    methods = [method for component in list_components().values() for method in list_methods(component)]
    assert len(methods) > 40
    assert [method.signature for method in methods if not method.summary.endswith(".")] == []


@pytest.mark.parametrize(
    "definition",
    [
        "PublishRequest(name, publisher, head='', message='', override='', ids=frozenset(), may_change_policy=False)",
        "Edit = Put | Patch | Delete",
        "Delete(kind, id, etag='')",
        "Kind: REDIRECTS, PAGES",
        "Matcher",
        "CommitId = NewType('CommitId', str)",
    ],
)
def test_a_type_of_a_signature_is_listed_with_its_form(definition: str) -> None:
    """`Delete` is in no signature, but in the definition of `Edit`."""
    assert definition in [each.definition for each in list_types()]


def test_the_table_of_behaviours_names_modules() -> None:
    table_of_behaviours = ARCHITECTURE.partition("## Where to find a behaviour")[2].partition("\n## ")[0]
    named = [path for row in rows(table_of_behaviours)[1:] for path in codes(row[1])]
    assert len(named) > 50
    assert [path for path in named if not (ROOT / path).is_file()] == []


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_path_of_the_project_in_a_document_is_there(path: Path) -> None:
    folders = tuple(f"{each.name}/" for each in ROOT.iterdir() if (each / "__init__.py").exists())
    named = {name for name in codes(path.read_text("utf-8")) if name.startswith(folders) and " " not in name}
    assert [name for name in sorted(named - IN_THE_WHEEL) if not (ROOT / name).exists()] == []


def test_the_architecture_has_a_picture_of_each_package_that_is_divided() -> None:
    pictures = [block.text for block in blocks(ARCHITECTURE) if block.words == ("mermaid",)]
    assert len(pictures) == 1 + len(DRAWN)
    assert [text for text in pictures if "-->" not in text] == []
