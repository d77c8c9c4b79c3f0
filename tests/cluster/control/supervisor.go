package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// upLimit is how long a cluster may take to come up.
const upLimit = 120 * time.Second

// supervisor keeps a cluster's components running and takes orders by a socket in the state folder.
type supervisor struct {
	plan       *Plan
	folder     string // the state folder, as we see it
	admin      *web
	mu         sync.Mutex // of the components, which a second node adds to
	components map[string]*component
	joining    sync.Mutex
	second     *secondNode
	ready      chan struct{} // closed when the cluster is ready, or has failed for good
	failed     error
	took       time.Duration
}

// supervise runs a cluster until it is killed.
func supervise(folder string) error {
	plan, err := loadPlan(folder)
	if err != nil {
		return err
	}
	admin, err := newWeb(filepath.Join(folder, "pki"), "admin")
	if err != nil {
		return err
	}
	s := &supervisor{plan: plan, folder: folder, admin: admin, ready: make(chan struct{})}
	if err := s.prepare(); err != nil {
		return err
	}
	listener, err := listenAt(folder)
	if err != nil {
		return err
	}
	go s.bringUp()
	return (&http.Server{Handler: s.orders(), ReadHeaderTimeout: time.Minute}).Serve(listener)
}

func (s *supervisor) prepare() error {
	s.components = map[string]*component{}
	health := checks(s.plan, s.admin)
	for name, arguments := range componentArguments(s.plan) {
		log, err := openLog(filepath.Join(s.folder, "logs", name+".log"))
		if err != nil {
			return err
		}
		s.components[name] = &component{
			name: name, path: filepath.Join(s.plan.Tools, name), arguments: arguments, env: s.environment(),
			log: log, check: health[name],
		}
	}
	return nil
}

// environment is what components see: no proxies, no developer's settings.
func (s *supervisor) environment() []string {
	return []string{
		"PATH=" + s.plan.Tools + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + s.plan.Home,
		"TMPDIR=" + s.plan.home("tmp"),
	}
}

// bringUp starts everything in the order in which it is needed, as much at once as can be.
func (s *supervisor) bringUp() {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), upLimit)
	defer cancel()
	node := make(chan error, 1)
	if s.plan.APIOnly {
		node <- nil
	} else {
		go func() { node <- s.startRuntime(ctx) }()
	}
	err := s.startControlPlane(ctx)
	if err == nil {
		err = <-node
	}
	if err == nil && !s.plan.APIOnly {
		err = s.startNode(ctx)
	}
	if err == nil {
		err = named("kube-controller-manager", until(ctx, func() error { return podsAllowed(ctx, s.plan, s.admin) }))
	}
	s.failed, s.took = err, time.Since(begun)
	close(s.ready)
}

// named makes an error a failure of the component.
func named(component string, err error) error {
	if err == nil {
		return nil
	}
	return &failure{component, err.Error()}
}

func (s *supervisor) startControlPlane(ctx context.Context) error {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		s.components[name].launch()
		if err := s.components[name].await(ctx); err != nil {
			return err
		}
	}
	s.components["kube-controller-manager"].launch()
	return nil
}

// startRuntime starts containerd and gives it the one image that it needs itself.
func (s *supervisor) startRuntime(ctx context.Context) error {
	containerd := s.components["containerd"]
	containerd.launch()
	if err := containerd.await(ctx); err != nil {
		return err
	}
	return s.loadPause(ctx, nil)
}

// loadPause imports the pause image; the words lead to the node.
func (s *supervisor) loadPause(ctx context.Context, words []string) error {
	words = append(words, filepath.Join(s.plan.Tools, "ctr"), "--namespace=k8s.io",
		"--address="+containerdSocket, "images", "import", "--local", filepath.Join(s.plan.Tools, "pause.tar"))
	load := exec.CommandContext(ctx, words[0], words[1:]...)
	load.Env = s.environment()
	if output, err := load.CombinedOutput(); err != nil {
		return &failure{"containerd", fmt.Sprintf("the pause image cannot be loaded: %v: %s", err, output)}
	}
	return nil
}

func (s *supervisor) startNode(ctx context.Context) error {
	rest := []string{"kubelet", "kube-scheduler", "kube-proxy", "coredns"}
	for _, name := range rest {
		s.components[name].launch()
	}
	if err := applyDNS(ctx, s.plan, s.admin); err != nil {
		return named("kube-apiserver", err)
	}
	for _, name := range append(rest, "kube-controller-manager") {
		if err := s.components[name].await(ctx); err != nil {
			return err
		}
	}
	return named("kubelet", until(ctx, func() error { return nodeReady(ctx, s.plan, s.admin, s.plan.Node) }))
}

// start starts a component and returns when it is well.
func (s *supervisor) start(ctx context.Context, name string) error {
	c, err := s.component(name)
	if err != nil {
		return err
	}
	c.launch()
	return c.await(ctx)
}

func (s *supervisor) stop(name string, kill bool) error {
	c, err := s.component(name)
	if err != nil {
		return err
	}
	c.stop(kill)
	return nil
}

func (s *supervisor) component(name string) (*component, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.components[name]; c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("this cluster has no component %q: `status` lists them", name)
}

// forget compacts etcd and starts the API server anew, whose memory of what was is not etcd's: after that, a watch from
// an older revision is answered with 410 Gone.
func (s *supervisor) forget(ctx context.Context) (string, error) {
	pki := func(name string) string { return s.plan.home("pki", name) }
	compact := exec.CommandContext(ctx, filepath.Join(s.plan.Tools, "components"), "compact",
		"-endpoint="+s.plan.etcd(), "-cacert="+pki("ca.crt"), "-cert="+pki("etcd-client.crt"),
		"-key="+pki("etcd-client.key"))
	var trouble strings.Builder
	compact.Stderr = &trouble
	output, err := compact.Output()
	if err != nil {
		return "", errors.New(trouble.String())
	}
	if err := s.stop("kube-apiserver", true); err != nil {
		return "", err
	}
	return string(output), s.start(ctx, "kube-apiserver")
}
