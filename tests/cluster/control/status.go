package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// clusterStatus is what `status --json` prints.
type clusterStatus struct {
	Name       string
	Up         bool
	APIOnly    bool
	Folder     string
	Kubeconfig string
	Server     string
	Network    Network
	Interface  string
	Cgroup     string
	PID        int
	Components []componentStatus
}

func runStatus(ctx context.Context, name string, arguments []string) error {
	folder, err := stateFolder(name)
	if err != nil {
		return err
	}
	s := clusterStatus{Name: name, Folder: folder}
	if r := loadRecord(folder); r.First.alive() {
		plan, err := loadPlan(folder)
		if err != nil {
			return err
		}
		s.Up, s.APIOnly, s.PID, s.Server = true, plan.APIOnly, r.First.PID, plan.server()
		s.Kubeconfig, s.Network = filepath.Join(folder, "kubeconfig"), plan.Net
		s.Interface, s.Cgroup = plan.Link, plan.Cgroup
		if err := order(ctx, folder, "GET", "/status", &s.Components); err != nil {
			return err
		}
	}
	if slices.Contains(arguments, "--json") {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(s)
	}
	s.print()
	return nil
}

func (s clusterStatus) print() {
	if !s.Up {
		fmt.Printf("The cluster %q is down.\n", s.Name)
		return
	}
	fmt.Printf("The cluster %q is up: %s, KUBECONFIG=%s\n", s.Name, s.Server, s.Kubeconfig)
	if !s.APIOnly {
		fmt.Printf("Pods %s, services %s, node %s; pods reach this machine as %s (host.penstock.internal).\n",
			s.Network.Pods, s.Network.Services, s.Network.Node, s.Network.Host)
	}
	for _, c := range s.Components {
		state := "stopped"
		if c.Running {
			state = "running"
		} else if c.Wanted {
			state = "dead, to be restarted: " + c.LastEnd
		}
		fmt.Printf("  %-24s %s", c.Name, state)
		if c.Restarts > 0 {
			fmt.Printf(", %d restarts", c.Restarts)
		}
		fmt.Println()
	}
}
