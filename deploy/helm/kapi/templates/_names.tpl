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
- { name: REDIS_URL_FILE, value: /run/kapi/redis/url }
- { name: POSTGRES_URL_FILE, value: /run/kapi/postgres/url }
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

{{- define "kapi.mounts" -}}
- { name: secrets, mountPath: /run/kapi/secrets, readOnly: true }
- { name: redis, mountPath: /run/kapi/redis, readOnly: true }
- { name: postgres, mountPath: /run/kapi/postgres, readOnly: true }
{{- end }}

{{- define "kapi.volumes" -}}
- { name: secrets, secret: { secretName: {{ .Values.secrets.existingSecret }}, defaultMode: 0440 } }
- { name: redis, secret: { secretName: {{ .Values.redis.existingSecret }}, defaultMode: 0440 } }
- { name: postgres, secret: { secretName: {{ .Values.postgres.existingSecret }}, defaultMode: 0440 } }
{{- end }}
