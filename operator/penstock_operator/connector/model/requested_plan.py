"""Plan that a Connector requests now: the hashes and settings that it is found or made by. Frozen."""

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
        own_hash: hash of the part of these inputs that is the Connector's own, and not the release's.
        own_hash_toggled: the same with the other value of `onSecretChange`.
        secrets: the Secrets in the configuration, as far as they are known.
        secrets_in_force: the hash of the Secrets that the tasks should have (`secret_changes.secrets_hash`).
        reconfiguration: the last request of the plugin for a task reconfiguration; the hashes include it.
        policy: resolved from the TopicCreationPolicies that apply.
        plugin: its class and version, resolved with the PluginVersions of the namespace.
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
