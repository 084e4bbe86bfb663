"""A mutation operator: takes the smallest where the largest was meant, and the other way round."""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from tree_sitter import Node

from codegym.syntax import Edit

OTHER = {b"min": b"max", b"max": b"min"}


class MinMax:
    """Sees every node of a file; answers with the edits that it could make there."""

    id = "frugal.min_max"
    version = "1"
    languages: ClassVar[tuple[str, ...]] = ("python",)
    tier = 2

    def __call__(self, node: Node, source: bytes, rng: np.random.Generator) -> Iterable[Edit]:
        """Change the name of the function in a call of ``min`` or ``max``."""
        if node.type != "call":
            return
        function = node.child_by_field_name("function")
        if function is not None and function.type == "identifier":
            name = source[function.start_byte : function.end_byte]
            if name in OTHER:
                yield Edit(function.start_byte, function.end_byte, OTHER[name])
