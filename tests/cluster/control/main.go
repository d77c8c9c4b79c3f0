// Control brings Penstock's test cluster up and down. The script `cluster` builds and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// command is something that a user can ask for. Its arguments are what follows its name.
type command struct {
	usage string
	help  string
	run   func(ctx context.Context, name string, arguments []string) error
}

var commands map[string]command

// shown are the commands for users, in the order in which help lists them.
var shown = []string{
	"up", "down", "status", "kubeconfig", "load", "image", "kubectl", "helm", "enter", "logs", "start", "stop", "restart",
	"compact", "join", "leave", "freeze", "thaw", "path",
}

func init() {
	commands = map[string]command{
		"up":         {"[--api-only | --nodes 2] [--with-parent PID]", "start it, and wait until it is ready", runUp},
		"down":       {"", "end it, and remove everything that it was", runDown},
		"status":     {"[--json]", "show its components and addresses", runStatus},
		"kubeconfig": {"[--raw]", "print the path of its kubeconfig, or the file", runKubeconfig},
		"load":       {"[--node 1|2] FILE.tar...", "import archives of images, docker's or OCI's, into all nodes", runLoad},
		"image": {"--reference NAME --out FILE.tar [--entrypoint PATH] [--user UID:GID] SOURCE=PATH...",
			"write an archive with an image of these files", runImage},
		"kubectl": {"...", "run kubectl on it", runKubectl},
		"helm":    {"...", "run helm on it", runHelm},
		"enter":   {"[COMMAND...]", "run a command as on the node: ctr, ip, iptables, ps", runEnter},
		"logs":    {"COMPONENT", "print a component's log", runLogs},
		"start":   {"COMPONENT", "start a component that was stopped", orderer("start")},
		"stop":    {"[--kill] COMPONENT", "stop a component; it stays so until it is started", orderer("stop")},
		"restart": {"[--kill] COMPONENT", "stop a component and start it", orderer("restart")},
		"compact": {"", "forget old revisions: watches from before get 410 Gone", runCompact},
		"join":    {"", "have a second node", orderOfSecond("join")},
		"leave":   {"", "end the second node and all that runs there, and forget it", orderOfSecond("leave")},
		"freeze":  {"", "let everything on the second node stand still", runFreeze(true)},
		"thaw":    {"", "let it go on", runFreeze(false)},
		"path":    {"TOOL", "print the path of a program: kubectl, helm, etcd...", runPath},
		// What we start ourselves.
		"first":     {run: func(_ context.Context, _ string, a []string) error { return beFirst(a[0], a[1]) }},
		"supervise": {run: func(_ context.Context, _ string, a []string) error { return supervise(a[0]) }},
		"keep":      {run: runKeep},
		"hold":      {run: func(_ context.Context, _ string, a []string) error { return holdSecond(a[0]) }},
		"within":    {run: func(_ context.Context, _ string, a []string) error { return within(a[0], a[1:]) }},
	}
}

func main() {
	name := os.Getenv("PENSTOCK_CLUSTER_NAME")
	if name == "" {
		name = "own"
	}
	flags := flag.NewFlagSet("cluster", flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&name, "name", name, "the cluster's name")
	flags.Usage = usage
	if err := flags.Parse(os.Args[1:]); err != nil {
		os.Exit(2)
	}
	chosen, known := commands[flags.Arg(0)]
	if !known {
		usage()
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	arguments := flags.Args()[1:]
	if passes := map[string]bool{"kubectl": true, "helm": true, "enter": true, "within": true}; !passes[flags.Arg(0)] {
		name, arguments = takeName(name, arguments)
	}
	err := checkName(name)
	if err == nil {
		err = chosen.run(ctx, name, arguments)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitCode(err))
	}
}

// takeName allows `--name NAME` behind a command of ours as well.
func takeName(name string, arguments []string) (string, []string) {
	for i, word := range arguments {
		if word == "--name" && i+1 < len(arguments) {
			return arguments[i+1], append(append([]string{}, arguments[:i]...), arguments[i+2:]...)
		}
	}
	return name, arguments
}

func usage() {
	fmt.Fprint(os.Stderr, "A Kubernetes of our own on this machine, for tests: cluster [--name NAME] COMMAND\n\n")
	for _, name := range shown {
		fmt.Fprintf(os.Stderr, "  %s %s\n             %s\n", name, commands[name].usage, commands[name].help)
	}
	fmt.Fprint(os.Stderr, "  build [--api-only]\n             fetch and build what is missing\n\n"+
		"NAME is `own` unless PENSTOCK_CLUSTER_NAME says otherwise. See tests/cluster/README.md.\n")
}

func runUp(ctx context.Context, name string, arguments []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	apiOnly := flags.Bool("api-only", false, "an API server without a node, without root")
	nodes := flags.Int("nodes", 1, "how many nodes: 1 or 2")
	parent := flags.Int("with-parent", 0, "take the cluster down when this process ends")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *nodes < 1 || *nodes > 2 || (*apiOnly && *nodes == 2) {
		return errors.New("a cluster has one node, or two with --nodes 2; with --api-only it has none")
	}
	return up(ctx, name, upOptions{apiOnly: *apiOnly, nodes: *nodes, parent: *parent})
}

func runDown(_ context.Context, name string, _ []string) error {
	return down(name)
}

func runKeep(_ context.Context, name string, arguments []string) error {
	var processes [2]Process
	for i := range processes {
		pid, err := strconv.Atoi(arguments[2*i])
		if err != nil {
			return err
		}
		processes[i] = Process{PID: pid, Begun: arguments[2*i+1]}
	}
	return keep(name, processes[0], processes[1])
}
