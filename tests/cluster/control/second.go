package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The second node has network, mount, IPC and UTS namespaces of its own within those of the first, and its processes, of
// components and of containers, are in one cgroup, so that they can be made to stand still all at once.

// nodeGrace is how long a node may give no sign of life before the control plane takes it to be away.
const nodeGrace = 20 * time.Second

func secondCgroup(cgroup string) string { return filepath.Join(cgroup, "second") }

func secondKubeletConfig(plan *Plan) object {
	config := kubeletConfig(plan)
	config["tlsCertFile"], config["tlsPrivateKeyFile"] = plan.home("pki/second-kubelet.crt"), plan.home("pki/second-kubelet.key")
	config["cgroupRoot"] = secondCgroup(plan.Cgroup)
	config["healthzBindAddress"] = plan.Net.Second.Node // where the supervisor reaches it
	return config
}

func secondProxyConfig(plan *Plan) object {
	config := proxyConfig(plan)
	config["hostnameOverride"] = plan.second()
	config["healthzBindAddress"] = plan.Net.Second.Node + ":10256"
	return config
}

// secondArguments are the command lines of the second node's components, in the order in which they start.
func secondArguments(plan *Plan) ([]string, map[string][]string) {
	etc := func(name string) string { return plan.home("etc", "second", name) }
	return []string{"second-containerd", "second-kubelet", "second-kube-proxy"}, map[string][]string{
		"second-containerd": {"containerd", "--config=" + etc("containerd.toml"), "--log-level=info"},
		"second-kubelet": {
			"kubelet", "--config=" + etc("kubelet.json"), "--kubeconfig=" + plan.home("etc/second-kubelet.kubeconfig"),
			"--hostname-override=" + plan.second(), "--node-ip=" + plan.Net.Second.Node,
		},
		"second-kube-proxy": {"kube-proxy", "--config=" + etc("kube-proxy.json")},
	}
}

// holdSecond is the life of that process.
func holdSecond(folder string) error {
	plan, err := loadPlan(folder)
	if err != nil {
		return err
	}
	stdin := bufio.NewReader(os.Stdin)
	if _, err := stdin.ReadString('\n'); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(plan.second())); err != nil {
		return err
	}
	own := filepath.Join(folder, "second")
	for _, name := range []string{"var/tmp", "var/lib/kubelet", "var/lib/containerd", "var/log/pods", "var/log/containers"} {
		if err := os.MkdirAll(filepath.Join(own, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.Symlink("/run", filepath.Join(own, "var/run")); err != nil && !os.IsExist(err) {
		return err
	}
	if err := mountAll([]mountStep{
		{"", "/", "", syscall.MS_REC | syscall.MS_SLAVE},
		{filepath.Join(own, "var"), "/var", "", syscall.MS_BIND},
		{"", "/var", "", syscall.MS_SHARED},
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV},
	}); err != nil {
		return err
	}
	if err := connect(plan.Net.Second.Node, plan.Net.Second.Via); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = stdin.ReadString('\n') // until the supervisor ends
	return nil
}

// intoSecond are the words before a command that runs on the second node.
func intoSecond(holder int) []string {
	return []string{"nsenter", "--target", strconv.Itoa(holder), "--mount", "--net", "--ipc", "--uts", "--wd=/", "--"}
}

// loadSecond is the number of the second node's holder, as the first node knows it; 0 where there is none.
func loadSecond(folder string) int {
	text, _ := os.ReadFile(filepath.Join(folder, "second.pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return pid
}

// within becomes a command in a cgroup.
func within(cgroup string, words []string) error {
	if err := enterCgroups(cgroup, os.Getpid()); err != nil {
		return err
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, words, os.Environ())
}
