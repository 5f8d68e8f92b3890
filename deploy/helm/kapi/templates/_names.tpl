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

{{- define "kapi.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "kapi.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{- define "kapi.image" -}}
{{- $image := .root.Values.image -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .program }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{/* Not empty where the processes serve metrics. */}}
{{- define "kapi.measured" -}}
{{- if or .Values.telemetry.metrics.enabled .Values.telemetry.serviceMonitor.enabled }}yes{{ end -}}
{{- end }}

{{/* Security of every container: nothing is written, no right is gained. */}}
{{- define "kapi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* What every container is told by its environment; secrets come as files. */}}
{{- define "kapi.environment" -}}
{{- $full := include "kapi.fullname" . -}}
- { name: LOG_LEVEL, value: {{ .Values.logLevel | quote }} }
- { name: KAFKA_BROKERS, value: {{ .Values.kafka.brokers | quote }} }
{{- with .Values.kafka.topicPrefix }}
- { name: KAFKA_TOPIC_PREFIX, value: {{ . | quote }} }
{{- end }}
{{- if .Values.kafka.tls.enabled }}
- { name: KAFKA_TLS, value: "on" }
{{- end }}
{{- with .Values.kafka.sasl.mechanism }}
- { name: KAFKA_SASL_MECHANISM, value: {{ . }} }
{{- end }}
{{- range include "kapi.kafkaSecrets" . | fromYamlArray }}
- { name: {{ .variable }}_FILE, value: /run/kapi/{{ .volume }}/{{ .key }} }
{{- end }}
- { name: REDIS_URL_FILE, value: /run/kapi/redis/url }
{{- if .Values.redis.cluster }}
- { name: REDIS_CLUSTER, value: "on" }
{{- end }}
{{- if .Values.redis.caSecret }}
- { name: REDIS_TLS_CA_FILE, value: /run/kapi/redis-ca/ca.crt }
{{- end }}
- { name: POSTGRES_URL_FILE, value: /run/kapi/postgres/url }
{{- if .Values.postgres.caSecret }}
- { name: POSTGRES_TLS_CA_FILE, value: /run/kapi/postgres-ca/ca.crt }
{{- end }}
- { name: INTERNAL_TOKEN_FILE, value: /run/kapi/secrets/internal-token }
- { name: TRADING_SERVER_TOKEN_FILE, value: /run/kapi/secrets/trading-server-token }
- { name: PASSWORD_DERIVATION_KEYS_FILE, value: /run/kapi/secrets/password-derivation-keys }
- { name: PASSWORD_SEALING_KEYS_FILE, value: /run/kapi/secrets/password-sealing-keys }
- { name: FINGERPRINT_KEY_FILE, value: /run/kapi/secrets/fingerprint-key }
- { name: WEBHOOK_SEALING_KEYS_FILE, value: /run/kapi/secrets/webhook-sealing-keys }
{{- range $name := list "account" "command-status" "finance" "metrics" "organization" "webhooks" }}
- { name: {{ printf "%s_URL" ($name | upper | replace "-" "_") }}, value: {{ printf "http://%s-%s:8080" $full $name | quote }} }
{{- end }}
{{- if include "kapi.measured" . }}
- { name: METRICS, value: "on" }
- { name: METRICS_PORT, value: {{ .Values.telemetry.metrics.port | quote }} }
{{- end }}
{{- if .Values.telemetry.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .Values.telemetry.otlpEndpoint | quote }} }
- { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .Values.telemetry.tracesSampleRatio | quote }} }
{{- end }}
{{- end }}

{{/*
What gets in at Kafka: of each part the variable of the services, KEDA's parameter, and the secret, its key and the volume
that it is mounted from. Existing secrets alone, under the keys that cert-manager and Strimzi use.
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

{{/* The secrets that every container has as files, by the name of their folder. */}}
{{- define "kapi.secretVolumes" -}}
secrets: {{ .Values.secrets.existingSecret }}
redis: {{ .Values.redis.existingSecret }}
postgres: {{ .Values.postgres.existingSecret }}
{{- with .Values.redis.caSecret }}
redis-ca: {{ . }}
{{- end }}
{{- with .Values.postgres.caSecret }}
postgres-ca: {{ . }}
{{- end }}
{{- with .Values.kafka.tls.caSecret }}
kafka-ca: {{ . }}
{{- end }}
{{- with .Values.kafka.tls.clientSecret }}
kafka-client: {{ . }}
{{- end }}
{{- if .Values.kafka.sasl.mechanism }}
kafka-user: {{ .Values.kafka.sasl.existingSecret }}
{{- end }}
{{- end }}

{{- define "kapi.mounts" -}}
{{- range $volume, $secret := include "kapi.secretVolumes" . | fromYaml }}
- { name: {{ $volume }}, mountPath: /run/kapi/{{ $volume }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "kapi.volumes" -}}
{{- range $volume, $secret := include "kapi.secretVolumes" . | fromYaml }}
- { name: {{ $volume }}, secret: { secretName: {{ $secret }}, defaultMode: 0440 } }
{{- end }}
{{- end }}
