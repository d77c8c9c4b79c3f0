"""Paths, names and ports in the pods that the operator creates and the runtime runs in. Pure.

From the first release on, an older runtime image may run under a newer operator: add names, do not change them.
"""

from typing import Final

__all__ = [
    "ANSWER_PREFIX",
    "EXECUTOR_CONTAINER",
    "EXECUTOR_MODULE",
    "EXECUTOR_VARIABLE",
    "HEALTH_PATH",
    "JOB_CONTAINER",
    "JOB_MODULE",
    "METRICS_PORT",
    "NODE_VARIABLE",
    "PLUGINS_DIR",
    "POD_IDENTITY_VARIABLE",
    "POD_IP_VARIABLE",
    "POD_NAME_VARIABLE",
    "POD_UID_VARIABLE",
    "READY_PATH",
    "REQUEST_FILE",
    "SECRETS_DIR",
    "SPARK_BLOCKS_PORT",
    "SPARK_DRIVER_PORT",
    "SPARK_MASTER_PORT",
    "SPARK_SECRET_FILE",
    "TASK_CONTAINER",
    "TASK_FILE",
    "TASK_MODULE",
    "TERMINATION_LIMIT",
    "TERMINATION_LOG",
    "VERIFY_FILE",
    "VERIFY_MODULE",
]

TASK_CONTAINER: Final = "task"
TASK_MODULE: Final = "penstock_runtime.task"
"""`python -m penstock_runtime.task <TASK_FILE>`."""
TASK_FILE: Final = "/etc/penstock/task/task.json"
"""A `TaskSpec`, from the plan's ConfigMap."""
POD_IDENTITY_VARIABLE: Final = "PENSTOCK_POD_IDENTITY"
"""A `PodIdentity`, as JSON."""

JOB_CONTAINER: Final = "job"
JOB_MODULE: Final = "penstock_runtime.job"
"""`python -m penstock_runtime.job <REQUEST_FILE>`."""
REQUEST_FILE: Final = "/etc/penstock/job/request.json"
"""A `JobRequest`, from a separate ConfigMap."""
VERIFY_MODULE: Final = "penstock_runtime.verify"
"""`python -m penstock_runtime.verify <VERIFY_FILE>`, in a container named `JOB_CONTAINER`."""
VERIFY_FILE: Final = "/etc/penstock/verify/request.json"
"""A `VerificationRequest`, from an annotation of the pod."""
ANSWER_PREFIX: Final = "penstock-answer: "
"""Prefix of the line of standard output that contains a `JobAnswer` as JSON."""

EXECUTOR_CONTAINER: Final = "executor"
EXECUTOR_MODULE: Final = "penstock_runtime.executor"
"""`python -m penstock_runtime.executor`, in executor pods (`spec.spark.executors`)."""
EXECUTOR_VARIABLE: Final = "PENSTOCK_EXECUTOR"
"""An `ExecutorPod`, as JSON."""
SPARK_SECRET_FILE: Final = "/etc/penstock/spark/secret"  # noqa: S105 (its path)
"""The secret that a task and its executors share, in a Secret that exists as long as the task's pod."""
SPARK_MASTER_PORT: Final = 7077
SPARK_DRIVER_PORT: Final = 7078
SPARK_BLOCKS_PORT: Final = 7079
"""Ports of a task's pod that its executors connect to; the last one is also used in executor pods."""

SECRETS_DIR: Final = "/etc/penstock/secrets"
"""`${secret:<name>:<key>}` is the file `<SECRETS_DIR>/<name>/<key>`."""
PLUGINS_DIR: Final = "/etc/penstock/plugins"
"""The image of the n-th PluginVersion of a pod is mounted at `<PLUGINS_DIR>/<n>`."""
POD_NAME_VARIABLE: Final = "PENSTOCK_POD_NAME"
POD_UID_VARIABLE: Final = "PENSTOCK_POD_UID"
POD_IP_VARIABLE: Final = "PENSTOCK_POD_IP"
NODE_VARIABLE: Final = "PENSTOCK_NODE"
METRICS_PORT: Final = 9404
"""HTTP: metrics at every path except the two below."""
HEALTH_PATH: Final = "/healthz"
"""200 while the loop of the task makes progress."""
READY_PATH: Final = "/readyz"
"""200 while the task runs or is paused, has no problem, and Kafka responds to it."""
TERMINATION_LOG: Final = "/dev/termination-log"
"""Path to which a process writes its `TerminationMessage`."""
TERMINATION_LIMIT: Final = 4096  # bytes; Kubernetes keeps no more
