package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// Plan is what is decided before a cluster starts; every part of it reads the same plan.
type Plan struct {
	Name    string
	Node    string // the node's name; none in an API-only cluster
	APIOnly bool
	Home    string // the state folder, as the components see it
	Tools   string // the folder of the programs, as the components see it
	Cgroup  string // our subtree in every cgroup hierarchy
	Link    string // the host's end of the veth pair
	Net     Network
	Ports   Ports
}

// Ports are where components listen on loopback, and the API server where its clients are.
type Ports struct {
	API, Etcd, EtcdPeer, Controllers int
}

var nodePorts = Ports{API: 6443, Etcd: 2379, EtcdPeer: 2380, Controllers: 10257}

// What the node's own mount namespace shows in place of the host's /mnt.
const (
	nodeHome  = "/mnt"
	nodeTools = "/mnt/tools"
)

var nameForm = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)

func checkName(name string) error {
	if !nameForm.MatchString(name) {
		return fmt.Errorf("%q cannot name a cluster: take up to 40 small letters, digits and hyphens, "+
			"with a letter first", name)
	}
	return nil
}

// stateRoot holds one folder for each cluster.
func stateRoot() (string, error) {
	if root := os.Getenv("PENSTOCK_CLUSTER_DIR"); root != "" {
		return filepath.Abs(root)
	}
	cache := os.Getenv("PENSTOCK_CACHE")
	if cache == "" {
		return "", errors.New("PENSTOCK_CACHE is not set: call the script tests/cluster/cluster, which sets it")
	}
	return filepath.Abs(filepath.Join(cache, "clusters"))
}

// stateFolder is the cluster's folder, whether it exists or not, with no symbolic link above it.
func stateFolder(name string) (string, error) {
	root, err := stateRoot()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	return filepath.Join(root, name), nil
}

// home is a path in the state folder, as the components see it.
func (p *Plan) home(parts ...string) string {
	return filepath.Join(append([]string{p.Home}, parts...)...)
}

// second is the name of the node that may join.
func (p *Plan) second() string {
	return p.Node + "-2"
}

// server is where clients of the API server find it.
func (p *Plan) server() string {
	return fmt.Sprintf("https://%s:%d", p.Net.Node, p.Ports.API)
}

// context is the name of the kubeconfig's context.
func (p *Plan) context() string {
	return "penstock-" + p.Name
}

func (p *Plan) save(folder string) error {
	return writeJSON(filepath.Join(folder, "plan.json"), p)
}

func loadPlan(folder string) (*Plan, error) {
	plan := &Plan{}
	return plan, readJSON(filepath.Join(folder, "plan.json"), plan)
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, string(text)+"\n")
}

func readJSON(path string, value any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// writeFile writes a file that only its owner reads, with the folders above it, whole or not at all.
func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	unfinished := path + ".unfinished"
	if err := os.WriteFile(unfinished, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// linkOf and cgroupOf name what a cluster has outside of its folder. The folder is in the names, so that clusters of
// the same name in different state folders never touch each other.
func linkOf(folder string) string {
	return "ps-" + shortHash(folder)
}

func cgroupOf(folder string) string {
	return "/penstock-" + filepath.Base(folder) + "-" + shortHash(folder)
}
