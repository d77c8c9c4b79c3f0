package main

import (
	"fmt"
	"path/filepath"
)

// componentArguments are the command lines of the cluster's components, by name.
func componentArguments(plan *Plan) map[string][]string {
	pki := func(name string) string { return plan.home("pki", name) }
	etc := func(name string) string { return plan.home("etc", name) }
	arguments := map[string][]string{
		"etcd": {
			"--name=penstock",
			"--data-dir=" + plan.home("etcd"),
			"--listen-client-urls=" + plan.etcd(),
			"--advertise-client-urls=" + plan.etcd(),
			fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", plan.Ports.EtcdPeer),
			fmt.Sprintf("--initial-advertise-peer-urls=http://127.0.0.1:%d", plan.Ports.EtcdPeer),
			fmt.Sprintf("--initial-cluster=penstock=http://127.0.0.1:%d", plan.Ports.EtcdPeer),
			"--cert-file=" + pki("etcd.crt"),
			"--key-file=" + pki("etcd.key"),
			"--trusted-ca-file=" + pki("ca.crt"),
			"--client-cert-auth",
			"--unsafe-no-fsync", // a machine that loses power loses the cluster anyway
			"--log-level=warn",
		},
		"kube-apiserver":          apiServerArguments(plan),
		"kube-controller-manager": controllerArguments(plan),
	}
	if plan.APIOnly {
		return arguments
	}
	arguments["kube-scheduler"] = []string{
		"--config=" + etc("kube-scheduler.json"),
		"--tls-cert-file=" + pki("kube-scheduler.crt"),
		"--tls-private-key-file=" + pki("kube-scheduler.key"),
		"--bind-address=127.0.0.1",
	}
	arguments["containerd"] = []string{"--config=" + etc("containerd.toml"), "--log-level=info"}
	arguments["kubelet"] = []string{
		"--config=" + etc("kubelet.json"),
		"--kubeconfig=" + etc("kubelet.kubeconfig"),
		"--hostname-override=" + plan.Node,
		"--node-ip=" + plan.Net.Node,
	}
	arguments["kube-proxy"] = []string{"--config=" + etc("kube-proxy.json")}
	arguments["coredns"] = []string{"-conf=" + etc("Corefile")}
	return arguments
}

func (p *Plan) etcd() string {
	return fmt.Sprintf("https://127.0.0.1:%d", p.Ports.Etcd)
}

func apiServerArguments(plan *Plan) []string {
	pki := func(name string) string { return plan.home("pki", name) }
	arguments := []string{
		"--advertise-address=" + plan.Net.Node,
		fmt.Sprintf("--secure-port=%d", plan.Ports.API),
		"--etcd-servers=" + plan.etcd(),
		"--etcd-cafile=" + pki("ca.crt"),
		"--etcd-certfile=" + pki("etcd-client.crt"),
		"--etcd-keyfile=" + pki("etcd-client.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--tls-cert-file=" + pki("kube-apiserver.crt"),
		"--tls-private-key-file=" + pki("kube-apiserver.key"),
		"--service-cluster-ip-range=" + plan.Net.Services,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file=" + pki("service-accounts.key"),
		"--service-account-key-file=" + pki("service-accounts.crt"),
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--profiling=false",
	}
	if plan.APIOnly {
		return append(arguments, "--bind-address=127.0.0.1", "--endpoint-reconciler-type=none")
	}
	return append(arguments,
		"--kubelet-certificate-authority="+pki("ca.crt"),
		"--kubelet-client-certificate="+pki("kubelet-client.crt"),
		"--kubelet-client-key="+pki("kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
	)
}

func controllerArguments(plan *Plan) []string {
	pki := func(name string) string { return plan.home("pki", name) }
	kubeconfig := filepath.Join(plan.Home, "etc", "kube-controller-manager.kubeconfig")
	arguments := []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", plan.Ports.Controllers),
		"--tls-cert-file=" + pki("kube-controller-manager.crt"),
		"--tls-private-key-file=" + pki("kube-controller-manager.key"),
		"--root-ca-file=" + pki("ca.crt"),
		"--service-account-private-key-file=" + pki("service-accounts.key"),
		"--use-service-account-credentials",
		"--leader-elect=false",
		"--profiling=false",
	}
	if plan.APIOnly {
		return append(arguments, "--controllers=garbage-collector-controller,namespace-controller,"+
			"serviceaccount-controller,serviceaccount-token-controller,root-ca-certificate-publisher-controller,"+
			"clusterrole-aggregation-controller")
	}
	return append(arguments,
		"--cluster-signing-cert-file="+pki("ca.crt"),
		"--cluster-signing-key-file="+pki("ca.key"),
		"--allocate-node-cidrs",
		"--node-monitor-grace-period="+nodeGrace.String(),
		"--node-monitor-period=2s",
		"--cluster-cidr="+plan.Net.Pods,
		"--node-cidr-mask-size=23",
		"--service-cluster-ip-range="+plan.Net.Services,
	)
}
