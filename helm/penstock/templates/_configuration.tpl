{{- /*
The worker configuration with string values, as JSON. toJson writes numbers as digits, but toString writes 1e+06. Digits of
numbers beyond 2^53 are lost before a template sees them.
*/ -}}
{{- define "penstock.worker" -}}
{{- $texts := dict -}}
{{- $refused := list -}}
{{- range $name, $value := .Values.worker -}}
  {{- $text := $value -}}
  {{- if not (kindIs "string" $value) -}}
    {{- $text = toJson $value -}}
    {{- if kindIs "float64" $value -}}
      {{- if or (gt $value 9007199254740992.0) (lt $value -9007199254740992.0) -}}
        {{- $refused = append $refused (printf "worker.%s is too large for a YAML number; write it in quotes" $name) -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
  {{- $_ := set $texts $name $text -}}
  {{- range $reference := regexFindAll "\\$\\{secret:[^:}]*" $text -1 -}}
    {{- $secret := trimPrefix "${secret:" $reference -}}
    {{- if ne $secret $.Values.workerSecretName -}}
      {{- $refused = append $refused (printf "worker.%s refers to Secret %s, but workerSecretName is %s; the worker configuration can use only one Secret: set both to the same name" $name (quote $secret) (quote $.Values.workerSecretName)) -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if .Values.plugins.sharedNamespaces -}}
  {{- $refused = append $refused "plugins.sharedNamespaces must be empty: only PluginVersions of a Connector's own namespace are used in this release; apply them in each namespace" -}}
{{- end -}}
{{- if not (get $texts "bootstrap.servers" | trim) -}}
  {{- $refused = prepend $refused "worker has no bootstrap.servers: set it to host:port pairs of your Kafka, in a values file (worker: {bootstrap.servers: \"kafka:9092\"}) or with --set 'worker.bootstrap\\.servers=kafka:9092'" -}}
{{- end -}}
{{- if $refused -}}
  {{- fail (printf "\n\n%s\n" (join "\n" (uniq $refused))) -}}
{{- end -}}
{{- toJson $texts -}}
{{- end -}}

{{- /* The file that the operator reads: penstock_operator.settings.Settings. */ -}}
{{- define "penstock.configuration" -}}
release:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
  serviceAccount: {{ include "penstock.serviceAccountName" . }}
  cluster: {{ quote .Values.clusterId }}
watchNamespaces: {{ toJson (.Values.watchNamespaces | uniq | sortAlpha) }}
allowedConnectNames: {{ toJson .Values.allowedConnectNames }}
worker:
  {{- include "penstock.worker" . | fromJson | toYaml | nindent 2 }}
images:
  runtime: {{ include "penstock.image" (list . .Values.images.runtime) | quote }}
  pullPolicy: {{ .Values.images.pullPolicy }}
  pullSecrets: {{ toJson .Values.images.pullSecrets }}
plugins:
  mount: {{ .Values.plugins.mount }}
  sharedNamespaces: {{ toJson .Values.plugins.sharedNamespaces }}
secrets:
  watch: {{ .Values.secrets.watch }}
limits:
  jobPods: {{ int64 .Values.limits.jobPods }}
  reconciles: {{ int64 .Values.limits.reconciles }}
podSecurity:
  level: {{ .Values.podSecurity.level }}
rollout:
  maxUnavailable: {{ if kindIs "string" .Values.rollout.maxUnavailable }}{{ quote .Values.rollout.maxUnavailable }}{{ else }}{{ int64 .Values.rollout.maxUnavailable }}{{ end }}
  minReadySeconds: {{ int64 .Values.rollout.minReadySeconds }}
  progressDeadlineSeconds: {{ int64 .Values.rollout.progressDeadlineSeconds }}
job:
  deadlineSeconds: {{ int64 .Values.job.deadlineSeconds }}
  resources:
    {{- toYaml .Values.job.resources | nindent 4 }}
task:
  resources:
    {{- toYaml .Values.task.resources | nindent 4 }}
  terminationGracePeriodSeconds: {{ int64 .Values.task.terminationGracePeriodSeconds }}
  nodeLostSeconds: {{ int64 .Values.task.nodeLostSeconds }}
  livenessProbe: {{ .Values.task.livenessProbe }}
  {{- if kindIs "string" .Values.task.temporarySize }}
  temporarySize: {{ quote .Values.task.temporarySize }}
  {{- end }}
  podSecurityContext:
    {{- toYaml .Values.task.podSecurityContext | nindent 4 }}
  securityContext:
    {{- toYaml .Values.task.securityContext | nindent 4 }}
metrics:
  port: {{ int64 .Values.metrics.port }}
probes:
  port: {{ int64 .Values.probes.port }}
webhook:
  enabled: {{ .Values.webhook.enabled }}
  port: {{ int64 .Values.webhook.port }}
  service: {{ include "penstock.webhookService" . }}
  configuration: {{ include "penstock.webhookName" . }}
  certificate: {{ .Values.webhook.certManager.enabled | ternary "Mounted" "Penstock" }}
  unknownProperties: {{ .Values.webhook.unknownProperties }}
console:
  enabled: {{ .Values.console.enabled }}
  port: {{ int64 .Values.console.port }}
  service: {{ include "penstock.consoleService" . }}
  hosts: {{ toJson .Values.console.hosts }}
  requireUser: {{ .Values.console.requireUser }}
  actions: {enabled: {{ .Values.console.actions.enabled }}}
  proxy:
    secretName: {{ quote .Values.console.proxy.secretName }}
    userHeader: {{ quote .Values.console.proxy.userHeader }}
    groupsHeader: {{ quote .Values.console.proxy.groupsHeader }}
logLevel: {{ .Values.logLevel }}
{{- end -}}
