"""The job pods in `ClusterWithTasks`: which requests they had, and what they answer; and which pods are admitted at all."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, JobRequest, Outcome
from penstock_model.contracts.job_answer import answer_line
from penstock_model.contracts.task_reports import Report
from penstock_model.resources.connector import Connector
from penstock_operator import names
from penstock_operator.connector.model.offsets_requests import OFFSETS_ACTIONS
from penstock_operator.connector.model.pod_status import ExecutorPod, JobPod, Phase, TaskPod
from penstock_operator.connector.model.secrets import examine, references
from penstock_operator.kubernetes.api_errors import Answer
from penstock_operator.kubernetes.kinds import CONFIG_MAP, POD, SECRET

from ...fake_api_answers import denied, over_quota
from ...fake_api_server import Request
from .cluster import KEY
from .plugins import Plugin, invalid
from .tasks import ClusterWithTasks

__all__ = ["LISTED", "ClusterWithJobs"]

LISTED: Final = '{"offsets":[{"partition":{"p":"a"},"offset":{"i":1}},{"partition":{"p":"b"},"offset":{"i":2}}]}'
_GRACE: Final = 30
_DENIED: Final = 'admission webhook "policy.example" denied the request: no'


class ClusterWithJobs(ClusterWithTasks):
    """A cluster whose job pods plan, prepare and reset offsets.

    Args:
        plugin: what it answers to a request for a plan.
        more: as for `ClusterWithTasks`.
    """

    def __init__(self, plugin: Plugin, **more: Any) -> None:
        super().__init__(**more)
        self.plugin = plugin
        self.preparing: JobAnswer | None = None
        """What preparing comes to, where it is refused."""
        self.resetting: JobAnswer | None = None
        """What a reset comes to, where it is none."""
        self.acting: JobAnswer | None = JobAnswer(id="", action=Action.OFFSETS, outcome=Outcome.DONE, message="done")
        """What an action that changes offsets comes to; None: a pod of any action ends without an answer."""
        self.listing: JobAnswer = JobAnswer(id="", action=Action.LIST_OFFSETS, outcome=Outcome.DONE, offsets=LISTED)
        """What a list of offsets comes to."""
        self.resets: list[str] = []
        """The ids of all requests for which offsets were reset, as an annotation asked for."""
        self.requests: dict[str, JobRequest] = {}
        """Of all job pods that were ever created, by pod."""
        self.refuses: Callable[[str], bool] = lambda name: False
        """Whether admission denies a task's pod."""
        self.validation: Callable[[Request], Answer | None] = lambda request: None
        """What the API server finds wrong in a task's pod."""
        self.job_validation: Callable[[Request], Answer | None] = lambda request: None
        """What it finds wrong in a job pod."""
        self.executor_validation: Callable[[Request], Answer | None] = lambda request: None
        """What it finds wrong in the pod of an executor, or in a Secret for executors."""
        self.admits_jobs = True
        """Whether admission lets job pods be created."""
        self.keeps_plans = True
        """Whether the quota of the namespace has room for plans."""
        self.tries: list[str] = []
        """The names of all task pods that were ever created, or refused."""
        self.server.admit = self._admit

    def hinder_unpullable(self) -> None:
        """Job pods with an image that cannot be pulled do not start."""
        for name, pod in self.pods.items():
            if isinstance(pod, JobPod) and pod.phase is Phase.WAITING and pod.hindrance is None:
                spec = self.manifest(name)["spec"]
                images = [spec["containers"][0]["image"]]
                images += (v["image"]["reference"] for v in spec["volumes"] if "image" in v)
                for image in {*images} & {*self.unpullable}:
                    self.hinder(name, "ImagePullBackOff", f"back-off pulling {image}")

    def tick(self) -> bool:
        """Let everyone but the operator do the next thing; False: there is none."""
        if self.server.collect_garbage():
            return True
        self.hinder_unpullable()
        reports = self.reports
        return any(self._act(pod, reports) for pod in self.pods.values()) or any(
            self._act_executor(pod) for pod in self.executors.values()
        )

    def _act_executor(self, pod: ExecutorPod) -> bool:
        if pod.leaving is not None:
            return self.finish_deletion(pod)
        if pod.phase is not Phase.WAITING or pod.hindrance is not None:
            return False
        self.start(pod.name)
        return True

    def _act(self, pod: TaskPod | JobPod, reports: Mapping[int, Report]) -> bool:
        if pod.leaving is not None:
            return self.finish_deletion(pod)
        if pod.phase is Phase.WAITING and pod.hindrance is None:
            if isinstance(pod, TaskPod) and pod.spark_secret and pod.spark_secret not in self.spark_secrets:
                return False  # the kubelet tries again to mount it
            self.start(pod.name)
            return True
        if pod.phase is not Phase.RUNNING:
            return False
        if isinstance(pod, JobPod):
            self._answer(pod)
            return True
        if self.is_superseded(pod):
            self.end(pod.name, ExitCode.SUPERSEDED, message=f"{pod.name} was taken over")
            return True
        return self.report_news(pod, reports)

    def _admit(self, request: Request) -> Answer | None:
        if request.method != "POST" or self.server.get(request.kind, request.namespace, request.name) is not None:
            return None
        role = names.label(request.body, names.ROLE_LABEL)
        if request.kind is CONFIG_MAP and role == "plan" and not self.keeps_plans:
            return over_quota(CONFIG_MAP, request.name)
        if role == names.EXECUTOR and (wrong := self.executor_validation(request)) is not None:
            return wrong
        if request.kind is POD and role == "task":
            self.tries.append(request.name)
            if self.refuses(request.name):
                return denied(_DENIED)
            if (wrong := self.validation(request)) is not None:
                return wrong
            self.lives.append(request.name)
        if request.kind is POD and role == "job":
            if not self.admits_jobs:
                return denied(_DENIED)
            if (wrong := self.job_validation(request)) is not None:
                return wrong
            document = self.server.get(CONFIG_MAP, KEY.namespace, names.request_name(request.name))
            assert document is not None, f"{request.name} is created before its request"
            self.requests[request.name] = JobRequest.from_json(document["data"]["request.json"])
        return None

    def _answer(self, pod: JobPod) -> None:
        request = self.requests[pod.name]
        connector = Connector.draft(request.connector)
        if request.action in OFFSETS_ACTIONS and self.acting is None:
            self.end(pod.name, 1, "Error")
            return
        answer = self._work(request, connector).model_copy(update={"id": request.id, "action": request.action})
        self.server.logs[pod.uid] = answer_line(answer, connector.request_texts(request.worker)) + "\n"
        self.end(pod.name, 0, "Completed")

    def _work(self, request: JobRequest, connector: Connector) -> JobAnswer:
        epoch = None
        if request.prepare or request.action is Action.PREPARE:
            alive = [p.name for p in self.pods.values() if isinstance(p, TaskPod) and p.lives(self.now, _GRACE)]
            assert not alive, f"prepared while {alive} live"
            if self.preparing is not None and request.action is Action.PREPARE:
                return self.preparing
            epoch = self.prepare(request.owner)
        if request.action is Action.RESET_OFFSETS and self.resetting is not None:
            return self.resetting
        if request.action is Action.OFFSETS:
            return self._reset(request)
        if request.action is Action.LIST_OFFSETS:
            return self.listing
        if request.action is not Action.PLAN:
            return JobAnswer(id="", action=request.action, outcome=Outcome.DONE, epoch=epoch)
        if self._misses_secret(request, connector):
            return invalid(
                JobProblem(property="password", message="${secret:db:password} cannot be resolved"),
                JobProblem(property="file", message="is wrong"),
            )
        answer = self.plugin(connector)
        if isinstance(answer, list):
            return invalid(*(JobProblem(property=p, message="is wrong") for p in answer))
        done = answer.outcome is Outcome.DONE
        return answer.model_copy(update={"epoch": epoch if done else None})

    def _reset(self, request: JobRequest) -> JobAnswer:
        """As the runtime: nothing is done where the connector was started since, and tasks of before are fenced."""
        alive = [p.name for p in self.pods.values() if isinstance(p, TaskPod) and p.phase is not Phase.ENDED]
        assert not alive, f"reset while {alive} live"
        assert request.offsets is not None
        assert request.offsets.generation is not None
        recorded = self.recorded
        if recorded is not None and recorded.generation > request.offsets.generation:
            return JobAnswer(id="", action=Action.OFFSETS, outcome=Outcome.SUPERSEDED, message="was started since")
        if recorded is not None:
            self.prepare(request.owner)
        assert self.acting is not None
        if self.acting.outcome is Outcome.DONE:
            self.resets.append(request.id)
        return self.acting

    def _misses_secret(self, request: JobRequest, connector: Connector) -> bool:
        named = references(connector.spec.config, request.worker)
        documents = {r.name: self.server.get(SECRET, KEY.namespace, r.name) for r in named}
        return bool(examine(named, documents, b"").missing)
