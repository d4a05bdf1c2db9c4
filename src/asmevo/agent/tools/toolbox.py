"""All tools of a session behind one door: arguments are checked on the way in, text on the way out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.session import AgentSession
from asmevo.agent.text import clean, clean_value, nested_beyond
from asmevo.agent.tools.examine import EXAMINE_TOOLS
from asmevo.agent.tools.history import HISTORY_TOOLS
from asmevo.agent.tools.kernel import KERNEL_TOOLS
from asmevo.agent.tools.notes import NOTE_TOOLS
from asmevo.agent.tools.opcodes import OPCODE_TOOLS
from asmevo.agent.tools.propose import PROPOSE_TOOLS
from asmevo.agent.tools.tool import Tool
from asmevo.agent.tools.windows import WINDOW_TOOLS
from asmevo.verdict import AsmEvoError, EnvironmentError_

TOOLS: tuple[Tool, ...] = (
    *KERNEL_TOOLS,
    *WINDOW_TOOLS,
    *PROPOSE_TOOLS,
    *EXAMINE_TOOLS,
    *HISTORY_TOOLS,
    *OPCODE_TOOLS,
    *NOTE_TOOLS,
)
"""Every tool there is."""
NESTING = 16
"""Levels of lists and objects in arguments: far more than any tool takes, far less than what code that walks or
prints them can bear."""


class Toolbox:
    """The tools of one session.

    Contract: `call` never raises for what a caller did wrong: an unknown tool, arguments that do not fit, a window or
    attempt that does not exist, text that does not parse, edits outside of the window are answers of the kind
    `MISTAKE` that say what is wrong. `EnvironmentError_` (disk, device, LLVM) passes through. No tool skips or loosens
    a check, changes a launch, or shows what a launch is expected to give.
    """

    tools: tuple[Tool, ...] = TOOLS

    def __init__(self, session: AgentSession) -> None:
        self.session = session
        self._by_name = {tool.name: tool for tool in self.tools}

    def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> Answer:
        """Call a tool by name."""
        tool = self._by_name.get(name)
        if tool is None:
            return _mistake(f"There is no tool {name!r}; the tools are {', '.join(self._by_name)}.")
        if nested_beyond(arguments, NESTING):
            return _mistake(f"The arguments of {name} do not fit: they are nested deeper than {NESTING} levels.")
        try:
            values = tool.parameters.model_validate(dict(arguments or {}))
        except ValidationError as error:
            return _mistake(f"The arguments of {name} do not fit: {_reasons(error)}.")
        try:
            answer = tool.run(self.session, values)
        except EnvironmentError_:
            raise
        except AsmEvoError as error:
            return _mistake(str(error))
        return Answer(clean(answer.text), clean_value(answer.data), answer.kind)


def _mistake(text: str) -> Answer:
    text = clean(text)
    return Answer(text, {"error": text}, Kind.MISTAKE)


def _reasons(error: ValidationError) -> str:
    """One clause for each argument that is wrong, without pydantic's links."""
    return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'arguments'}: {e['msg']}" for e in error.errors()[:5])
