{{- define "kapi.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "kapi.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "kapi.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/*
With egress policies, the pods of jobs have this label, and the policies of jobs select it. Helm does not delete hooks.
So a policy that an earlier release left behind applies to no job without the label.
*/}}
{{- define "kapi.egressLabel" -}}
{{- if and .Values.networkPolicies.enabled .Values.networkPolicies.egress.enabled }}kapi/egress: limited{{ end -}}
{{- end }}

{{- define "kapi.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "kapi.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{- define "kapi.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .program }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Not empty if the processes serve metrics. */}}
{{- define "kapi.measured" -}}
{{- if or .Values.telemetry.metrics.enabled .Values.telemetry.serviceMonitor.enabled }}yes{{ end -}}
{{- end }}

{{/* Security of every container: a read-only file system, no capabilities, no new privileges. */}}
{{- define "kapi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/*
The servers, secrets and services that each program uses. docs/operate.md has the table; test/tidy compares it with the
settings of each program.
*/}}
{{- define "kapi.programs" -}}
{{ required "programs.json is not in the chart" (.Files.Get "programs.json") }}
{{- end }}

{{/* The PostgreSQL schema of a program: `schema` in programs.json, otherwise the name of the program. */}}
{{- define "kapi.schema" -}}
{{- $programs := include "kapi.programs" .root | fromJson -}}
{{ (get $programs .program).schema | default (.program | replace "-" "_") }}
{{- end }}

{{/* The secrets in "needs" that this release has, with optional secrets and the secrets of an upgrade. */}}
{{- define "kapi.secretsOf" -}}
{{- $all := .needs.secrets -}}
{{- range $secret := .needs.optionalSecrets | default list -}}
{{- if has $secret $.root.Values.secrets.optional }}{{ $all = append $all $secret }}{{ end -}}
{{- end -}}
{{- if .root.Values.secrets.acceptInternalToken }}{{ $all = concat $all (.needs.upgradeSecrets | default list) }}{{ end -}}
{{ toJson $all }}
{{- end }}

{{/*
The environment variables of a container. "root" is the release; "needs" is the entry of "program" in programs.json.
Secrets are files.
*/}}
{{- define "kapi.environment" -}}
{{- $root := .root -}}
{{- $needs := .needs -}}
{{- $full := include "kapi.fullname" $root -}}
- { name: LOG_LEVEL, value: {{ $root.Values.logLevel | quote }} }
{{- if has "kafka" $needs.servers }}
- { name: KAFKA_BROKERS, value: {{ $root.Values.kafka.brokers | quote }} }
{{- with $root.Values.kafka.topicPrefix }}
- { name: KAFKA_TOPIC_PREFIX, value: {{ . | quote }} }
{{- end }}
{{- if $root.Values.kafka.tls.enabled }}
- { name: KAFKA_TLS, value: "on" }
{{- end }}
{{- with $root.Values.kafka.sasl.mechanism }}
- { name: KAFKA_SASL_MECHANISM, value: {{ . }} }
{{- end }}
{{- range include "kapi.kafkaSecrets" $root | fromYamlArray }}
- { name: {{ .variable }}_FILE, value: /run/kapi/{{ .volume }}/{{ .key }} }
{{- end }}
{{- end }}
{{- if has "redis" $needs.servers }}
- { name: REDIS_URL_FILE, value: /run/kapi/redis/url }
{{- if $root.Values.redis.cluster }}
- { name: REDIS_CLUSTER, value: "on" }
{{- end }}
{{- if $root.Values.redis.caSecret }}
- { name: REDIS_TLS_CA_FILE, value: /run/kapi/redis-ca/ca.crt }
{{- end }}
{{- end }}
{{- if has "postgres" $needs.servers }}
- { name: POSTGRES_URL_FILE, value: /run/kapi/postgres/url }
{{- if $root.Values.postgres.caSecret }}
- { name: POSTGRES_TLS_CA_FILE, value: /run/kapi/postgres-ca/ca.crt }
{{- end }}
{{- end }}
{{- range $secret := include "kapi.secretsOf" . | fromJsonArray }}
- { name: {{ $secret | upper | replace "-" "_" }}_FILE, value: /run/kapi/secrets/{{ $secret }} }
{{- end }}
{{- if and (has "trading-servers" ($needs.outside | default list)) $root.Values.tradingServers.caSecret }}
- { name: TRADING_SERVER_TLS_CA_FILE, value: /run/kapi/trading-server-ca/ca.crt }
{{- end }}
{{- range $name := $needs.calls }}
- { name: {{ printf "%s_URL" ($name | upper | replace "-" "_") }}, value: {{ printf "http://%s-%s:8080" $full $name | quote }} }
{{- end }}
{{- if include "kapi.measured" $root }}
- { name: METRICS, value: "on" }
- { name: METRICS_PORT, value: {{ $root.Values.telemetry.metrics.port | quote }} }
{{- end }}
{{- if $root.Values.telemetry.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ $root.Values.telemetry.otlpEndpoint | quote }} }
- { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ $root.Values.telemetry.tracesSampleRatio | quote }} }
{{- end }}
{{- end }}

