# SPDX-License-Identifier: GPL-2.0-only
"""What a node tells of itself"""
import contextlib

from worker import LOST


class Asked:
    """For a class with ask(path), which returns the node's answer"""

    def is_up(self):
        with contextlib.suppress(*LOST):
            return bool(self.ask("/health").status)
        return False

    def is_settled(self):
        with contextlib.suppress(*LOST):
            return self.ask("/health").status == 200
        return False

    def is_broken(self):
        """It serves some shards no longer, until an operator decides."""
        with contextlib.suppress(*LOST):
            return bool(self.ask("/cluster").json["shards_broken"])
        return False

    def state(self):
        try:
            return self.ask("/health").text, self.ask("/cluster").text
        except LOST as error:
            return repr(error)
