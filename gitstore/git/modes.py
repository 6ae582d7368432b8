"""The modes of a folder's entries: https://git-scm.com/book/en/v2/Git-Internals-Git-Objects."""

FILE_MODE = 0o100644
EXECUTABLE_MODE = 0o100755
SUBMODULE_MODE = 0o160000
LINK_MODE = 0o120000
