"""Fields that pods do not have are told with their paths: the API server drops them without a word."""

from typing import Any

import pytest

from penstock_operator.kubernetes.pod_fields import unknown_fields


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
def test_a_field_that_pods_do_not_have_is_told_with_its_path_and_the_nearest_one(
    template: dict[str, Any], path: str, near: str
) -> None:
    (told,) = unknown_fields(template)
    assert told.startswith(f"spec.template.{path}: ")
    assert told.endswith(f"did you mean {near}?")


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
        {"env": "no list", "resources": ["no map"], "volumes": [None, 3], "securityContext": None},
    ],
)
def test_fields_that_pods_have_are_not_told_nor_what_the_api_server_refuses_by_itself(template: dict[str, Any]) -> None:
    assert unknown_fields(template) == ()


def test_of_thousands_of_unknown_fields_ten_are_told() -> None:
    told = unknown_fields({"resources": {f"f{n}": {} for n in range(2_000)}})
    assert len(told) == 11
    assert told[-1] == "and 1990 more fields of spec.template that pods do not have"
