package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// running is the folder and the plan of a cluster that is up.
func running(name string) (string, *Plan, error) {
	folder, err := stateFolder(name)
	if err != nil {
		return "", nil, err
	}
	if !loadRecord(folder).First.alive() {
		return "", nil, fmt.Errorf("the cluster %q is not up: tests/cluster/cluster --name %s up", name, name)
	}
	plan, err := loadPlan(folder)
	return folder, plan, err
}

func tool(name string) string {
	return filepath.Join(os.Getenv("PENSTOCK_CLUSTER_TOOLS"), name)
}

func runKubeconfig(_ context.Context, name string, arguments []string) error {
	folder, _, err := running(name)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, "kubeconfig")
	if len(arguments) == 0 {
		fmt.Println(path)
		return nil
	}
	text, err := os.ReadFile(path)
	fmt.Print(string(text))
	return err
}

func runKubectl(_ context.Context, name string, arguments []string) error {
	return become(name, "kubectl", arguments)
}

func runHelm(_ context.Context, name string, arguments []string) error {
	return become(name, "helm", arguments)
}

// become puts a program in our place, with the cluster's kubeconfig and no proxy between.
func become(name, program string, arguments []string) error {
	folder, plan, err := running(name)
	if err != nil {
		return err
	}
	environment := append(os.Environ(), "KUBECONFIG="+filepath.Join(folder, "kubeconfig"))
	for _, variable := range []string{"NO_PROXY", "no_proxy"} {
		direct := strings.Trim(os.Getenv(variable)+","+plan.Net.Node, ",")
		environment = append(environment, variable+"="+direct)
	}
	return syscall.Exec(tool(program), append([]string{program}, arguments...), environment)
}

func runPath(_ context.Context, _ string, arguments []string) error {
	if len(arguments) != 1 || !exists(tool(arguments[0])) {
		return fmt.Errorf("path takes the name of one of the programs in %s", os.Getenv("PENSTOCK_CLUSTER_TOOLS"))
	}
	fmt.Println(tool(arguments[0]))
	return nil
}

func runLogs(_ context.Context, name string, arguments []string) error {
	folder, _, err := running(name)
	if err != nil {
		return err
	}
	if len(arguments) != 1 {
		return errors.New("logs takes the name of one component: `status` lists them")
	}
	file, err := os.Open(filepath.Join(folder, "logs", filepath.Base(arguments[0])+".log"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	_, err = io.Copy(os.Stdout, file)
	return err
}

// inNode is a command in the namespaces of a node: 1, or 2 which is entered from within the first.
func inNode(ctx context.Context, folder string, node int, words ...string) *exec.Cmd {
	if node == 2 {
		words = append(intoSecond(loadSecond(folder)), words...)
	}
	first := fmt.Sprint(loadRecord(folder).First.PID)
	enter := append([]string{"--target", first, "--mount", "--net", "--pid", "--ipc", "--uts", "--wd=/", "--"}, words...)
	command := exec.CommandContext(ctx, "nsenter", enter...)
	command.Env = append(os.Environ(), "PATH="+nodeTools+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"CONTAINERD_ADDRESS="+containerdSocket, "CONTAINERD_NAMESPACE=k8s.io")
	return command
}

func runningNode(name string) (string, error) {
	folder, plan, err := running(name)
	if err == nil && plan.APIOnly {
		err = fmt.Errorf("the cluster %q is API-only: it has no node", name)
	}
	return folder, err
}

func runEnter(ctx context.Context, name string, arguments []string) error {
	folder, err := runningNode(name)
	if err != nil {
		return err
	}
	node, arguments, err := takeNode(folder, arguments)
	if err != nil {
		return err
	}
	if len(arguments) == 0 {
		arguments = []string{"/bin/bash"}
	}
	command := inNode(ctx, folder, max(node, 1), arguments...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	return command.Run()
}

// takeNode reads `--node N` at the beginning of arguments; 0 where there is none.
func takeNode(folder string, arguments []string) (int, []string, error) {
	if len(arguments) < 2 || arguments[0] != "--node" {
		return 0, arguments, nil
	}
	switch {
	case arguments[1] == "1":
		return 1, arguments[2:], nil
	case arguments[1] == "2" && loadSecond(folder) != 0:
		return 2, arguments[2:], nil
	}
	return 0, nil, fmt.Errorf("there is no node %s: --node takes 1, or 2 after `join`", arguments[1])
}

// runLoad imports archives of images into the containerd of every node, side by side.
func runLoad(ctx context.Context, name string, files []string) error {
	folder, err := runningNode(name)
	if err != nil {
		return err
	}
	node, files, err := takeNode(folder, files)
	if err != nil {
		return err
	}
	nodes := []int{node}
	if node == 0 {
		nodes = []int{1}
		if loadSecond(folder) != 0 {
			nodes = append(nodes, 2)
		}
	}
	if len(files) == 0 {
		return errors.New("load takes archives of images, docker's or OCI's: load FILE.tar...")
	}
	failures := make([]error, len(nodes)*len(files))
	var all sync.WaitGroup
	for i, file := range files {
		for j, node := range nodes {
			all.Go(func() { failures[i*len(nodes)+j] = load(ctx, folder, node, file) })
		}
	}
	all.Wait()
	return errors.Join(failures...)
}

func load(ctx context.Context, folder string, node int, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	command := inNode(ctx, folder, node, "ctr", "images", "import", "--local", "-")
	var trouble strings.Builder
	command.Stdin, command.Stderr = file, &trouble // by stdin, because the node does not see all of the host's files
	output, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s cannot be loaded: %w: %s", path, err, strings.TrimSpace(trouble.String()))
	}
	for line := range strings.Lines(string(output)) {
		if name, found := strings.CutPrefix(line, "unpacking "); found {
			name, _, _ = strings.Cut(name, " ")
			fmt.Println("loaded", name)
		}
	}
	return nil
}

// runCompact makes old watches end with 410 Gone.
func runCompact(ctx context.Context, name string, _ []string) error {
	folder, _, err := running(name)
	if err != nil {
		return err
	}
	var said string
	if err := order(ctx, folder, "POST", "/compact", &said); err != nil {
		return err
	}
	fmt.Print(said)
	return nil
}

// orderer makes the command that sends one order about a component to the supervisor.
func orderer(verb string) func(context.Context, string, []string) error {
	return func(ctx context.Context, name string, arguments []string) error {
		flags := flag.NewFlagSet(verb, flag.ContinueOnError)
		kill := flags.Bool("kill", false, "end it as `kill -9` does")
		if err := flags.Parse(arguments); err != nil {
			return err
		}
		if flags.NArg() != 1 {
			return fmt.Errorf("%s takes the name of one component: `status` lists them", verb)
		}
		folder, _, err := running(name)
		if err != nil {
			return err
		}
		path := "/components/" + flags.Arg(0) + "/" + verb
		if *kill {
			path += "?kill"
		}
		return explain(folder, order(ctx, folder, "POST", path, nil))
	}
}

// exitCode is that of a program that we ran for the user, or 1.
func exitCode(err error) int {
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() > 0 {
		return ended.ExitCode()
	}
	return 1
}
