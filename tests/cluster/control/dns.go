package main

import "context"

// dnsObjects are what makes CoreDNS, a process of the node, the cluster's DNS: what it may read, and its service.
func dnsObjects(plan *Plan) map[string]object {
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	name := func(name string) object { return object{"name": name, "labels": object{"k8s-app": "kube-dns"}} }
	ports := []object{
		{"name": "dns", "protocol": "UDP", "port": 53},
		{"name": "dns-tcp", "protocol": "TCP", "port": 53},
	}
	return map[string]object{
		rbac + "clusterroles/system:coredns": {
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": name("system:coredns"),
			"rules": []object{
				{"apiGroups": []string{""}, "resources": []string{"namespaces", "services", "pods"},
					"verbs": []string{"list", "watch"}},
				{"apiGroups": []string{"discovery.k8s.io"}, "resources": []string{"endpointslices"},
					"verbs": []string{"list", "watch"}},
			},
		},
		rbac + "clusterrolebindings/system:coredns": {
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": name("system:coredns"),
			"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:coredns"},
			"subjects": []object{
				{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:coredns"},
			},
		},
		"/api/v1/namespaces/kube-system/services/kube-dns": {
			"apiVersion": "v1", "kind": "Service", "metadata": name("kube-dns"),
			"spec": object{"clusterIP": plan.Net.DNS, "ports": ports},
		},
		"/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns": {
			"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
			"metadata": object{"name": "kube-dns", "labels": object{"kubernetes.io/service-name": "kube-dns",
				"endpointslice.kubernetes.io/managed-by": "penstock-cluster"}},
			"addressType": "IPv4",
			"endpoints":   []object{{"addresses": []string{plan.Net.Node}, "conditions": object{"ready": true}}},
			"ports":       ports,
		},
	}
}

func applyDNS(ctx context.Context, plan *Plan, admin *web) error {
	for path, value := range dnsObjects(plan) {
		if err := until(ctx, func() error { return admin.apply(ctx, plan.server()+path, value) }); err != nil {
			return err
		}
	}
	return nil
}
