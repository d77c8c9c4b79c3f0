{{- /* The operator's rights in a watched namespace. */ -}}
{{- define "penstock.watchedRules" -}}
- apiGroups: [penstock.dev]
  resources: [connectors, topiccreationpolicies, pluginversions]
  verbs: [get, list, watch]
- apiGroups: [penstock.dev]
  resources: [connectors/status, topiccreationpolicies/status, pluginversions/status]
  verbs: [patch]
# Only for the finalizer of a Connector whose offsets are deleted with it.
- apiGroups: [penstock.dev]
  resources: [connectors]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, create, patch, delete]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, list]
{{- if .Values.secrets.watch }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get, list, watch]
{{- end }}
{{- if .Values.rbac.executors }}
# Secrets that tasks share with their Spark executors. The right to create cannot be limited to a name.
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
{{- end }}
{{- end -}}

{{- /* To identify the cluster by the uid of one namespace, if clusterId is not set. */ -}}
{{- define "penstock.clusterRule" -}}
- apiGroups: [""]
  resources: [namespaces]
  resourceNames: [kube-system]
  verbs: [get]
{{- end -}}

{{- define "penstock.subjects" -}}
- kind: ServiceAccount
  name: {{ include "penstock.serviceAccountName" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
