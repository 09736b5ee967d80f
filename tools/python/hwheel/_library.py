# SPDX-License-Identifier: LGPL-2.1-only OR MIT
"""libhwheel, and the structures of linux/hwheel.h, as ctypes sees them."""

import ctypes
import operator
import os
from collections.abc import Callable
from ctypes import POINTER, c_int, c_int32, c_size_t, c_uint, c_uint32, c_uint64, c_void_p
from types import SimpleNamespace
from typing import Any

SONAME = "libhwheel.so.0"
INTEGERS = (c_int32, c_size_t, c_uint, c_uint32, c_uint64)


def fitting(number: int, kind: Any) -> int:
    """Returns the number if the C type holds it, else raises OverflowError: ctypes would cut it."""
    number = operator.index(number)
    if kind(number).value != number:
        raise OverflowError(f"{number} is out of range")
    return number


class EventStruct(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("cookie", c_uint64), ("deadline_ns", c_uint64),
                ("fired_ns", c_uint64), ("type", c_uint32), ("reserved", c_uint32)]


class InfoStruct(ctypes.Structure):
    _fields_ = [("features", c_uint64), ("tick_ns", c_uint64), ("max_timeouts", c_uint64),
                ("max_pending", c_uint64), ("slots", c_uint32), ("levels", c_uint32),
                ("kind", c_uint32), ("clock", c_int32), ("max_submit", c_uint32),
                ("own_wheel", c_uint32), ("max_user_bytes", c_uint64),
                ("reserved", c_uint64 * 6)]


class ConfigStruct(ctypes.Structure):
    _fields_ = [("tick_ns", c_uint64), ("max_timeouts", c_uint64), ("slots", c_uint32),
                ("levels", c_uint32), ("kind", c_uint32), ("clock", c_int32),
                ("flags", c_uint32), ("reserved", c_uint32 * 9), ("turn_ns", c_uint64)]

    def __setattr__(self, name: str, number: int) -> None:
        super().__setattr__(name, fitting(number, dict(self._fields_)[name]))


PROTOTYPES = {
    "hwheel_open": (c_int, POINTER(c_void_p), c_uint),
    "hwheel_close": (c_int, c_void_p),
    "hwheel_fd": (c_int, c_void_p),
    "hwheel_configure": (c_int, c_void_p, POINTER(ConfigStruct)),
    "hwheel_map": (c_int, c_void_p, c_size_t),
    "hwheel_info": (c_int, c_void_p, POINTER(InfoStruct)),
    "hwheel_stop": (c_int, c_void_p),
    "hwheel_now": (c_uint64, c_void_p),
    "hwheel_arm": (c_int, c_void_p, c_uint64, c_uint64, POINTER(c_uint64)),
    "hwheel_arm_at": (c_int, c_void_p, c_uint64, c_uint64, POINTER(c_uint64)),
    "hwheel_set": (c_int, c_void_p, POINTER(c_uint64), c_uint64, c_uint64),
    "hwheel_set_at": (c_int, c_void_p, POINTER(c_uint64), c_uint64, c_uint64),
    "hwheel_again": (c_int, c_void_p, POINTER(c_uint64), POINTER(c_uint64), c_uint64, c_uint64,
                     POINTER(c_uint64)),
    "hwheel_withdraw": (c_int, c_void_p, c_uint64),
    "hwheel_refresh": (c_int, c_void_p, c_uint64, c_uint64),
    "hwheel_refresh_at": (c_int, c_void_p, c_uint64, c_uint64),
    "hwheel_cancel": (c_int, c_void_p, c_uint64),
    "hwheel_query": (c_int, c_void_p, c_uint64, POINTER(c_uint64), POINTER(c_uint64)),
    "hwheel_next_events": (c_int, c_void_p, POINTER(EventStruct), c_size_t),
}


def _checked(function: Any) -> Callable[..., Any]:
    """Returns the function with a check of each integer that it is called with."""
    integers = [(place, kind) for place, kind in enumerate(function.argtypes) if kind in INTEGERS]

    def call(*arguments: Any) -> Any:
        for place, kind in integers:
            fitting(arguments[place], kind)
        return function(*arguments)

    return call


def _load() -> SimpleNamespace:
    """Loads the library, and declares the functions that are called."""
    found, functions = ctypes.CDLL(SONAME), SimpleNamespace()
    for name, (result, *arguments) in PROTOTYPES.items():
        function = getattr(found, name)
        function.restype = result
        function.argtypes = arguments
        setattr(functions, name, _checked(function))
    return functions


library = _load()


def check(result: int) -> int:
    """Returns what the library has returned, or raises the error that it is."""
    if result < 0:
        raise OSError(-result, os.strerror(-result))
    return result
