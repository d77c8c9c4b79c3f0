package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// beFirst is the life of the first process in a node's namespaces: it makes the mounts and the network there, starts
// the supervisor, and buries whom others leave behind. When it dies, the kernel kills everything in the namespaces.
func beFirst(folder, tools string) error {
	plan, err := loadPlan(folder)
	if err != nil {
		return err
	}
	if word, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil || word != "go\n" {
		return fmt.Errorf("the command that was to connect the node has ended before it did")
	}
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	if err := syscall.Sethostname([]byte(plan.Node)); err != nil {
		return err
	}
	if err := mountNode(folder, tools); err != nil {
		return fmt.Errorf("the node's mounts cannot be made: %w", err)
	}
	if err := connect(plan.Net.Node, plan.Net.Host); err != nil {
		return fmt.Errorf("the node's network cannot be made: %w", err)
	}
	child := exec.Command(filepath.Join(nodeTools, "control"), "supervise", nodeHome)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	if err := child.Start(); err != nil {
		return err
	}
	return bury(child.Process.Pid)
}

// bury waits for every process that ends here, until the one that matters does.
func bury(child int) error {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == syscall.EINTR {
			continue
		} else if err != nil {
			return err
		}
		if pid == child {
			return fmt.Errorf("the supervisor has ended: exit code %d, signal %d", status.ExitStatus(), status.Signal())
		}
	}
}

// kernelSettings are those of the whole machine that the kubelet would change. It sees them as it wants them.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// mountNode gives the node a /var, a /run and a /proc of its own, and the state folder and the tools below /mnt. The
// rest of the tree is the machine's.
func mountNode(folder, tools string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("/: %w", err)
	}
	for _, name := range []string{
		"tools", "tmp", "etcd", "sysctl", "var/tmp", "var/lib/kubelet", "var/lib/containerd", "var/log/pods",
		"var/log/containers",
	} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(folder, "etcd"), 0o700); err != nil {
		return err
	}
	if err := os.Symlink("/run", filepath.Join(folder, "var/run")); err != nil && !os.IsExist(err) {
		return err
	}
	if err := mountAll([]mountStep{
		{tools, filepath.Join(folder, "tools"), "", syscall.MS_BIND},
		{folder, nodeHome, "", syscall.MS_BIND | syscall.MS_REC},
		{nodeHome + "/var", "/var", "", syscall.MS_BIND},
		{"", "/var", "", syscall.MS_SHARED}, // so that mounts that a pod's container makes are seen by others, if asked for
		{"tmpfs", "/run", "tmpfs", syscall.MS_NOSUID | syscall.MS_NODEV},
		{"proc", "/proc", "proc", syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC},
	}); err != nil {
		return err
	}
	return hideKernelSettings()
}

type mountStep struct {
	from, to, kind string
	flags          uintptr
}

func mountAll(steps []mountStep) error {
	for _, step := range steps {
		if err := syscall.Mount(step.from, step.to, step.kind, step.flags, ""); err != nil {
			return fmt.Errorf("%s on %s: %w", step.from, step.to, err)
		}
	}
	return nil
}

func hideKernelSettings() error {
	for setting, value := range kernelSettings {
		path := filepath.Join(nodeHome, "sysctl", strings.ReplaceAll(setting, "/", "."))
		if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := syscall.Mount(path, "/proc/sys/"+setting, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("/proc/sys/%s: %w", setting, err)
		}
	}
	return nil
}

// connect sets up a node's end of its link.
func connect(node, via string) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1\n"), 0o600); err != nil {
		return err
	}
	return runAll(
		"ip link set lo up",
		"ip address add "+node+"/30 dev eth0",
		"ip link set eth0 up",
		"ip route add default via "+via,
	)
}

// runAll runs commands without quoting, one after the other.
func runAll(commands ...string) error {
	for _, command := range commands {
		words := strings.Fields(command)
		if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("`%s`: %w: %s", command, err, strings.TrimSpace(string(output)))
		}
	}
	return nil
}
