"""The spaces of an env: plain text in, a dict of text and counts out.

Gymnasium's own ``Text`` looks at each character against a character set, in ``contains`` and in its
shared memory; here any text is valid, so only its type and length need a look.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.sharedctypes import SynchronizedArray
from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium.spaces.utils import flatten, unflatten
from gymnasium.vector.utils.shared_memory import read_from_shared_memory, write_to_shared_memory
from numpy.typing import NDArray

from codegym.envs.actions import MAX_ACTION_CHARS
from codegym.envs.kinds import MAX_INSTRUCTION_CHARS
from codegym.types import Observation

#: Counts of tests are capped here, so that the space is finite.
MAX_TESTS = 1_000_000
_SAMPLE_CHARS = 64
_END = 0x110000  # one past the last code point: pads text in fixed-size arrays


class Text(gym.spaces.Text):
    """Any Unicode text of at most ``max_length`` characters.

    ``contains`` checks type and length only. ``sample`` draws short printable ASCII.

    Args:
        max_length: Upper bound of the length, in characters, inclusive.
        min_length: Lower bound, inclusive.
        seed: Seed of ``sample``.
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 0,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(max_length, min_length=min_length, charset=" ", seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is text of a length within the bounds."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str:
        """Draw printable ASCII text; of up to 64 characters where the bounds permit.

        Args:
            mask: ``(length, None)`` to fix the length. There is no character set to mask.
            probability: Likewise.
        """
        chosen = mask if mask is not None else probability
        length, characters = chosen if chosen is not None else (None, None)
        if characters is not None:
            raise ValueError("this space has no character set to mask; pass (length, None)")
        if length is None:
            longest = min(self.max_length, max(self.min_length, _SAMPLE_CHARS))
            length = int(self.np_random.integers(self.min_length, longest + 1))
        if not self.min_length <= length <= self.max_length:
            raise ValueError(f"length {length} is not in [{self.min_length}, {self.max_length}]")
        return self.np_random.integers(32, 127, size=length, dtype=np.uint8).tobytes().decode()

    def __repr__(self) -> str:
        """Bounds, as the constructor takes them."""
        return f"Text({self.max_length}, min_length={self.min_length})"

    def __eq__(self, other: object, /) -> bool:
        """Whether ``other`` holds the same texts."""
        return (
            isinstance(other, Text)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )

    __hash__ = None  # type: ignore[assignment]  # as for every space: it holds a random state


@flatten.register(Text)
def _flatten(space: Text, x: str) -> NDArray[np.int32]:  # type: ignore[misc]  # as Gymnasium's
    """Code points, padded to the greatest length."""
    array = np.full(space.max_length, _END, dtype=np.int32)
    points = np.frombuffer(x.encode("utf-32-le", errors="surrogatepass"), dtype="<i4")
    array[: len(points)] = points
    return array


@unflatten.register(Text)
def _unflatten(space: Text, x: NDArray[np.int32]) -> str:  # type: ignore[misc]  # noqa: ARG001
    points = np.asarray(x, dtype="<i4")
    return points[points < _END].tobytes().decode("utf-32-le", errors="surrogatepass")


@write_to_shared_memory.register(Text)
def _write(space: Text, index: int, values: str, shared_memory: SynchronizedArray[Any]) -> None:
    _rows(space, shared_memory)[index] = _flatten(space, values)


@read_from_shared_memory.register(Text)
def _read(space: Text, shared_memory: SynchronizedArray[Any], n: int = 1) -> Sequence[str]:
    return _Shared(space, _rows(space, shared_memory)[:n])


class _Shared(Sequence[str]):
    """Texts in shared memory, as they are now; a deep copy is a tuple of how they are then.

    ``AsyncVectorEnv`` reads its shared memory once, when it is made, and returns deep copies of
    that: right for arrays, which are views, but text read then would stay empty for ever.
    """

    def __init__(self, space: Text, rows: NDArray[np.int32]) -> None:
        self._space, self._rows = space, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        row = self._rows[index]
        if isinstance(index, slice):
            return tuple(_Shared(self._space, row))
        # Memory that was never written is all zero: the empty text, not NUL characters.
        return _unflatten(self._space, row) if row.any() else ""

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


def _rows(space: Text, shared_memory: SynchronizedArray[Any]) -> NDArray[np.int32]:
    flat = np.frombuffer(shared_memory.get_obj(), dtype=np.int32)  # type: ignore[call-overload]
    return flat.reshape(-1, space.max_length)  # type: ignore[no-any-return]


def action_space() -> Text:
    """One string: a JSON tool call."""
    return Text(MAX_ACTION_CHARS)


def observation_space(max_steps: int, max_output_chars: int) -> gym.spaces.Dict:
    """What ``Observation`` holds, as a ``Dict`` space."""
    return gym.spaces.Dict(
        {
            "instruction": Text(MAX_INSTRUCTION_CHARS),
            "output": Text(max_output_chars),
            "steps_left": gym.spaces.Discrete(max_steps + 1),
            "last_exit_code": gym.spaces.Discrete(257, start=-1),
            "failing": gym.spaces.Discrete(MAX_TESTS + 2, start=-1),
            "passing": gym.spaces.Discrete(MAX_TESTS + 2, start=-1),
        }
    )


def to_dict(observation: Observation) -> dict[str, Any]:
    """An observation as an element of ``observation_space``; a new dict each time."""
    return {
        "instruction": observation.instruction,
        "output": observation.output,
        "steps_left": observation.steps_left,
        "last_exit_code": observation.last_exit_code,
        "failing": min(observation.failing, MAX_TESTS),
        "passing": min(observation.passing, MAX_TESTS),
    }
