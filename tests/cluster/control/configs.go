package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

type object = map[string]any

const (
	containerdSocket = "/run/containerd/containerd.sock"
	pauseImage       = "registry.k8s.io/pause:3.10"
)

// writeConfigs writes the configuration files of the node's components.
func writeConfigs(plan *Plan, folder string) error {
	etc := filepath.Join(folder, "etc")
	for name, config := range map[string]object{
		"kubelet.json":                    kubeletConfig(plan),
		"kube-proxy.json":                 proxyConfig(plan),
		"cni/10-penstock.conflist":        podNetwork(plan.Net.First),
		"kube-scheduler.json":             schedulerConfig(plan),
		"second/kubelet.json":             secondKubeletConfig(plan),
		"second/kube-proxy.json":          secondProxyConfig(plan),
		"second/cni/10-penstock.conflist": podNetwork(plan.Net.Second.Pods),
	} {
		if err := writeJSON(filepath.Join(etc, name), config); err != nil {
			return err
		}
	}
	for folder, cni := range map[string]string{"": "etc/cni", "second": "etc/second/cni"} {
		if err := writeFile(filepath.Join(etc, folder, "containerd.toml"), containerdConfig(plan, cni)); err != nil {
			return err
		}
	}
	if err := writeFile(filepath.Join(etc, "resolv.conf"), "nameserver "+plan.Net.Node+"\n"); err != nil {
		return err
	}
	return writeFile(filepath.Join(etc, "Corefile"), corefile(plan))
}

func kubeletConfig(plan *Plan) object {
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1",
		"kind":       "KubeletConfiguration",
		"authentication": object{
			"anonymous": object{"enabled": false},
			"webhook":   object{"enabled": true},
			"x509":      object{"clientCAFile": plan.home("pki/ca.crt")},
		},
		"authorization":            object{"mode": "Webhook"},
		"tlsCertFile":              plan.home("pki/kubelet.crt"),
		"tlsPrivateKeyFile":        plan.home("pki/kubelet.key"),
		"containerRuntimeEndpoint": "unix://" + containerdSocket,
		"cgroupDriver":             "cgroupfs",
		"cgroupRoot":               plan.Cgroup,
		"failCgroupV1":             false,
		"failSwapOn":               false,
		"clusterDNS":               []string{plan.Net.DNS},
		"clusterDomain":            "cluster.local",
		"resolvConf":               plan.home("etc/resolv.conf"),
		"maxPods":                  250,
		"volumePluginDir":          "/var/lib/kubelet/volumeplugins",
		"serializeImagePulls":      false,
		"nodeLeaseDurationSeconds": 20, // a sign of life every 5 s; nodeGrace without one is a node that is away
		// The disk is the developer's: neither evict pods nor collect images because others fill it.
		"imageGCHighThresholdPercent": 100,
		"evictionHard": object{
			"memory.available": "50Mi", "nodefs.available": "0%", "nodefs.inodesFree": "0%",
			"imagefs.available": "0%", "imagefs.inodesFree": "0%",
		},
	}
}

func proxyConfig(plan *Plan) object {
	return object{
		"apiVersion":         "kubeproxy.config.k8s.io/v1alpha1",
		"kind":               "KubeProxyConfiguration",
		"clientConnection":   object{"kubeconfig": plan.home("etc/kube-proxy.kubeconfig")},
		"clusterCIDR":        plan.Net.Pods,
		"hostnameOverride":   plan.Node,
		"mode":               "iptables",
		"healthzBindAddress": "127.0.0.1:10256",
		"iptables":           object{"minSyncPeriod": "100ms", "localhostNodePorts": false},
		// Zero leaves alone the kernel's settings, which are not the cluster's own.
		"conntrack": object{
			"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s",
		},
	}
}

func schedulerConfig(plan *Plan) object {
	return object{
		"apiVersion":       "kubescheduler.config.k8s.io/v1",
		"kind":             "KubeSchedulerConfiguration",
		"clientConnection": object{"kubeconfig": plan.home("etc/kube-scheduler.kubeconfig")},
		"leaderElection":   object{"leaderElect": false},
	}
}

// podNetwork routes to each pod by a link of its own. A bridge would need the module br_netfilter for services: answers
// from pod to pod across it are never routed, so that the address of the service is not put back in.
func podNetwork(addresses string) object {
	return object{
		"cniVersion": "1.0.0",
		"name":       "penstock",
		"plugins": []object{
			{
				"type":   "ptp",
				"ipMasq": false,
				"ipam": object{
					"type":    "host-local",
					"dataDir": "/var/lib/cni",
					"ranges":  [][]object{{{"subnet": addresses}}},
					"routes":  []object{{"dst": "0.0.0.0/0"}},
				},
			},
			{"type": "portmap", "capabilities": object{"portMappings": true}},
		},
	}
}

// containerdConfig differs from containerd's defaults in what a machine without a registry, and root without
// CAP_SYS_RESOURCE (restrict_oom_score_adj), need. The unpacker is named because containerd 2.3 otherwise refuses to
// start where mkfs.erofs is older than it expects.
func containerdConfig(plan *Plan, cni string) string {
	return strings.NewReplacer(
		"SOCKET", containerdSocket, "TOOLS", plan.Tools, "CNI", plan.home(cni), "PAUSE", pauseImage,
		"PLATFORM", "linux/"+runtime.GOARCH,
	).Replace(`version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
address = "SOCKET"

[plugins."io.containerd.cri.v1.images"]
snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "PAUSE"

[plugins."io.containerd.cri.v1.runtime"]
restrict_oom_score_adj = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["TOOLS"]
conf_dir = "CNI"
[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = "TOOLS/runc"
SystemdCgroup = false

[[plugins."io.containerd.transfer.v1.local".unpack_config]]
platform = "PLATFORM"
snapshotter = "overlayfs"
differ = "walking"
`)
}

// corefile answers for the cluster, and for `host.penstock.internal`, the machine outside. There is no other network,
// so that every other name is said not to exist, at once.
func corefile(plan *Plan) string {
	return fmt.Sprintf(`cluster.local:53 in-addr.arpa:53 {
    errors
    ready 127.0.0.1:8181
    kubernetes cluster.local in-addr.arpa {
        kubeconfig %s
        ttl 1
    }
}
host.penstock.internal:53 {
    errors
    hosts {
        %s host.penstock.internal
        ttl 5
    }
}
.:53 {
    template ANY ANY {
        rcode NXDOMAIN
    }
}
`, plan.home("etc/coredns.kubeconfig"), plan.Net.Host)
}
