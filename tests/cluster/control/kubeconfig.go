package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
)

// writeKubeconfigs writes the administrator's kubeconfig into the state folder, and those of the components beside it.
func writeKubeconfigs(plan *Plan, folder string) error {
	if err := writeKubeconfig(plan, folder, "admin", filepath.Join(folder, "kubeconfig")); err != nil {
		return err
	}
	users := []string{"kube-controller-manager"}
	if !plan.APIOnly {
		users = append(users, "kube-scheduler", "kubelet", "second-kubelet", "kube-proxy", "coredns")
	}
	for _, user := range users {
		if err := writeKubeconfig(plan, folder, user, filepath.Join(folder, "etc", user+".kubeconfig")); err != nil {
			return err
		}
	}
	return nil
}

// writeKubeconfig writes JSON, which is YAML too, with the certificates within, so that the file can be copied.
func writeKubeconfig(plan *Plan, folder, user, path string) error {
	data := map[string]string{}
	for _, name := range []string{"ca.crt", user + ".crt", user + ".key"} {
		text, err := os.ReadFile(filepath.Join(folder, "pki", name))
		if err != nil {
			return err
		}
		data[name] = base64.StdEncoding.EncodeToString(text)
	}
	type object = map[string]any
	name := plan.context()
	text, err := json.MarshalIndent(object{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": name,
		"clusters": []object{{"name": name, "cluster": object{
			"server": plan.server(), "certificate-authority-data": data["ca.crt"],
		}}},
		"users": []object{{"name": name + "-" + user, "user": object{
			"client-certificate-data": data[user+".crt"], "client-key-data": data[user+".key"],
		}}},
		"contexts": []object{{"name": name, "context": object{"cluster": name, "user": name + "-" + user}}},
	}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, string(text)+"\n")
}
