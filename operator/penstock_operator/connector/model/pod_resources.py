"""Requests and limits of memory and CPU of pods. Pure.

They come from the settings of the release (`settings.Task`, `settings.Job`). A Connector's `spec.template.resources` is
merged over those of its task pods; job pods do not use it.
"""

from penstock_operator.settings import Resources, Settings

__all__ = ["PodResources", "job_resources", "task_resources"]

PodResources = dict[str, dict[str, str]]
"""Resources in Kubernetes' form; empty parts are omitted."""


def task_resources(settings: Settings) -> PodResources:
    """Return the resources of a task pod, before `spec.template.resources` is merged."""
    return _resources(settings.task.resources)


def job_resources(settings: Settings) -> PodResources:
    """Return the resources of a job pod, and of a pod that verifies a PluginVersion."""
    return _resources(settings.job.resources)


def _resources(given: Resources) -> PodResources:
    return {k: dict(v) for k, v in (("requests", given.requests), ("limits", given.limits)) if v}
