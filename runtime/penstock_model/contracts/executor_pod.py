"""Environment variable of an executor pod that describes the task it works for. Pure."""

from typing import ClassVar, Literal

from pydantic import Field

from penstock_model.contracts.base import Document

__all__ = ["ExecutorPod"]


class ExecutorPod(Document):
    """Executor of one task's Spark session, in a separate pod.

    Attributes:
        master: address of Spark's Master in the task's pod, `spark://<pod IP>:7077`.
        cores: number of batch parts that it delivers in parallel.
    """

    called: ClassVar = "the description of an executor"
    api_version: Literal["penstock.dev/executor/v1"] = "penstock.dev/executor/v1"
    master: str
    cores: int = Field(ge=1)
