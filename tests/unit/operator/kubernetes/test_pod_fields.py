"""A template with what pods cannot have is refused with the path, before any pod is made from it."""

from typing import Any

import pytest

from penstock_operator.kubernetes.pod_fields import template_problems


@pytest.mark.parametrize(
    ("template", "path", "near"),
    [
        ({"resources": {"limit": {"memory": "1Gi"}}}, "resources.limit", "limits"),
        ({"securityContext": {"runAsUsr": 5}}, "securityContext.runAsUsr", "runAsUser"),
        ({"env": [{"name": "A", "valu": "b"}]}, "env[A].valu", "value"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "keyy": "k"}}}]},
            "env[A].valueFrom.secretKeyRef.keyy",
            "key",
        ),
        (
            {"initContainers": [{"name": "i", "image": "x", "securityContext": {"privilegd": True}}]},
            "initContainers[i].securityContext.privilegd",
            "privileged",
        ),
        ({"tolerations": [{"effectt": "NoSchedule"}]}, "tolerations[0].effectt", "effect"),
        ({"volumes": [{"name": "v", "emptyDir": {"sizelimit": "1Gi"}}]}, "volumes[v].emptyDir.sizelimit", "sizeLimit"),
    ],
)
def test_a_field_that_pods_do_not_have_is_reported_with_its_path_and_the_nearest_one(
    template: dict[str, Any], path: str, near: str
) -> None:
    (told,) = template_problems(template)
    assert told.property == f"spec.template.{path}"
    assert told.message.endswith(f"did you mean {near}?")


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ({"env": [{"name": "A", "value": 5}]}, "env[A].value: must be a string, but is a number; write it in quotes"),
        ({"annotations": {"a/b": True}}, "annotations.a/b: must be a string, but is true or false; write it in quotes"),
        ({"env": "A=5"}, "env: must be a list, but is a string"),
        ({"resources": ["no map"]}, "resources: must be a map, but is a list"),
        ({"volumes": [None]}, "volumes[0]: must be a map, but is empty"),
        ({"affinity": {"nodeAffinity": "near"}}, "affinity.nodeAffinity: must be a map, but is a string"),
        ({"nodeSelector": {"disk": 1}}, "nodeSelector.disk: must be a string, but is a number; write it in quotes"),
        (
            {"terminationGracePeriodSeconds": "5"},
            "terminationGracePeriodSeconds: must be a whole number, but is a string",
        ),
        ({"hostNetwork": "no"}, "hostNetwork: must be true or false, but is a string"),
        ({"resources": {"limits": {"memory": "1 GB"}}}, "resources.limits.memory: is not a quantity: write a number"),
        ({"resources": {"requests": {"cpu": []}}}, "resources.requests.cpu: must be a quantity, but is a list"),
    ],
)
def test_a_value_of_another_type_is_named_with_what_it_must_be(template: dict[str, Any], told: str) -> None:
    (found,) = map(str, template_problems(template))
    assert found.startswith(f"spec.template.{told}")


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"labels": {"limit": "a"}, "annotations": {"any/thing": "b"}},
        {"resources": {"limits": {"memory": "1Gi", "nvidia.com/gpu": "1"}, "claims": [{"name": "c"}]}},
        {"nodeSelector": {"disk": "fast"}, "priorityClassName": "high", "terminationGracePeriodSeconds": 5},
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                        ]
                    }
                }
            },
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "x"}},
                }
            ],
        },
        {
            "volumes": [
                {"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}}
            ]
        },
        {"env": [{"name": "A", "$patch": "delete"}], "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        {"resources": {"limits": {"cpu": 1, "memory": "1.5e9"}, "requests": {"cpu": 0.5, "memory": "128974848000m"}}},
        {"volumes": [{"name": "v", "emptyDir": {"sizeLimit": "500Mi"}}], "securityContext": None, "env": None},
        {"initContainers": [{"name": "i", "image": "x", "livenessProbe": {"httpGet": {"port": "http"}}}]},
    ],
)
def test_what_pods_may_have_is_no_problem(template: dict[str, Any]) -> None:
    assert template_problems(template) == ()


def test_of_thousands_of_unknown_fields_ten_are_reported() -> None:
    told = template_problems({"resources": {f"f{n}": {} for n in range(2_000)}})
    assert len(told) == 11
    assert str(told[-1]) == "spec.template: has 1990 more problems of this kind"
