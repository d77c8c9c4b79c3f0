package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

// checks ask each component whether it is well.
func checks(plan *Plan, admin *web) map[string]func(context.Context) error {
	ask := func(url string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := admin.get(ctx, url)
			return err
		}
	}
	return map[string]func(context.Context) error{
		"etcd":                    ask(plan.etcd() + "/health"),
		"kube-apiserver":          ask(plan.server() + "/readyz"),
		"kube-controller-manager": ask(fmt.Sprintf("https://127.0.0.1:%d/healthz", plan.Ports.Controllers)),
		"kube-scheduler":          ask("https://127.0.0.1:10259/healthz"),
		"kubelet":                 ask("http://127.0.0.1:10248/healthz"),
		"kube-proxy":              ask("http://127.0.0.1:10256/livez"),
		"coredns":                 ask("http://127.0.0.1:8181/ready"),
		"containerd":              answersAt(containerdSocket),
	}
}

// answersAt asks whether a process listens at a socket.
func answersAt(socket string) func(context.Context) error {
	return func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return err
		}
		return connection.Close()
	}
}

// nodeReady asks whether the scheduler may place pods on a node.
func nodeReady(ctx context.Context, plan *Plan, admin *web, name string) error {
	text, err := admin.get(ctx, plan.server()+"/api/v1/nodes/"+name)
	if err != nil {
		return err
	}
	var node struct {
		Spec   struct{ Taints []struct{ Key string } }
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(text, &node); err != nil {
		return err
	}
	if len(node.Spec.Taints) > 0 {
		return fmt.Errorf("the node has the taint %s", node.Spec.Taints[0].Key)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == "Ready" && condition.Status == "True" {
			return nil
		} else if condition.Type == "Ready" {
			return errors.New(condition.Message)
		}
	}
	return errors.New("the node has not yet said how it is")
}

// podsAllowed asks for what every pod of the namespace `default` needs.
func podsAllowed(ctx context.Context, plan *Plan, admin *web) error {
	for _, path := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		if _, err := admin.get(ctx, plan.server()+"/api/v1/namespaces/default/"+path); err != nil {
			return err
		}
	}
	return nil
}
