"""Agents: the tools that an LLM or any outside agent drives the search with."""

from asmevo.agent.answer import Answer, Kind
from asmevo.agent.seat import Seat
from asmevo.agent.session import AgentSession
from asmevo.agent.skill import skill
from asmevo.agent.text import clean, quoted, tokens
from asmevo.agent.tools import Tool, Toolbox

__all__ = ["AgentSession", "Answer", "Kind", "Seat", "Tool", "Toolbox", "clean", "quoted", "skill", "tokens"]