{{/*
The secrets for Kafka. For each: the variable of the services, KEDA's parameter, the secret, its key and its volume. The
secrets must exist, with the keys that cert-manager and Strimzi use.
*/}}
{{- define "kapi.kafkaSecrets" -}}
{{- with .Values.kafka.tls.caSecret }}
- { variable: KAFKA_TLS_CA, parameter: ca, secret: {{ . }}, key: ca.crt, volume: kafka-ca }
{{- end }}
{{- with .Values.kafka.tls.clientSecret }}
- { variable: KAFKA_TLS_CERTIFICATE, parameter: cert, secret: {{ . }}, key: tls.crt, volume: kafka-client }
- { variable: KAFKA_TLS_KEY, parameter: key, secret: {{ . }}, key: tls.key, volume: kafka-client }
{{- end }}
{{- if .Values.kafka.sasl.mechanism }}
- { variable: KAFKA_SASL_USERNAME, parameter: username, secret: {{ .Values.kafka.sasl.existingSecret }}, key: username, volume: kafka-user }
- { variable: KAFKA_SASL_PASSWORD, parameter: password, secret: {{ .Values.kafka.sasl.existingSecret }}, key: password, volume: kafka-user }
{{- end }}
{{- end }}

{{/*
The secrets that a container mounts, by the name of the folder: the secret and the mounted keys. A program that calls
other services has its own service token. A program with a schema has the address of its own role; a job has the address
of the schemas' owner.
*/}}
{{- define "kapi.secretVolumes" -}}
{{- $values := .root.Values -}}
{{- $program := .program -}}
{{- with include "kapi.secretsOf" . | fromJsonArray }}
secrets:
  secret: {{ $values.secrets.existingSecret }}
  items:
    {{- range . }}
    - { key: {{ . }}{{ if eq . "service-token" }}-{{ $program }}{{ end }}, path: {{ . }} }
    {{- end }}
{{- end }}
{{- if has "redis" .needs.servers }}
redis: { secret: {{ $values.redis.existingSecret }}, items: [{ key: url, path: url }] }
{{- with $values.redis.caSecret }}
redis-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- if has "postgres" .needs.servers }}
postgres: { secret: {{ $values.postgres.existingSecret }}, items: [{ key: url{{ if and $values.postgres.serviceRoles (not .job) }}-{{ include "kapi.schema" . | replace "_" "-" }}{{ end }}, path: url }] }
{{- with $values.postgres.caSecret }}
postgres-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- if has "kafka" .needs.servers }}
{{- with $values.kafka.tls.caSecret }}
kafka-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- with $values.kafka.tls.clientSecret }}
kafka-client: { secret: {{ . }}, items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }] }
{{- end }}
{{- if $values.kafka.sasl.mechanism }}
kafka-user: { secret: {{ $values.kafka.sasl.existingSecret }}, items: [{ key: username, path: username }, { key: password, path: password }] }
{{- end }}
{{- end }}
{{- if has "trading-servers" (.needs.outside | default list) }}
{{- with $values.tradingServers.caSecret }}
trading-server-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- end }}

{{- define "kapi.mounts" -}}
{{- range $volume, $_ := include "kapi.secretVolumes" . | fromYaml }}
- { name: {{ $volume }}, mountPath: /run/kapi/{{ $volume }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "kapi.volumes" -}}
{{- range $volume, $of := include "kapi.secretVolumes" . | fromYaml }}
- { name: {{ $volume }}, secret: { secretName: {{ $of.secret }}, defaultMode: 0440, items: {{ toJson $of.items }} } }
{{- end }}
{{- end }}

{{/* Peers of a NetworkPolicy: the given peers; without any, private addresses. */}}
{{- define "kapi.peers" -}}
{{- if . }}
{{- toYaml . }}
{{- else -}}
- ipBlock: { cidr: 10.0.0.0/8 }
- ipBlock: { cidr: 100.64.0.0/10 }
- ipBlock: { cidr: 172.16.0.0/12 }
- ipBlock: { cidr: 192.168.0.0/16 }
- ipBlock: { cidr: "fc00::/7" }
{{- end }}
{{- end }}
