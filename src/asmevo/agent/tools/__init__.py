"""The tools through which an agent sees a kernel and changes it."""

from asmevo.agent.tools.tool import Parameters, Tool
from asmevo.agent.tools.toolbox import Toolbox

__all__ = ["Parameters", "Tool", "Toolbox"]
