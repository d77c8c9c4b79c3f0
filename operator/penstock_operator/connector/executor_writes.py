"""Executors and the Secrets that tasks share with them, as `apply` creates and deletes them.

No failure here ends a run: it is kept with the refusals, and the object is tried again after a pause that grows.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock_operator.connector.model.api_failures import RESOURCES_OF_EXECUTORS, cause
from penstock_operator.connector.model.decision import Decision
from penstock_operator.connector.model.executors import CreateExecutor
from penstock_operator.connector.model.observation import Observation
from penstock_operator.connector.model.pod_status import ExecutorPod, TaskPod
from penstock_operator.connector.model.refused_pods import after, of_executor, of_secret
from penstock_operator.connector.observe.connector_cache import CachedConnector
from penstock_operator.connector.pod_writes import create_unless_present
from penstock_operator.connector.render.pod_manifests import PodManifests
from penstock_operator.context import Context
from penstock_operator.errors import OperatorError, Refused
from penstock_operator.key import Key
from penstock_operator.kubernetes.kinds import POD, SECRET

__all__ = ["ExecutorWrites"]

log = logging.getLogger(__name__)
_SECRET_BYTES: Final = 32


@dataclass
class ExecutorWrites:
    """Writes of one run for the executors of a Connector.

    Attributes:
        created: how many executors were created.
        is_refused: whether an object was refused or not answered, which the next decision reports.

    Args:
        key: the Connector's.
        observed: from which the decision was made.
        manifests: renders the objects.
        context: the API server.
        cached: of the Connector; refusals are kept there.
    """

    key: Key
    observed: Observation
    manifests: PodManifests
    context: Context
    cached: CachedConnector
    created: int = 0
    is_refused: bool = False

    async def write(self, decision: Decision) -> None:
        """Carry out the part of a decision that is about executors. Never raises `OperatorError`."""
        refused = set[str]()
        for name, task, work in self._works(decision):
            if task in refused:  # its further executors would be refused for the same reason
                continue
            try:
                await work()
            except OperatorError as e:
                self._keep(name, e)
                refused.add(task)
                if not isinstance(e, Refused):  # each object might wait as long for an answer
                    return
            else:
                self.cached.refusals.pop(name, None)

    def _works(self, decision: Decision) -> Iterator[tuple[str, str, Callable[[], Awaitable[None]]]]:
        """Yield the name of each object among the refusals, the uid of its task's pod, and the request for it."""
        executors = decision.executors
        for pod in executors.create_secrets:
            yield of_secret(pod.spark_secret), f"secret of {pod.uid}", partial(self._create_secret, pod)
        for executor in executors.delete:
            yield of_executor(executor.name), f"end of {executor.uid}", partial(self._delete, executor)
        for creation in executors.create:
            yield of_executor(creation.name), creation.pod.uid, partial(self._create, creation)
        for pod in executors.delete_secrets:
            yield of_secret(pod.spark_secret), f"secret of {pod.uid}", partial(self._delete_secret, pod)

    async def _create_secret(self, pod: TaskPod) -> None:
        manifest = self.manifests.spark_secret(pod, secrets.token_hex(_SECRET_BYTES))
        await self.context.run(self.context.kube.create, manifest)
        # If it exists, this operator made it before: its name is of this pod of this Connector only.
        self.cached.spark_secrets[pod.uid] = True

    async def _delete_secret(self, pod: TaskPod) -> None:
        await self.context.run(self.context.kube.delete, SECRET, self.key.namespace, pod.spark_secret)
        self.cached.spark_secrets[pod.uid] = False

    async def _create(self, creation: CreateExecutor) -> None:
        await create_unless_present(self.key, self.manifests.executor(creation), self.manifests, self.context)
        self.created += 1

    async def _delete(self, executor: ExecutorPod) -> None:
        await self.context.run(self.context.kube.delete, POD, self.key.namespace, executor.name, uid=executor.uid)

    def _keep(self, name: str, error: OperatorError) -> None:
        reason, remedy = cause(error, RESOURCES_OF_EXECUTORS)
        text = (error.answer if isinstance(error, Refused) else "") or str(error)
        message = f"{text}; {remedy}" if remedy else text
        log.info("%s: an object for its executors is not written: %s", self.key, message)
        before, observed = self.observed.pods.refusals.get(name), self.observed
        generation = observed.connector.metadata.generation
        self.cached.refusals[name] = after(before, reason, message, now=observed.now, generation=generation)
        self.cached.namespace_ends = self.cached.namespace_ends or (isinstance(error, Refused) and error.namespace_ends)
        self.is_refused = True
