"""Plan that a Connector requests now, as the hashes and settings to find or make it. Immutable."""

from dataclasses import dataclass, field

from penstock_operator.connector.model.plans import PodSettings
from penstock_operator.connector.model.resolutions import NO_POLICY, OWN_PLUGIN, PluginResolution, PolicyResolution
from penstock_operator.connector.model.secrets import Secrets

__all__ = ["RequestedPlan"]


@dataclass(frozen=True, slots=True)
class RequestedPlan:
    """Plan that a Connector requests now, which may not have been made yet.

    Attributes:
        hash: hash of all its inputs (`Plan.hash`).
        inputs_hash: hash of the inputs of its split into tasks (`Plan.inputs_hash`).
        pod_settings: settings of newly requested pods.
        own_hash: hash of the Connector's own part of these inputs, without the release's.
        own_hash_toggled: `own_hash` with the other value of `onSecretChange`.
        secrets: the Secrets to which the configuration refers, as far as they are known.
        secrets_in_force: hash of the Secrets that the tasks should have (`secret_changes.secrets_hash`).
        reconfiguration: the last request of the plugin for a task reconfiguration; the hashes include it.
        policy: resolution of the TopicCreationPolicies that apply.
        plugin: resolution of its classes and versions with the PluginVersions of the namespace.
    """

    hash: str
    inputs_hash: str
    pod_settings: PodSettings
    own_hash: str = ""
    own_hash_toggled: str = ""
    secrets: Secrets = field(default_factory=Secrets)
    secrets_in_force: str = ""
    reconfiguration: str = ""
    policy: PolicyResolution = NO_POLICY
    plugin: PluginResolution = OWN_PLUGIN
