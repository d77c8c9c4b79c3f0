package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"time"
)

// authority signs every certificate of one cluster. It trusts nobody else and lives as long as the state folder.
type authority struct {
	folder      string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// identity is whom a certificate names: a user and its groups, or the hosts of a server.
type identity struct {
	file   string
	user   string
	groups []string
	hosts  []string // a server's names and addresses; none for a client
}

func newAuthority(folder string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificateTemplate("penstock-cluster", nil)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	a := &authority{folder: folder, certificate: certificate, key: key}
	return a, a.write("ca", der, key)
}

func certificateTemplate(user string, groups []string) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err)
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: user, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (a *authority) issue(id identity) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := certificateTemplate(id.user, id.groups)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(id.hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	}
	for _, host := range id.hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	return a.write(id.file, der, key)
}

func (a *authority) write(name string, certificate []byte, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	path := filepath.Join(a.folder, name)
	if err := writeFile(path+".key", encode("PRIVATE KEY", der)); err != nil {
		return err
	}
	return writeFile(path+".crt", encode("CERTIFICATE", certificate))
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// writePKI writes the cluster's certificates and keys, and the key that signs service account tokens.
func writePKI(plan *Plan, folder string) error {
	a, err := newAuthority(filepath.Join(folder, "pki"))
	if err != nil {
		return err
	}
	for _, id := range identities(plan) {
		if err := a.issue(id); err != nil {
			return err
		}
	}
	return a.issue(identity{file: "service-accounts", user: "service-accounts"})
}

func identities(plan *Plan) []identity {
	masters := []string{"system:masters"}
	server := []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"localhost", "127.0.0.1", plan.Net.API, plan.Net.Node,
	}
	ids := []identity{
		{file: "etcd", user: "etcd", hosts: []string{"localhost", "127.0.0.1"}},
		{file: "etcd-client", user: "kube-apiserver"},
		{file: "kube-apiserver", user: "kube-apiserver", hosts: server},
		{file: "kube-controller-manager", user: "system:kube-controller-manager", hosts: []string{"127.0.0.1"}},
		{file: "admin", user: "penstock-admin", groups: masters},
	}
	if plan.APIOnly {
		return ids
	}
	return append(ids,
		identity{file: "kubelet-client", user: "kube-apiserver-kubelet-client", groups: masters},
		identity{file: "kubelet", user: "system:node:" + plan.Node, groups: []string{"system:nodes"},
			hosts: []string{plan.Node, plan.Net.Node}},
		identity{file: "second-kubelet", user: "system:node:" + plan.second(), groups: []string{"system:nodes"},
			hosts: []string{plan.second(), plan.Net.Second.Node}},
		identity{file: "kube-scheduler", user: "system:kube-scheduler", hosts: []string{"127.0.0.1"}},
		identity{file: "kube-proxy", user: "system:kube-proxy"},
		identity{file: "coredns", user: "system:coredns"},
	)
}
