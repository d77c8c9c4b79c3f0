package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// connectHost joins the host to the network namespace of the process, with a route to pods and one to services.
func connectHost(plan *Plan, pid int) error {
	via := " via " + plan.Net.Node + " dev " + plan.Link
	return runAll(
		fmt.Sprintf("ip link add %s type veth peer name eth0 netns %d", plan.Link, pid),
		"ip address add "+plan.Net.Host+"/30 dev "+plan.Link,
		"ip link set "+plan.Link+" up",
		"ip route add "+plan.Net.Pods+via,
		"ip route add "+plan.Net.Services+via,
	)
}

// disconnectHost removes the link and with it its addresses and routes.
func disconnectHost(link string) error {
	if _, err := net.InterfaceByName(link); err != nil {
		return nil
	}
	err := runAll("ip link delete " + link)
	if _, gone := net.InterfaceByName(link); gone != nil {
		return nil // the kernel was faster: the link ends with the namespace too
	}
	return err
}

// cgroupRoots are where the cgroup hierarchies of the machine are mounted: one with version 2, several with version 1.
func cgroupRoots() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	var roots []string
	for line := range strings.Lines(string(text)) {
		before, after, found := strings.Cut(line, " - ")
		values := strings.Fields(before)
		if found && len(values) > 4 && strings.HasPrefix(after, "cgroup") && strings.HasPrefix(values[4], "/sys/fs/") {
			roots = append(roots, values[4])
		}
	}
	return roots, nil
}

// enterCgroups makes the cluster's subtree in every hierarchy and puts the process into a group `system` there, beside
// which the kubelet makes its own.
func enterCgroups(cgroup string, pid int) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	for _, root := range roots {
		folder := filepath.Join(root, cgroup)
		for _, group := range []string{folder, filepath.Join(folder, "system")} {
			if err := os.Mkdir(group, 0o755); err != nil && !os.IsExist(err) {
				return fmt.Errorf("the cgroup %s cannot be made: %w", group, err)
			}
			inheritCPUSet(group)
		}
		processes := filepath.Join(folder, "system", "cgroup.procs")
		if err := os.WriteFile(processes, []byte(strconv.Itoa(pid)), 0o600); err != nil {
			return fmt.Errorf("process %d cannot be put into the cgroup %s: %w", pid, folder, err)
		}
	}
	return nil
}

// inheritCPUSet gives a group of the version 1 hierarchy `cpuset` what its parent has; an empty one takes no process.
func inheritCPUSet(group string) {
	for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
		if inherited, err := os.ReadFile(filepath.Join(filepath.Dir(group), name)); err == nil {
			_ = os.WriteFile(filepath.Join(group, name), inherited, 0o600)
		}
	}
}

// removeCgroups removes the cluster's subtrees, from the leaves on, and kills what still lives in them.
func removeCgroups(cgroup string, limit time.Duration) error {
	roots, err := cgroupRoots()
	if err != nil {
		return err
	}
	deadline := time.Now().Add(limit)
	for _, root := range roots {
		folder := filepath.Join(root, cgroup)
		for exists(folder) {
			err := removeGroup(folder)
			if err == nil {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the cgroup %s cannot be removed: %w", folder, err)
			}
			time.Sleep(20 * time.Millisecond) // a group stays busy for a moment after its last process
		}
	}
	return nil
}

func removeGroup(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(folder, entry.Name())); err != nil {
				return err
			}
		}
	}
	text, _ := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	return os.Remove(folder)
}

// needed tells which programs are missing that a node cannot do without.
func needed() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("a cluster with a node needs root, for namespaces and mounts: " +
			"run it with sudo, or take --api-only, which needs no root")
	}
	for program, pkg := range map[string]string{"ip": "iproute2", "iptables": "iptables", "nsenter": "util-linux"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("`%s` is missing: install it (Debian, Ubuntu: apt-get install %s)", program, pkg)
		}
	}
	return nil
}
