package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// orders is the supervisor's side of the control socket.
func (s *supervisor) orders() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.ready:
			reply(w, fmt.Sprintf("%.1f", s.took.Seconds()), s.failed)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		all := []componentStatus{}
		s.mu.Lock()
		for _, c := range s.components {
			all = append(all, c.status())
		}
		s.mu.Unlock()
		slices.SortFunc(all, func(a, b componentStatus) int { return strings.Compare(a.Name, b.Name) })
		reply(w, all, nil)
	})
	mux.HandleFunc("POST /components/{name}/{order}", func(w http.ResponseWriter, r *http.Request) {
		name, kill := r.PathValue("name"), r.URL.Query().Has("kill")
		var err error
		if order := r.PathValue("order"); order == "stop" || order == "restart" {
			err = s.stop(name, kill)
		}
		if order := r.PathValue("order"); err == nil && (order == "start" || order == "restart") {
			err = s.start(r.Context(), name)
		}
		reply(w, nil, err)
	})
	mux.HandleFunc("POST /second/{order}", func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch r.PathValue("order") {
		case "join":
			err = s.join(r.Context())
		case "leave":
			err = s.leave(r.Context())
		}
		reply(w, nil, err)
	})
	mux.HandleFunc("POST /compact", func(w http.ResponseWriter, r *http.Request) {
		output, err := s.forget(r.Context())
		reply(w, output, err)
	})
	return mux
}

// answer is what the supervisor sends back: a value, or why there is none.
type answer struct {
	Value     any
	Error     string
	Component string
}

func reply(w http.ResponseWriter, value any, err error) {
	a := answer{Value: value}
	if err != nil {
		a.Error = err.Error()
	}
	var f *failure
	if errors.As(err, &f) {
		a.Component = f.Component
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a)
}

// order sends an order to the supervisor of the cluster in the folder, and reads what it answers into value.
func order(ctx context.Context, folder, method, path string, value any) error {
	client := http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			path, done, err := socketPath(folder)
			if err != nil {
				return nil, err
			}
			defer done()
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	request, err := http.NewRequestWithContext(ctx, method, "http://cluster"+path, bytes.NewReader(nil))
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	a := answer{Value: value}
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("the supervisor answered %.200q: %w", text, err)
	}
	if a.Component != "" {
		return &failure{a.Component, a.Error}
	} else if a.Error != "" {
		return errors.New(a.Error)
	}
	return nil
}

// listenAt opens the control socket, by a path that is short enough for a socket's however deep the folder lies.
// It gets its name once it listens: whoever sees it may connect.
func listenAt(folder string) (net.Listener, error) {
	path, done, err := socketPath(folder)
	if err != nil {
		return nil, err
	}
	defer done()
	_ = os.Remove(path + ".new")
	listener, err := net.Listen("unix", path+".new")
	if err != nil {
		return nil, err
	}
	if socket, ok := listener.(*net.UnixListener); ok {
		socket.SetUnlinkOnClose(false) // it has another name by then; the folder goes with the cluster
	}
	if err := os.Rename(path+".new", path); err != nil {
		_ = listener.Close()
		return nil, err
	}
	return listener, nil
}

func socketPath(folder string) (string, func(), error) {
	opened, err := os.Open(folder)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/control.sock", opened.Fd()), func() { _ = opened.Close() }, nil
}
