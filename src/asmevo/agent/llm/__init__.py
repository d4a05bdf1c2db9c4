"""A language model as a driver of the search: asked over any provider, within a budget, recorded and replayable."""

from asmevo.agent.llm.answers import Answers, Asked, Outcome, Stopped
from asmevo.agent.llm.budget import Budget, Grant, Spent
from asmevo.agent.llm.config import Habits, Limits, LlmConfig, ModelConfig, Price, load_config
from asmevo.agent.llm.driver import LlmDriver, Report
from asmevo.agent.llm.message import Call, Failure, Reply, Request, Result, Said, ToolSpec, Trouble, Usage
from asmevo.agent.llm.models import Models, local
from asmevo.agent.llm.recording import Record, Recording, Replay

__all__ = [
    "Answers",
    "Asked",
    "Budget",
    "Call",
    "Failure",
    "Grant",
    "Habits",
    "Limits",
    "LlmConfig",
    "LlmDriver",
    "ModelConfig",
    "Models",
    "Outcome",
    "Price",
    "Record",
    "Recording",
    "Replay",
    "Reply",
    "Report",
    "Request",
    "Result",
    "Said",
    "Spent",
    "Stopped",
    "ToolSpec",
    "Trouble",
    "Usage",
    "load_config",
    "local",
]
