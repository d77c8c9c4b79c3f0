"""A cluster in memory, to decide in: it carries decisions out as `apply` does, and plays kubelet, plugins and tasks.

What decisions remember goes through the status as it is written, so that nothing is remembered that is not there.
"""

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

from penstock_model.contracts.exit_codes import ExitCode
from penstock_model.contracts.job import Action, JobAnswer, JobProblem, Outcome, PlanAnswer
from penstock_model.contracts.pod_identity import Standing
from penstock_model.contracts.task_reports import Control, Report, TerminationMessage
from penstock_model.contracts.task_spec import PluginReference, TaskSpec
from penstock_model.resources.connector import Connector
from penstock_operator.connector.decide.decide import decide
from penstock_operator.connector.decide.decision import CreateJob, CreateTask, Decision
from penstock_operator.connector.decide.refused_pods import Refusal, after, present
from penstock_operator.connector.observe.connect_names import NameRefusal
from penstock_operator.connector.observe.observation import Observation
from penstock_operator.connector.observe.pod_end import Ended
from penstock_operator.connector.observe.pod_status import JobPod, Phase, TaskPod
from penstock_operator.connector.observe.secrets import Secrets
from penstock_operator.connector.persisted_state import Memory
from penstock_operator.connector.plans import Plan, Shape, asked, due, in_force, manifest, own, release, stored
from penstock_operator.connector.render.events import ConnectorEvent, events_between
from penstock_operator.connector.render.names import pod_name
from penstock_operator.connector.render.pod_manifests import Maker
from penstock_operator.connector.render.status import connector_status, is_unchanged
from penstock_operator.kubernetes.times import timestamp
from penstock_operator.rollout.progress import GRANTED, Permission
from penstock_operator.settings import Settings

Plugin = Callable[[Connector], JobAnswer | list[str]]
OWNER: Final = "0123456789abcdef"
"""The Connector's mark in the records of its preparations."""


class Killed(Exception):
    """The operator was killed between two writes."""


def tasks_of(count: int, **config: str) -> PlanAnswer:
    """A plan of so many tasks."""
    reference = PluginReference(reference="x:Y", alias="FileStreamSource", version="1.4.2")
    return PlanAnswer(
        kind="source",
        class_name="FileStreamSource",
        version="1.4.2",
        tasks=tuple(
            TaskSpec(connector="shop.orders-in", task=n, tasks=count, kind="source", config={**config, "part": str(n)},
                     plugins={"connector": reference}, worker={})
            for n in range(count)
        ),
    )  # fmt: skip


def good(connector: Connector) -> JobAnswer | list[str]:
    """A plugin that makes as many tasks as it may, each with the whole configuration."""
    answer = tasks_of(connector.spec.tasks_max, **connector.spec.config)
    return JobAnswer(id="", action=Action.PLAN, outcome=Outcome.DONE, plan=answer)


