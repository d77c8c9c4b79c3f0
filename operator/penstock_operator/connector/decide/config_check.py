"""Determine the condition ConfigValid: the configuration is valid, invalid, or not checked yet. Pure."""

from collections.abc import Sequence

from penstock_model.resources.refused_fields import refused_fields
from penstock_operator.connector.decide.log_level import log_level_problem
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.plans import Plan
from penstock_operator.connector.model.secrets import too_many, with_namespace
from penstock_operator.connector.model.verdict import Config
from penstock_operator.reasons import Reason

__all__ = ["invalid", "known_config", "known_problems", "unchecked", "valid"]


def valid(observed: Observation, plan: Plan) -> Config:
    """Return the result for a configuration that the plugin accepts, with any warnings."""
    warnings = [*plan.warnings, *observed.requested.plugin.passed_over]
    if problem := log_level_problem(observed):
        warnings.append(problem)
    if left := plan.left_behind:
        warnings.append(
            f"the connector had another kind before: {left} stay in Kafka under its name, even with deletion.offsets: "
            f"Reset, and are used again if it returns to that kind"
        )
    return Config(True, Reason.VALID, warnings or ("the plugin accepts the configuration",))


def invalid(problems: Sequence[str]) -> Config:
    """Return the result for an invalid configuration, with all of its problems, so that they can be corrected together."""
    count = [f"{len(problems)} problems"] if len(problems) > 1 else []
    return Config(False, Reason.CONFIG_INVALID, [*count, *problems])


def unchecked(when: str) -> Config:
    """Return the result for a configuration that the plugin has not checked yet; `when` follows "the configuration"."""
    return Config(None, Reason.NOT_CHECKED, (f"the configuration {when}",))


def known_config(observed: Observation) -> Config:
    """Return the result of earlier checks, for a Connector for which no job pod is started."""
    if problems := known_problems(observed):
        return invalid(problems)
    if (plan := observed.plan(observed.requested.hash) or observed.stored_split()) is not None:
        return valid(observed, plan)
    if observed.persisted.refused == observed.requested.hash:
        return invalid(observed.persisted.refusal)
    return unchecked("is checked when the connector starts")


def known_problems(observed: Observation) -> list[str]:
    """Return the problems that can be found without the plugin."""
    connector, spec = observed.connector, observed.connector.spec
    fields = map(str, (*connector.reading.problems, *refused_fields(spec)))
    of_resources = (*observed.requested.plugin.problems, *observed.requested.policy.refused)
    return [*fields, *with_namespace(spec.config), *too_many(spec.config), *of_resources]
