"""Replace `spec.tasksMax` with the number of tasks that autoscaling has chosen. Pure."""

from dataclasses import replace

from penstock_operator.connector.model.autoscaling import begun
from penstock_operator.connector.observe.subject import Subject

__all__ = ["with_autoscaled_tasks"]


def with_autoscaled_tasks(subject: Subject) -> Subject:
    """Return the Connector with the number of tasks that autoscaling requests now.

    The operator does not change the spec in the cluster, since GitOps tools would revert that.
    """
    connector, persisted = subject.connector, subject.persisted
    autoscaling = connector.spec.autoscaling
    if autoscaling is None:
        if persisted.autoscaling is None or connector.reading.problems:  # perhaps in this field
            return subject
        return replace(subject, persisted=replace(persisted, autoscaling=None))
    chosen = begun(autoscaling, connector.spec.tasks_max, persisted.autoscaling)
    spec = connector.spec.model_copy(update={"tasks_max": chosen.tasks})
    return replace(
        subject,
        connector=connector.model_copy(update={"spec": spec}),
        persisted=replace(persisted, autoscaling=chosen),
    )
