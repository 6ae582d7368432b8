"""The problems of files as such: their names, kinds and places, with the same words in every check."""

from content.records.problem import Problem


def bad_file_name() -> Problem:
    """Return the problem of a name that is not safe in every checkout."""
    return Problem("bad_name", "Invalid file name. Rename or remove the file.")


def bad_project_name() -> Problem:
    """Return the problem of a folder with rules whose name cannot be that of a project."""
    message = "A project's name is 1 to 50 letters, digits, hyphens and underscores. Rename this folder."
    return Problem("bad_name", message)


def irregular_file() -> Problem:
    """Return the problem of a link, a device or an executable, where the kind is not known more closely."""
    return Problem("not_a_file", "Not a regular, non-executable file. Replace or remove it.")


def unread_beside() -> Problem:
    """Return the problem of an unknown file beside the projects."""
    return Problem("unknown_file", "Nothing reads this file; remove it.")


def unread_inside() -> Problem:
    """Return the problem of an unknown file in a project."""
    message = (
        "Nothing reads this file. Rename it to redirects.yaml or redirects/….yaml if it holds rules, "
        "name it in a page with `file:`, or remove it."
    )
    return Problem("unknown_file", message)


def collision_message(name_holder: str) -> str:
    """Describe the collision with an older project, and the fix."""
    return f"The project {name_holder} already exists; project names ignore case. Rename or remove one of the two."