@dataclass
class World:
    """One Connector and everything around it."""

    spec: dict[str, Any] = field(default_factory=dict)
    plugin: Plugin = good
    preparing: JobAnswer | None = None
    """What preparing comes to, where it is refused."""
    resetting: JobAnswer | None = None
    """What a reset comes to, where it is none."""
    now: float = 1_800_000_000.0
    generation: int = 1
    annotations: dict[str, str] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=lambda: {"observedGeneration": -1})
    pods: dict[str, TaskPod | JobPod] = field(default_factory=dict)
    requests: dict[str, CreateJob] = field(default_factory=dict)
    answers: dict[str, JobAnswer | None] = field(default_factory=dict)
    plans: list[Plan] = field(default_factory=list)
    reports: dict[int, Report] = field(default_factory=dict)
    control: Control | None = None
    secrets: Secrets = field(default_factory=Secrets)
    own_secrets: Secrets | None = None
    """Of those, what the Connector's own configuration names; None: all."""
    name_refusal: NameRefusal | None = None
    name_unseen: str = ""
    has_claimed: bool = False
    refusals: dict[str, Refusal] = field(default_factory=dict)
    kafka_trouble: str | None = None
    template: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    permission: Permission = GRANTED
    unpullable: tuple[str, ...] = ()
    deleting: float | None = None
    finalizer: bool = False
    namespace_ends: bool = False
    slot: bool = True
    stale_records: bool = False
    foreign_pods: tuple[str, ...] = ()
    uid: str = "uid-1"
    writes: int = 0
    status_writes: int = 0
    kill_after: int | None = None
    events: list[ConnectorEvent] = field(default_factory=list)
    lives: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    deaf: bool = False
    recorded: Standing | None = None
    """What preparations have written to Kafka: tasks of a smaller one leave."""
    refuses: Callable[[str], bool] = lambda name: False
    """Whether the API server refuses a task's pod."""
    tries: list[str] = field(default_factory=list)
    standings: dict[str, Standing] = field(default_factory=dict)
    _numbers: Any = field(default_factory=itertools.count)
    _standing: int = 0

    @property
    def connector(self) -> Connector:
        spec = {"class": "FileStreamSource", "config": {"file": "/data/a", "topic": "orders"}, **self.spec}
        if self.template:
            spec["template"] = {**spec.get("template", {}), "nodeSelector": {"template": self.template}}
        metadata = {"name": "orders-in", "namespace": "shop", "uid": self.uid, "generation": self.generation,
                    "annotations": self.annotations}  # fmt: skip
        return Connector.draft(
            {"apiVersion": "penstock.dev/v1alpha1", "kind": "Connector", "metadata": metadata, "spec": spec}
        )

    def change(self, **spec: Any) -> None:
        """A user changes the spec."""
        self.spec = {**self.spec, **spec}
        self.generation += 1

    @property
    def settings(self) -> Settings:
        """Of the release: `values` over the usual ones."""
        return Settings.of({
            "release": {"name": "penstock", "namespace": "penstock-system"},
            "worker": {"bootstrap.servers": "kafka:9092"}, "images": {"runtime": "runtime:1"}, **self.values,
        })  # fmt: skip

    @property
    def maker(self) -> Maker:
        return Maker(self.connector, self.settings, Shape.of(self.settings, self.secrets.names))

    def life(self, plan: Plan, task: int) -> str:
        return self.maker.life(plan, task)

    def facts(self) -> Observation:
        memory = Memory.of(json.loads(json.dumps(self.status)))
        restarted = next(
            (h.token for h in reversed(memory.handled) if h.action == "restart" and h.result == "Succeeded"), ""
        )
        settings, shape = self.settings, self.maker.shape
        last = next((p for p in self.plans if p.hash == memory.plan), None)
        wanted = asked(self.connector, settings.worker, settings.images.runtime, self.secrets, restarted, last)
        return Observation(
            connector=self.connector, memory=memory, now=self.now, due=due(wanted, shape), asked=wanted,
            own=own(self.connector, self.own_secrets or self.secrets, restarted), shape=shape,
            own_toggled=own(self.connector, self.own_secrets or self.secrets, restarted, toggled=True),
            secrets_in_force=in_force(self.connector, self.secrets, last, restarted), release=release(settings),
            rollout=settings.rollout, permission=self.permission, deleting=self.deleting,
            finalizer=self.finalizer, namespace_ends=self.namespace_ends, plans=tuple(self.plans),
            task_pods=tuple(p for p in self.pods.values() if isinstance(p, TaskPod)),
            job_pods=tuple(p for p in self.pods.values() if isinstance(p, JobPod)),
            foreign_pods=self.foreign_pods, answers=self.answers,
            reports={} if self.deaf else dict(self.reports), stale_records=self.stale_records, control=self.control,
            secrets=self.secrets, name_refusal=self.name_refusal,
            name_unseen="" if memory.has_run else self.name_unseen, has_claimed=self.has_claimed,
            owner=OWNER, recorded=self.recorded, kafka_trouble=self.kafka_trouble,
            refusals=present(self.refusals, self.generation, self.now), slot=self.slot,
        )  # fmt: skip

    def decide(self) -> Decision:
        return decide(self.facts(), self.life)

    def _write(self) -> None:
        if self.kill_after is not None and self.writes >= self.kill_after:
            self.kill_after = None
            raise Killed
        self.writes += 1

    def reconcile(self) -> Decision:
        """Decide once, and carry it out."""
        facts = self.facts()
        self.seen.update(self.pods)
        decision = decide(facts, self.life)
        for plan in decision.save:
            if all(p.hash != plan.hash for p in self.plans):
                self._write()
                kept = stored(manifest(plan, {"creationTimestamp": timestamp(self.now)}))
                assert kept is not None
                self.plans.append(kept)
        found = connector_status(facts, decision)
        if not is_unchanged(found, self.status):
            self._write()
            self.status, self.status_writes = json.loads(json.dumps(found)), self.status_writes + 1
            self.events += events_between(facts.memory, decision)
        if decision.finalizer is not None:
            self._write()
            self.finalizer = decision.finalizer
        for pod in decision.delete:
            self._write()
            self._delete(pod.name)
        for wish in decision.create:
            self._write()
            self._create(wish)
        for dropped in decision.drop:
            self._write()
            self.plans = [p for p in self.plans if p.hash != dropped]
        if decision.tell is not None:
            self._write()
            self.control = Control(connector_uid=self.uid, generation=self.generation, state=decision.tell)
        if decision.forget:
            self._write()
            self.stale_records, self.reports = False, {}
        return decision

    def _create(self, wish: CreateJob | CreateTask) -> None:
        common: dict[str, Any] = {"uid": f"pod-{next(self._numbers)}", "owner": self.uid, "phase": Phase.WAITING,
                                  "created": self.now}  # fmt: skip
        if isinstance(wish, CreateJob):
            if wish.name not in self.pods:
                self.requests[wish.name] = wish
                image = self.maker.shape_of(wish.plan).image
                hindrance = ("ImagePullBackOff", f"back-off pulling {image}") if image in self.unpullable else None
                self.pods[wish.name] = JobPod(
                    name=wish.name, role="job", action=wish.action, key=wish.key, hindrance=hindrance, **common
                )
            return
        name = pod_name("orders-in", wish.task, wish.incarnation)
        if name in self.pods:
            return
        self.tries.append(name)
        if self.refuses(name):
            before, generation = self.refusals.get(name), self.generation
            refusal = after(before, "AdmissionDenied", "no", now=self.now, generation=generation, life=wish.life)
            self.refusals[name] = refusal
            return
        self.refusals.pop(name, None)
        self.lives.append(name)
        self.standings[name] = wish.standing
        self.pods[name] = TaskPod(
            name=name, role="task", task=wish.task, incarnation=wish.incarnation, life=self.life(wish.plan, wish.task),
            generation=self.generation, state=wish.state, image=self.maker.shape_of(wish.plan).image, **common,
        )  # fmt: skip

    def _delete(self, name: str) -> None:
        pod = self.pods.get(name)
        if pod is None or pod.leaving is not None:
            return
        if pod.phase is Phase.ENDED:
            del self.pods[name]
            self.answers.pop(name, None)
        else:
            self.pods[name] = replace(pod, leaving=self.now, leaves_by=self.now + 30)

    # What others do.

    def start(self, name: str) -> None:
        """The kubelet starts a pod; a task reports."""
        pod = self.pods[name]
        self.pods[name] = replace(pod, phase=Phase.RUNNING, started=self.now, hindrance=None, node="node-1")

    def task(self, number: int) -> TaskPod:
        """The pod of a task that counts."""
        return max((p for p in self.pods.values() if isinstance(p, TaskPod) and p.task == number),
                   key=lambda p: p.incarnation)  # fmt: skip

    def report(self, pod: TaskPod, **more: Any) -> None:
        """A task reports what it was told to be."""
        told, acted = pod.state, pod.generation
        if self.control is not None and self.control.generation > pod.generation:
            told, acted = self.control.state, self.control.generation
        values: dict[str, Any] = {
            "connector": "shop.orders-in", "connector_uid": self.uid, "pod_uid": pod.uid, "task": pod.task,
            "standing": Standing(generation=1, plan="p"), "incarnation": pod.incarnation, "state": told.upper(),
            "acted": acted, "since": int(self.now * 1000), "versions": {"connector": "1.4.2"}, **more,
        }  # fmt: skip
        self.reports[pod.task] = Report(**values)

    def end(
        self, name: str, code: int | None, reason: str = "Error", message: str = "", trace: str | None = None
    ) -> None:
        """A pod's container ends."""
        word = None if code is None else TerminationMessage(exit_code=code, message=message or None, trace=trace)
        ended = Ended(code, reason, "" if word else message, word, self.now)
        self.pods[name] = replace(self.pods[name], phase=Phase.ENDED, ended=ended)

    def vanish(self, name: str) -> None:
        """Somebody deletes a pod by force, or its node is gone."""
        del self.pods[name]
        if name in self.lives and name not in self.seen:
            # Nobody can tell it from one that was never made. If it runs on somewhere, it and the next have one number, and
            # one of them leaves: so the tests of second runs.
            self.lives.remove(name)

    def as_an_earlier_release_left_it(self) -> None:
        """Its plans hold no shape, its pods another mark."""
        old = {p.hash: p.asked for p in self.plans}
        self.plans = [replace(p, hash=p.asked, shape=None, restarted="", digests=()) for p in self.plans]
        plan = self.status.get("plan", {})
        if "hash" in plan:
            plan["hash"] = old.get(plan["hash"], "")
        plan.pop("own", None)
        self.status.pop("rollout", None)
        for task in self.status.get("tasks", ()):
            task["life"] = f"0123456789abcd{task['id']}"
        for name, pod in self.pods.items():
            if isinstance(pod, TaskPod):
                self.pods[name] = replace(pod, life=f"0123456789abcd{pod.task}")

    def tick(self) -> bool:
        """Everybody else does the next thing; False: there is none."""
        for pod in list(self.pods.values()):
            if pod.leaving is not None:
                if pod.node != "away":
                    del self.pods[pod.name]
                    return True
            elif pod.phase is Phase.WAITING and pod.hindrance is None:
                self.start(pod.name)
                return True
            elif pod.phase is Phase.RUNNING and isinstance(pod, JobPod):
                self._answer(pod)
                return True
            elif pod.phase is Phase.RUNNING and isinstance(pod, TaskPod) and self._is_shut_out(pod):
                self.end(pod.name, ExitCode.SUPERSEDED, message=f"{pod.name} lives on")
                return True
            elif pod.phase is Phase.RUNNING and isinstance(pod, TaskPod):
                before = self.reports.get(pod.task)
                if before is None or before.incarnation <= pod.incarnation:
                    self.report(pod)
                    same_words = before is not None and (before.pod_uid, before.state, before.acted) == (
                        self.reports[pod.task].pod_uid, self.reports[pod.task].state, self.reports[pod.task].acted
                    )  # fmt: skip
                    if same_words and before is not None:
                        self.reports[pod.task] = before
                    else:
                        return True
        return False

    def _is_shut_out(self, pod: TaskPod) -> bool:
        return self.recorded is not None and self.recorded.is_after(self.standings[pod.name])

    def prepare(self, owner: str = OWNER) -> Standing:
        """Somebody prepares, in time or late."""
        self._standing += 1
        self.recorded = Standing.of_owner(self._standing, owner)
        return self.recorded

    def _answer(self, pod: JobPod) -> None:
        wish = self.requests[pod.name]
        answer = self._work(wish)
        self.answers[pod.name] = answer.model_copy(update={"id": wish.key, "action": wish.action})
        self.end(pod.name, 0, "Completed")

    def _work(self, wish: CreateJob) -> JobAnswer:
        standing = None
        if wish.prepare or wish.action is Action.PREPARE:
            alive = [p.name for p in self.pods.values() if isinstance(p, TaskPod) and p.lives(self.now, 30)]
            assert not alive, f"prepared while {alive} live"
            if self.preparing is not None and wish.action is Action.PREPARE:
                return self.preparing
            standing = self.prepare()
        if wish.action is Action.RESET_OFFSETS and self.resetting is not None:
            return self.resetting
        if wish.action is not Action.PLAN:
            return JobAnswer(id="", action=wish.action, outcome=Outcome.DONE, standing=standing)
        if self.secrets.missing:
            return JobAnswer(id="", action=wish.action, outcome=Outcome.INVALID, problems=(
                JobProblem(property="password", message="${secret:db:password} cannot be resolved"),
                JobProblem(property="file", message="is wrong"),
            ))  # fmt: skip
        answer = self.plugin(self.connector)
        if isinstance(answer, list):
            problems = tuple(JobProblem(property=p, message="is wrong") for p in answer)
            return JobAnswer(id="", action=wish.action, outcome=Outcome.INVALID, problems=problems)
        done = answer.outcome is Outcome.DONE
        return answer.model_copy(update={"standing": standing if done else None})

    def settle(self, seconds: float = 600.0) -> Decision:
        """Until nothing follows and nobody does anything, or so much time has passed."""
        until = self.now + seconds
        for _ in range(2_000):
            try:
                decision = self.reconcile()
            except Killed:
                continue
            # A decision that was carried out must not come again.
            if decision.again == 0.0 or self.tick() or self._more(decision):
                continue
            if decision.again is None or self.now + decision.again > until:
                return decision
            self.now += decision.again
        raise AssertionError(f"does not settle: {decision}")

    def _more(self, decision: Decision) -> bool:
        return bool(decision.save or decision.delete or decision.create or decision.finalizer is not None
                    or decision.tell or decision.forget or decision.drop)  # fmt: skip

    def condition(self, kind: str) -> str:
        """`True Running: ...` of the status as written."""
        found = {c["type"]: c for c in self.status.get("conditions", ())}.get(kind)
        return "absent" if found is None else f"{found['status']} {found['reason']}: {found['message']}"

    def advance(self, seconds: float) -> None:
        self.now += seconds
