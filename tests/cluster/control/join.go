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
	"syscall"
)

// secondNode is what a second node consists of besides its components.
type secondNode struct {
	holder *exec.Cmd // the process that its namespaces belong to
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
