"""Files of fonts say when they were made; a library doubts that, and nobody needs to know."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet_fonts"]

#: The logger of fontTools that doubts the times in old files of fonts, such as Computer Modern.
_OF_TIMES = "fontTools.ttLib.tables._h_e_a_d"


@contextmanager
def quiet_fonts() -> Iterator[None]:
    """Write a figure without doubts about the times in its fonts."""
    logger = logging.getLogger(_OF_TIMES)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
