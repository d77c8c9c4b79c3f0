package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// web asks the cluster's components, with the certificate of one user.
type web struct {
	client http.Client
}

// newWeb trusts the cluster's authority alone, and shows the certificate of the user.
func newWeb(pki, user string) (*web, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(pki, user+".crt"), filepath.Join(pki, user+".key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(filepath.Join(pki, "ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{ // no proxy: everything is on this machine
		TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	return &web{http.Client{Transport: transport, Timeout: 5 * time.Second}}, nil
}

func (w *web) get(ctx context.Context, url string) ([]byte, error) {
	return w.send(ctx, http.MethodGet, url, nil)
}

// apply makes an object what it is to be, by server-side apply.
func (w *web) apply(ctx context.Context, url string, value object) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.send(ctx, http.MethodPatch, url+"?fieldManager=penstock-cluster&force=true", text)
	return err
}

// delete removes an object; it may be gone already.
func (w *web) delete(ctx context.Context, url string) error {
	_, err := w.send(ctx, http.MethodDelete, url, nil)
	if err != nil && strings.Contains(err.Error(), ": 404 ") {
		return nil
	}
	return err
}

func (w *web) send(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/apply-patch+yaml")
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, fmt.Errorf("%s %s: %s: %.300s", method, url, response.Status, text)
	}
	return text, nil
}

// until repeats a question until its answer is nil.
func until(ctx context.Context, ask func() error) error {
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
