"""Every kubectl and helm command of the pages does what it is for, on a real API server, block by block.

There is no node, so no pod starts: `--wait` is taken out of helm's commands, and commands that ask for a running pod are
left to the end-to-end tests (`NEED_PODS`). Nothing else is left out.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from tests.unit.docs.pages import ROOT, Block, blocks, commands

from ..api_servers import CLUSTER, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("go") is None, reason="the API server is built from source, by Go"),
]

PAGES: Final = ("docs/installing.md", "docs/connectors.md", "docs/tenants.md")
NEED_PODS: Final = ("kubectl wait --for=condition=Ready", "kubectl logs ", "kubectl port-forward ", "helm test ")
NAMESPACES: Final = ("penstock-system", "penstock-shop", "shop", "billing", "argocd")
CLUSTER_ID: Final = "5f0c6f0e-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Console:
    """A shell in a folder with the files that the pages name, and with kubectl and helm for one API server."""

    folder: Path
    environment: dict[str, str]

    def run(self, command: str) -> str:
        """What a command prints; it fails the test when it fails."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=180,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A console on an API server of its own: the chart brings the definitions."""
    name, folder = f"pages-{os.getpid()}", tmp_path_factory.mktemp("pages")
    run(name, "up", "--api-only", "--with-parent", str(os.getpid()), timeout=1400)
    try:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(Path(run(name, "kubeconfig").strip()).read_text())
        programs = folder / "bin"
        programs.mkdir()
        for tool in ("kubectl", "helm"):
            (programs / tool).symlink_to(subprocess.check_output([CLUSTER, "path", tool], text=True).strip())
        (folder / "helm").symlink_to(ROOT / "helm")
        (folder / "penstock").symlink_to(ROOT / "helm" / "penstock")  # the unpacked chart
        for version in ("0.1.0", "0.2.0"):  # of the installed release, and of the next one
            package = [str(programs / "helm"), "package", str(ROOT / "helm" / "penstock"), "--version", version]
            subprocess.run([*package, "--destination", str(folder)], check=True, capture_output=True)
        (folder / "orders-in.yaml").write_text(first_yaml("docs/connectors.md", "name: orders-in"))
        (folder / "tenant-shop.yaml").write_text(first_yaml("docs/tenants.md", "# tenant-shop.yaml"))
        for file in ("jaas.conf", "ca.crt"):
            (folder / file).write_text("a secret")
        yield Console(
            folder,
            {
                "PATH": f"{programs}:{os.environ['PATH']}",
                "HOME": str(folder),
                "KUBECONFIG": str(kubeconfig),
            },
        )
    finally:
        run(name, "down")


def first_yaml(page: str, beginning: str) -> str:
    return next(block.text for block in blocks("yaml") if block.page == page and beginning in block.text)


def prepare(console: Console, block: Block) -> None:
    """What the reader of this block has by then: namespaces, a release, a Connector, the operator's Secret."""
    for namespace in NAMESPACES:
        console.run(f"kubectl create namespace {namespace} --dry-run=client --output=yaml | kubectl apply -f -")
    console.run("kubectl config set-context --current --namespace shop")
    installs = [command for command in commands(block) if command.startswith("helm install")]
    for release in console.run("helm list --all-namespaces --short").split() if installs else ():
        console.run(f"helm uninstall {release} --namespace penstock-system --ignore-not-found")
    if not installs:
        console.run(
            "helm upgrade --install penstock helm/penstock --namespace penstock-system "
            "--set 'worker.bootstrap\\.servers=kafka:9092'"
        )
        console.run("kubectl wait --for=condition=Established crd --all --timeout=60s")
        console.run("kubectl apply -f orders-in.yaml")
    for secret in ("penstock-secret-hash-key", "penstock-webhook-authority"):  # the operator's
        console.run(
            f"kubectl create secret generic {secret} --namespace penstock-system --from-literal=key=k "
            "--dry-run=client --output=yaml | kubectl apply -f -"
        )
    console.run(
        "kubectl create configmap argocd-cm --namespace argocd --dry-run=client --output=yaml | kubectl apply -f -"
    )


def typed(block: Block) -> list[str]:
    """The commands of a block that this API server can answer."""
    return [
        re.sub(r" --wait$", "", command.replace("5f0c6f0e-...", CLUSTER_ID).replace("NAME=VALUE", "limits.jobPods=3"))
        for command in commands(block)
        if command.startswith(("kubectl", "helm")) and not command.startswith(NEED_PODS)
    ]


def test_commands_left_out_are_those_that_need_pods() -> None:
    every = [command for block in blocks("console") if block.page in PAGES for command in commands(block)]
    left = [command for command in every if command.startswith(NEED_PODS)]
    assert len(every) - len(left) >= 20
    assert len(left) == 4


@pytest.mark.slow
@pytest.mark.parametrize("block", [b for b in blocks("console") if b.page in PAGES and typed(b)], ids=str)
def test_the_commands_of_a_page_do_what_they_are_for(console: Console, block: Block) -> None:
    prepare(console, block)
    for command in typed(block):
        console.run(command)


def test_the_loop_of_the_guide_releases_connectors_whose_operator_is_gone(console: Console) -> None:
    (loop,) = (c for b in blocks("console") for c in commands(b) if "finalizers" in c and "while read" in c)
    prepare(console, blocks("console")[0])
    console.run("""kubectl patch connector orders-in --type merge --patch '{"metadata":{"finalizers":["a.b/c"]}}'""")
    console.run("kubectl delete connector orders-in --wait=false")
    assert "orders-in" in console.run("kubectl get connectors --output name")
    console.run(loop)
    console.run("kubectl wait --for=delete connector/orders-in --timeout=60s")
