"""A sequence whose items are built each time when they are read, so that none of them takes memory in between."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T = TypeVar("T")


class ComputedSequence(Sequence[T]):
    """The base of such sequences: they have a length, and build one item."""

    @abstractmethod
    def build(self, index: int) -> T:
        """Build the item at an index; raises IndexError beyond the last one."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        if isinstance(index, slice):
            return [self.build(each) for each in range(*index.indices(len(self)))]
        return self.build(range(len(self))[index])
