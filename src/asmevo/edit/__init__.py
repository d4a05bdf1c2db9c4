"""Edits of a program: frozen values that apply, map old lines to new ones, and go to JSON and back."""

from asmevo.edit.basic import Delete, Insert, Reorder, Replace
from asmevo.edit.edit import Edit, Fields, apply_all, from_json, register
from asmevo.edit.forward import Forward
from asmevo.edit.resources import SetResources
from asmevo.edit.rewrite import Rewrite
from asmevo.edit.window import Window

__all__ = [
    "Delete",
    "Edit",
    "Fields",
    "Forward",
    "Insert",
    "Reorder",
    "Replace",
    "Rewrite",
    "SetResources",
    "Window",
    "apply_all",
    "from_json",
    "register",
]
