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
{{- if .Values.kafka.tls.caSecret }}
- { name: KAFKA_CA_FILE, value: /run/kapi/kafka-ca/ca.crt }
{{- end }}
{{- end }}
{{- if .Values.kafka.sasl.mechanism }}
- { name: KAFKA_SASL_MECHANISM, value: {{ .Values.kafka.sasl.mechanism | quote }} }
- { name: KAFKA_SASL_USERNAME_FILE, value: /run/kapi/kafka-sasl/username }
- { name: KAFKA_SASL_PASSWORD_FILE, value: /run/kapi/kafka-sasl/password }
{{- end }}
- { name: REDIS_URL_FILE, value: /run/kapi/redis/url }
{{- if .Values.redis.cluster }}
- { name: REDIS_CLUSTER, value: "on" }
{{- end }}
{{- if .Values.redis.caSecret }}
- { name: REDIS_CA_FILE, value: /run/kapi/redis-ca/ca.crt }
{{- end }}
- { name: POSTGRES_URL_FILE, value: /run/kapi/postgres/url }
{{- if .Values.postgres.caSecret }}
- { name: POSTGRES_CA_FILE, value: /run/kapi/postgres-ca/ca.crt }
{{- end }}
- { name: INTERNAL_TOKEN_FILE, value: /run/kapi/secrets/internal-token }
- { name: TRADING_SERVER_TOKEN_FILE, value: /run/kapi/secrets/trading-server-token }
- { name: PASSWORD_DERIVATION_KEYS_FILE, value: /run/kapi/secrets/password-derivation-keys }
- { name: PASSWORD_SEALING_KEYS_FILE, value: /run/kapi/secrets/password-sealing-keys }
- { name: FINGERPRINT_KEY_FILE, value: /run/kapi/secrets/fingerprint-key }
{{- range $name := list "account" "command-status" "finance" "metrics" "organization" }}
- { name: {{ printf "%s_URL" ($name | upper | replace "-" "_") }}, value: {{ printf "http://%s-%s:8080" $full $name | quote }} }
{{- end }}
{{- if .Values.telemetry.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ .Values.telemetry.otlpEndpoint | quote }} }
- { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ .Values.telemetry.tracesSampleRatio | quote }} }
{{- end }}
{{- end }}

{{- define "kapi.mounts" -}}
- { name: secrets, mountPath: /run/kapi/secrets, readOnly: true }
- { name: redis, mountPath: /run/kapi/redis, readOnly: true }
- { name: postgres, mountPath: /run/kapi/postgres, readOnly: true }
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.caSecret }}
- { name: kafka-ca, mountPath: /run/kapi/kafka-ca, readOnly: true }
{{- end }}
{{- if .Values.kafka.sasl.mechanism }}
- { name: kafka-sasl, mountPath: /run/kapi/kafka-sasl, readOnly: true }
{{- end }}
{{- if .Values.redis.caSecret }}
- { name: redis-ca, mountPath: /run/kapi/redis-ca, readOnly: true }
{{- end }}
{{- if .Values.postgres.caSecret }}
- { name: postgres-ca, mountPath: /run/kapi/postgres-ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "kapi.volumes" -}}
- { name: secrets, secret: { secretName: {{ .Values.secrets.existingSecret }}, defaultMode: 0440 } }
- { name: redis, secret: { secretName: {{ .Values.redis.existingSecret }}, defaultMode: 0440 } }
- { name: postgres, secret: { secretName: {{ .Values.postgres.existingSecret }}, defaultMode: 0440 } }
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.caSecret }}
- { name: kafka-ca, secret: { secretName: {{ .Values.kafka.tls.caSecret }} } }
{{- end }}
{{- if .Values.kafka.sasl.mechanism }}
- { name: kafka-sasl, secret: { secretName: {{ .Values.kafka.sasl.existingSecret }}, defaultMode: 0440 } }
{{- end }}
{{- if .Values.redis.caSecret }}
- { name: redis-ca, secret: { secretName: {{ .Values.redis.caSecret }} } }
{{- end }}
{{- if .Values.postgres.caSecret }}
- { name: postgres-ca, secret: { secretName: {{ .Values.postgres.caSecret }} } }
{{- end }}
{{- end }}
