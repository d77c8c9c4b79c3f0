"""What the metrics show of a connector. Pure."""

from collections import Counter

from penstock_operator.connector.decision import Decision
from penstock_operator.connector.facts import Facts
from penstock_operator.connector.verdict import Kind
from penstock_operator.metrics import ConnectorFigures

__all__ = ["figures"]


def figures(facts: Facts, decision: Decision) -> ConnectorFigures:
    """As decided."""
    plan, tasks = decision.plan, decision.memory.tasks.values()
    return ConnectorFigures(
        class_name=plan.class_name if plan is not None else facts.connector.spec.class_name,
        type=plan.kind if plan is not None else "",
        version=plan.version if plan is not None else "",
        state=decision.state,
        tasks=dict(Counter(t.state for t in tasks)),
        restarts=sum(t.restarts for t in tasks),
        ready=decision.verdict.kind is Kind.READY,
    )
