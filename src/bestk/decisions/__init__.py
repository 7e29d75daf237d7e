"""Decision classes: what may be answered. One file a class; `TopK` is the paper's Best-K."""

from bestk.decisions.base import DecisionClass
from bestk.decisions.topk import TopK

__all__ = ["DecisionClass", "TopK"]
