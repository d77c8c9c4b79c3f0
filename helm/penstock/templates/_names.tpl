{{- define "penstock.name" -}}
{{- default .Release.Name .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{- define "penstock.operatorName" -}}
{{- include "penstock.name" . }}-operator
{{- end -}}

{{- /* Name of cluster-scoped objects. It differs from that of any release in another namespace. */ -}}
{{- define "penstock.clusterName" -}}
penstock:{{ .Release.Namespace }}:{{ include "penstock.name" . }}
{{- end -}}

{{- /* Name of objects outside of the release's namespace. It differs from that of any release in another namespace. */ -}}
{{- define "penstock.connectorsPolicy" -}}
{{ .Release.Namespace }}.{{ include "penstock.name" . }}.connectors
{{- end -}}

{{- define "penstock.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "penstock.operatorName" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The operator derives the same name from `release` in its configuration, so fullnameOverride does not affect it. */ -}}
{{- define "penstock.hashKeySecret" -}}
{{- default (printf "%s-secret-hash-key" .Release.Name) .Values.secretHashKey.existingSecret -}}
{{- end -}}

{{- define "penstock.webhookService" -}}
{{- include "penstock.name" . }}-webhook
{{- end -}}

{{- define "penstock.consoleService" -}}
{{- include "penstock.name" . }}-console
{{- end -}}

{{- /* True if the operator carries out actions for users whom a proxy names. */ -}}
{{- define "penstock.actsForUsers" -}}
{{- with .Values.console }}{{ if and .enabled .actions.enabled .proxy.secretName }}true{{ end }}{{ end -}}
{{- end -}}

{{- /* Name of the ValidatingWebhookConfiguration, which is cluster-scoped. */ -}}
{{- define "penstock.webhookName" -}}
{{ include "penstock.operatorName" . }}.{{ .Release.Namespace }}.penstock.dev
{{- end -}}

{{- /* The operator derives the same name from `release` in its configuration. */ -}}
{{- define "penstock.webhookSecret" -}}
{{ .Release.Name }}-webhook-authority
{{- end -}}

{{- /* Label of pods that the operator creates: penstock_operator.settings.Release.label. */ -}}
{{- define "penstock.releaseLabel" -}}
{{- $text := printf "%s.%s" .Release.Namespace .Release.Name -}}
{{- if le (len $text) 63 -}}
{{ $text }}
{{- else -}}
{{ trunc 54 $text }}-{{ sha256sum $text | trunc 8 }}
{{- end -}}
{{- end -}}

{{- define "penstock.selector" -}}
app.kubernetes.io/name: penstock
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{- define "penstock.labels" -}}
{{ include "penstock.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
{{- end -}}

{{- /* Takes a list of the root and additional labels; ours are used in selectors, so they override these. */ -}}
{{- define "penstock.labelsWith" -}}
{{- include "penstock.labels" (index . 0) | fromYaml | mergeOverwrite (deepCopy (index . 1)) | toYaml -}}
{{- end -}}

{{- /* Takes a list of the root and one of .Values.images. */ -}}
{{- define "penstock.image" -}}
{{- $root := index . 0 -}}
{{- $image := index . 1 -}}
{{- $repository := $image.repository -}}
{{- with $root.Values.images.registry -}}
  {{- $repository = printf "%s/%s" . $image.repository -}}
{{- end -}}
{{- if $image.digest -}}
{{ $repository }}@{{ $image.digest }}
{{- else -}}
{{ $repository }}:{{ default $root.Chart.AppVersion $image.tag }}
{{- end -}}
{{- end -}}
