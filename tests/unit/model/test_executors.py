"""`spec.spark.executors`: sizes that follow from resources, and values that are refused."""

import pytest

from penstock.errors import ConfigError
from penstock_model.resources.connector import Connector
from penstock_model.resources.executors import Executors, refused_executors
from penstock_model.resources.quantity import quantity
from penstock_model.resources.refused_fields import refused_fields


def connector(executors: object) -> Connector:
    return Connector.read(
        {
            "apiVersion": "penstock.dev/v1alpha1",
            "kind": "Connector",
            "metadata": {"name": "orders"},
            "spec": {"class": "Datagen", "spark": {"executors": executors}},
        }
    )


@pytest.mark.parametrize(
    ("text", "number"), [("500m", "0.5"), ("2", "2"), ("1.5Gi", "1610612736"), ("3e2", "300"), ("1G", "1000000000")]
)
def test_quantities_are_read_as_kubernetes_reads_them(text: str, number: str) -> None:
    assert str(quantity(text).normalize()) == str(type(quantity(text))(number).normalize())


def test_an_executor_delivers_as_many_parts_as_its_cpu_limit_or_else_its_request_rounded_up() -> None:
    def cores(resources: object) -> int:
        return Executors.model_validate({"max": 1, "resources": resources}).resources.cores

    assert cores({}) == 1
    assert cores({"requests": {"cpu": "1500m"}}) == 2
    assert cores({"requests": {"cpu": "1"}, "limits": {"cpu": 4}}) == 4


@pytest.mark.parametrize(
    ("requests", "limits", "all_requests", "all_limits"),
    [
        ({}, {}, {"cpu": "1"}, {"memory": "2Gi"}),
        ({"memory": "1Gi"}, {"cpu": 4}, {"cpu": "1", "memory": "1Gi"}, {"cpu": "4", "memory": "2Gi"}),
        ({}, {"cpu": "500m"}, {"cpu": "500m"}, {"cpu": "500m", "memory": "2Gi"}),
        ({"cpu": "2"}, {"memory": "4Gi"}, {"cpu": "2"}, {"memory": "4Gi"}),
    ],
)
def test_resources_that_are_not_written_have_defaults_that_are_valid_and_limit_memory(
    requests: object, limits: object, all_requests: object, all_limits: object
) -> None:
    executors = Executors.model_validate({"max": 1, "resources": {"requests": requests, "limits": limits}})

    assert (executors.resources.all_requests, executors.resources.all_limits) == (all_requests, all_limits)
    assert list(refused_executors(executors)) == []


def test_tasks_get_the_executors_without_defaults() -> None:
    settings = connector({"max": 2, "resources": {"limits": {"memory": "4Gi"}}}).spec.for_task()

    assert settings == {"spark": {"executors": {"max": 2, "resources": {"limits": {"memory": "4Gi"}}}}}


def test_all_wrong_values_are_refused_at_once() -> None:
    wrong = {"min": 3, "max": 2, "resources": {"limits": {"memory": "512Mi"}}}

    places = [problem.property for problem in refused_fields(connector(wrong).spec)]

    assert places == ["spec.spark.executors.min", "spec.spark.executors.resources"]


@pytest.mark.parametrize(("written", "text"), [(1, "1"), (0.5, "0.5"), (1.0, "1"), ("0.5", "0.5"), ("500m", "500m")])
def test_a_quantity_may_be_a_number_as_in_a_pod(written: object, text: str) -> None:
    resources = Executors.model_validate({"max": 1, "resources": {"requests": {"cpu": written}}}).resources

    assert resources.requests == {"cpu": text}
    assert resources.cores == 1


@pytest.mark.parametrize("wrong", ["much", "-1", "1e100", "1 Gi", "1Gi\n", "", -1, True, None, ["1"], {"a": "1"}])
def test_what_is_not_a_quantity_is_refused_with_its_place_and_what_to_write(wrong: object) -> None:
    with pytest.raises(ConfigError) as refused:
        connector({"max": 1, "resources": {"requests": {"cpu": wrong}, "limits": {"memory": wrong}}})

    assert [(p.property, p.message) for p in refused.value.problems] == [
        (
            f"spec.spark.executors.resources.{place}",
            "is not a quantity: write a number with or without a unit, such as 500m, 2 or 1Gi",
        )
        for place in ("requests.cpu", "limits.memory")
    ]


def test_an_executor_with_too_little_memory_is_refused() -> None:
    (problem,) = refused_fields(connector({"max": 1, "resources": {"limits": {"memory": "512Mi"}}}).spec)

    assert "1024Mi" in problem.message


def test_a_request_above_its_limit_is_refused_also_if_the_limit_is_the_default() -> None:
    (problem,) = refused_fields(connector({"max": 1, "resources": {"requests": {"memory": "4Gi"}}}).spec)

    assert problem.property == "spec.spark.executors.resources.requests.memory"
    assert "which is 2Gi by default; lower it, or set the limit" in problem.message


def test_more_parts_than_a_start_can_fence_are_refused() -> None:
    resources = {"requests": {"cpu": "16"}, "limits": {"memory": "16Gi"}}
    (problem,) = refused_fields(connector({"max": 10, "resources": resources}).spec)

    assert problem.property == "spec.spark.executors.max"
    assert "160 parts" in problem.message


def test_each_core_of_an_executor_needs_memory() -> None:
    (problem,) = refused_fields(connector({"max": 1, "resources": {"limits": {"cpu": "16", "memory": "2Gi"}}}).spec)

    assert problem.property == "spec.spark.executors.resources"
    assert "16 cores needs at least 4864Mi" in problem.message
