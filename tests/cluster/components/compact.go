package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// compact makes etcd forget every revision but the current one.
func compact() {
	endpoint := flag.String("endpoint", "", "address of etcd")
	ca := flag.String("cacert", "", "file of the certificate authority")
	cert := flag.String("cert", "", "file of the client's certificate")
	key := flag.String("key", "", "file of the client's key")
	flag.Parse()
	revision, err := compactAt(*endpoint, *ca, *cert, *key)
	if err != nil {
		fmt.Fprintf(os.Stderr, "etcd could not be compacted: %v\n", err)
		os.Exit(1)
	}
	fmt.Printf("etcd forgot everything before revision %d\n", revision)
}

func compactAt(endpoint, ca, cert, key string) (int64, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return 0, err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return 0, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint},
		TLS:       &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Close() }()

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer, err := client.Get(ctx, "penstock", clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	revision := answer.Header.Revision
	_, err = client.Compact(ctx, revision, clientv3.WithCompactPhysical())
	return revision, err
}
