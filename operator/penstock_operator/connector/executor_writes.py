"""Writes of `apply` for executors: it creates and deletes their pods, and creates the Secrets that they share with tasks.

A failure here does not abort a run: it is recorded with the refusals, and the write is retried with backoff.
"""

import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from penstock_model.contracts.texts import joined
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
from penstock_operator.kubernetes.kinds import POD

__all__ = ["ExecutorWrites"]

log = logging.getLogger(__name__)
_SECRET_BYTES: Final = 32
_Work = tuple[str, str, Callable[[], Awaitable[None]]]
"""Key of an object in the refusals, group of objects that are skipped after a refusal, and the request."""


@dataclass
class ExecutorWrites:
    """Writes of one run for the executors of a Connector.

    Attributes:
        created: number of executors that were created.
        is_refused: whether a request was refused or not answered, which the next decision reports.
        is_unanswered: whether the API server did not answer, so that no more requests are sent.

    Args:
        key: the key of the Connector.
        observed: the observation from which the decision was made.
        manifests: renders the objects.
        context: the API server.
        cached: cache of the Connector, in which refusals are recorded.
    """

    key: Key
    observed: Observation
    manifests: PodManifests
    context: Context
    cached: CachedConnector
    created: int = 0
    is_refused: bool = False
    is_unanswered: bool = False

    async def create_secrets(self, decision: Decision) -> None:
        """Create the Secrets that task pods wait for. Never raises `OperatorError`."""
        new = decision.executors.create_secrets
        await self._carry_out(
            (of_secret(p.spark_secret), f"secret of {p.uid}", partial(self._create_secret, p)) for p in new
        )

    async def write(self, decision: Decision) -> None:
        """Delete and create executors as decided. Never raises `OperatorError`."""
        await self._carry_out(self._works(decision))

    async def _carry_out(self, works: Iterable[_Work]) -> None:
        if self.is_unanswered:
            return
        refused = set[str]()
        for name, task, work in works:
            if task in refused:  # its further executors would be refused for the same reason
                continue
            try:
                await work()
            except OperatorError as e:
                self._keep(name, e)
                refused.add(task)
                if not isinstance(e, Refused):  # each further request might time out, too
                    self.is_unanswered = True
                    return
            else:
                self.cached.refusals.pop(name, None)

    def _works(self, decision: Decision) -> Iterator[_Work]:
        executors = decision.executors
        for executor in executors.delete:
            yield of_executor(executor.name), f"end of {executor.uid}", partial(self._delete, executor)
        for creation in executors.create:
            yield of_executor(creation.name), creation.pod.uid, partial(self._create, creation)

    async def _create_secret(self, pod: TaskPod) -> None:
        manifest = self.manifests.spark_secret(pod, secrets.token_hex(_SECRET_BYTES))
        await self.context.run(self.context.kube.create, manifest)
        # If it exists, this operator created it before: the name is unique to this pod of this Connector.
        self.cached.spark_secrets[pod.uid] = True

    async def _create(self, creation: CreateExecutor) -> None:
        await create_unless_present(self.key, self.manifests.executor(creation), self.manifests, self.context)
        self.created += 1

    async def _delete(self, executor: ExecutorPod) -> None:
        await self.context.run(self.context.kube.delete, POD, self.key.namespace, executor.name, uid=executor.uid)

    def _keep(self, name: str, error: OperatorError) -> None:
        reason, remedy = cause(error, RESOURCES_OF_EXECUTORS)
        text = (error.answer if isinstance(error, Refused) else "") or str(error)
        message = joined(text, remedy) if remedy else text
        log.info("%s: cannot create or delete an object for its executors: %s", self.key, message)
        before, observed = self.observed.pods.refusals.get(name), self.observed
        generation = observed.connector.metadata.generation
        self.cached.refusals[name] = after(before, reason, message, now=observed.now, generation=generation)
        self.cached.namespace_ends = self.cached.namespace_ends or (isinstance(error, Refused) and error.namespace_ends)
        self.is_refused = True
