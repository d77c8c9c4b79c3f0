package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// launch decides on the plan, writes what the components read, and starts the cluster's processes.
func launch(name, folder string, options upOptions, parent Process) error {
	tools := os.Getenv("PENSTOCK_CLUSTER_TOOLS")
	if !options.apiOnly {
		if err := needed(); err != nil {
			return err
		}
		unlock, err := lockNetwork()
		if err != nil {
			return err
		}
		defer unlock() // by then the addresses are taken
	}
	plan, err := newPlan(name, folder, tools, options.apiOnly)
	if err != nil {
		return err
	}
	if err := plan.save(folder); err != nil {
		return err
	}
	if err := writePKI(plan, folder); err != nil {
		return err
	}
	if err := writeKubeconfigs(plan, folder); err != nil {
		return err
	}
	announce(plan, folder)
	first, err := startFirst(plan, folder, tools)
	if err != nil {
		return err
	}
	r := record{First: first}
	if parent.PID != 0 {
		if r.Keeper, err = startKeeper(name, first, parent); err != nil {
			return err
		}
	}
	return r.save(folder)
}

func newPlan(name, folder, tools string, apiOnly bool) (*Plan, error) {
	plan := &Plan{Name: name, APIOnly: apiOnly, Home: folder, Tools: tools, Net: loopback()}
	if apiOnly {
		ports, err := freePorts(4)
		if err != nil {
			return nil, err
		}
		plan.Ports = Ports{API: ports[0], Etcd: ports[1], EtcdPeer: ports[2], Controllers: ports[3]}
		return plan, nil
	}
	network, err := chooseNetwork()
	if err != nil {
		return nil, err
	}
	plan.Net, plan.Ports = network, nodePorts
	plan.Home, plan.Tools = nodeHome, nodeTools
	plan.Node, plan.Cgroup, plan.Link = "penstock-"+name, cgroupOf(folder), linkOf(folder)
	return plan, writeConfigs(plan, folder)
}

// announce says what the cluster changes on the machine.
func announce(plan *Plan, folder string) {
	if plan.APIOnly {
		fmt.Printf("Cluster %q, API only: processes on 127.0.0.1:%d (API server), %d, %d, %d; folder %s\n", plan.Name,
			plan.Ports.API, plan.Ports.Etcd, plan.Ports.EtcdPeer, plan.Ports.Controllers, folder)
		return
	}
	fmt.Printf(`Cluster %q changes this on the machine, and `+"`down`"+` takes it back:
  namespaces  network, mount, PID, IPC and UTS, of the cluster's own processes
  interface   %s, %s/30, to the node %s
  routes      %s (pods) and %s (services) by that interface
  cgroups     %s in every hierarchy
  folder      %s
`, plan.Name, plan.Link, plan.Net.Host, plan.Net.Node, plan.Net.Pods, plan.Net.Services, plan.Cgroup, folder)
}

// startFirst starts the first process of the cluster, detached from us.
func startFirst(plan *Plan, folder, tools string) (Process, error) {
	if err := os.MkdirAll(filepath.Join(folder, "logs"), 0o755); err != nil {
		return Process{}, err
	}
	log, err := os.OpenFile(filepath.Join(folder, "logs", "supervisor.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(ourselves(), "supervise", folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !plan.APIOnly {
		command.Args = []string{command.Path, "first", folder, tools}
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	}
	command.Dir, command.Stdout, command.Stderr = "/", log, log
	stdin, err := command.StdinPipe()
	if err != nil {
		return Process{}, err
	}
	if err := command.Start(); err != nil {
		return Process{}, fmt.Errorf("the cluster's first process cannot be started: %w", err)
	}
	go func() { _ = command.Wait() }()
	first, err := processOf(command.Process.Pid)
	if err != nil {
		return first, err
	}
	if err := (record{First: first}).save(folder); err != nil { // before anything that `down` must undo
		_ = command.Process.Kill()
		return first, err
	}
	if plan.APIOnly {
		return first, nil
	}
	if err := enterCgroups(plan.Cgroup, first.PID); err != nil {
		return first, err
	}
	if err := connectHost(plan, first.PID); err != nil {
		return first, err
	}
	_, err = io.WriteString(stdin, "go\n")
	return first, err
}

// startKeeper starts the process that takes the cluster down when the parent has ended.
func startKeeper(name string, first, parent Process) (Process, error) {
	keeper := exec.Command(ourselves(), "--name", name, "keep",
		strconv.Itoa(first.PID), first.Begun, strconv.Itoa(parent.PID), parent.Begun)
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	keeper.Dir = "/"
	if err := keeper.Start(); err != nil {
		return Process{}, err
	}
	go func() { _ = keeper.Wait() }()
	return processOf(keeper.Process.Pid)
}
