package main

import (
	"bufio"
	"context"
	"errors"
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

// secondNode is what a second node consists of besides its components.
type secondNode struct {
	holder *exec.Cmd // the process that its namespaces belong to
}

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

// join brings the second node up, if it is not, and returns when pods may be placed there.
func (s *supervisor) join(ctx context.Context) error {
	s.joining.Lock()
	defer s.joining.Unlock()
	if s.plan.APIOnly {
		return errors.New("an API-only cluster has no node, and so no second one")
	}
	if s.second != nil {
		return nil
	}
	err := s.bringUpSecond(ctx)
	if err != nil {
		_ = s.takeSecondDown()
	}
	return err
}

func (s *supervisor) bringUpSecond(ctx context.Context) error {
	holder, err := s.hold()
	if err != nil {
		return fmt.Errorf("the second node's namespaces cannot be made: %w", err)
	}
	pid := holder.Process.Pid
	if err := writeFile(filepath.Join(s.folder, "second.pid"), strconv.Itoa(pid)); err != nil {
		return err
	}
	names, arguments := secondArguments(s.plan)
	health := s.secondChecks(pid)
	for _, name := range names {
		log, err := openLog(filepath.Join(s.folder, "logs", name+".log"))
		if err != nil {
			return err
		}
		words := append(intoSecond(pid), filepath.Join(s.plan.Tools, arguments[name][0]))
		c := &component{
			name: name, path: filepath.Join(s.plan.Tools, "control"), env: s.environment(), log: log, check: health[name],
			arguments: append(append([]string{"within", secondCgroup(s.plan.Cgroup)}, words...), arguments[name][1:]...),
		}
		s.mu.Lock()
		s.components[name] = c
		s.mu.Unlock()
		c.launch()
		if err := c.await(ctx); err != nil {
			return err
		}
		if name == "second-containerd" {
			if err := s.loadPause(ctx, intoSecond(pid)); err != nil {
				return err
			}
		}
	}
	return named("second-kubelet", until(ctx, func() error { return nodeReady(ctx, s.plan, s.admin, s.plan.second()) }))
}

// hold starts the process that the node's namespaces belong to, and connects them with the first node's.
func (s *supervisor) hold() (*exec.Cmd, error) {
	holder := exec.Command(filepath.Join(s.plan.Tools, "control"), "hold", s.folder)
	holder.Env, holder.Dir, holder.Stderr = s.environment(), "/", os.Stderr
	holder.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig:  syscall.SIGKILL,
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
	}
	stdin, err := holder.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := holder.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startOnSteadyThread(holder); err != nil {
		return nil, err
	}
	s.second = &secondNode{holder}
	if err := enterCgroups(secondCgroup(s.plan.Cgroup), holder.Process.Pid); err != nil {
		return nil, err
	}
	second := s.plan.Net.Second
	if err := runAll(
		fmt.Sprintf("ip link add second type veth peer name eth0 netns %d", holder.Process.Pid),
		"ip address add "+second.Via+"/30 dev second",
		"ip link set second up",
		"ip route add "+second.Pods+" via "+second.Node+" dev second",
	); err != nil {
		return nil, err
	}
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		return nil, err
	}
	if word, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || word != "ready\n" {
		return nil, errors.New("see the supervisor's log")
	}
	return holder, nil
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

func (s *supervisor) secondChecks(holder int) map[string]func(context.Context) error {
	ask := func(port int) func(context.Context) error {
		url := fmt.Sprintf("http://%s:%d/", s.plan.Net.Second.Node, port)
		return func(ctx context.Context) error {
			_, err := s.admin.get(ctx, url+map[int]string{10248: "healthz", 10256: "livez"}[port])
			return err
		}
	}
	return map[string]func(context.Context) error{
		"second-containerd": answersAt(fmt.Sprintf("/proc/%d/root%s", holder, containerdSocket)),
		"second-kubelet":    ask(10248),
		"second-kube-proxy": ask(10256),
	}
}

// leave ends the second node as a machine that is switched off, and has the control plane forget it.
func (s *supervisor) leave(ctx context.Context) error {
	s.joining.Lock()
	defer s.joining.Unlock()
	if s.second == nil {
		return nil
	}
	if err := s.takeSecondDown(); err != nil {
		return err
	}
	return s.admin.delete(ctx, s.plan.server()+"/api/v1/nodes/"+s.plan.second())
}

func (s *supervisor) takeSecondDown() error {
	cgroup := secondCgroup(s.plan.Cgroup)
	if err := freeze(cgroup, false); err != nil {
		return err
	}
	names, _ := secondArguments(s.plan)
	for _, name := range names {
		s.mu.Lock()
		c := s.components[name]
		delete(s.components, name)
		s.mu.Unlock()
		if c != nil {
			c.stop(true)
		}
	}
	if s.second != nil {
		_ = s.second.holder.Process.Kill()
		_ = s.second.holder.Wait()
	}
	s.second = nil
	if err := removeCgroups(cgroup, endLimit); err != nil { // containers end with it
		return err
	}
	if err := disconnectHost("second"); err != nil {
		return err
	}
	_ = os.Remove(filepath.Join(s.folder, "second.pid"))
	return os.RemoveAll(filepath.Join(s.folder, "second"))
}

// freeze makes all processes of a cgroup stand still, or go on. It is nothing where there is no such group.
func freeze(cgroup string, frozen bool) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		for file, words := range map[string][2]string{"freezer.state": {"THAWED", "FROZEN"}, "cgroup.freeze": {"0", "1"}} {
			path := filepath.Join(root, cgroup, file)
			if !exists(path) {
				continue
			}
			word := words[0]
			if frozen {
				word = words[1]
			}
			if err := os.WriteFile(path, []byte(word), 0o600); err != nil {
				return fmt.Errorf("the cgroup %s cannot be made %s: %w", cgroup, word, err)
			}
		}
	}
	return nil
}

// orderOfSecond makes the command that sends the supervisor an order about the second node.
func orderOfSecond(verb string) func(context.Context, string, []string) error {
	return func(ctx context.Context, name string, _ []string) error {
		folder, err := runningNode(name)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, upLimit)
		defer cancel()
		return explain(folder, order(ctx, folder, "POST", "/second/"+verb, nil))
	}
}

// runFreeze makes the command that lets the second node stand still, or go on.
func runFreeze(frozen bool) func(context.Context, string, []string) error {
	return func(_ context.Context, name string, _ []string) error {
		folder, err := runningNode(name)
		if err != nil {
			return err
		}
		if loadSecond(folder) == 0 {
			return errors.New("there is no second node: `join` brings one")
		}
		return freeze(secondCgroup(cgroupOf(folder)), frozen)
	}
}
