{{- define "kapi.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}{{ else if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "kapi.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ include "kapi.labelValue" (.Values.image.tag | default .Chart.AppVersion) | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "kapi.labelValue" (printf "%s-%s" .Chart.Name .Chart.Version) }}
{{- end }}

{{/* A text as the value of a label: a tag may have a digest, and a version a plus sign. */}}
{{- define "kapi.labelValue" -}}
{{ regexReplaceAll "[^A-Za-z0-9._-]" . "-" | trunc 63 | trimAll "-._" }}
{{- end }}

{{/*
Whether the cluster has an API of another project, such as that of the Prometheus operator: empty if not. Resources of an
unknown kind would fail the whole installation. `helm template` needs `--api-versions`.
*/}}
{{- define "kapi.hasApi" -}}
{{- if .root.Capabilities.APIVersions.Has .api }}yes{{ end -}}
{{- end }}

{{/* Not empty if services scale on consumer lag. */}}
{{- define "kapi.keda" -}}
{{- if .Values.keda.enabled }}{{ include "kapi.hasApi" (dict "root" . "api" "keda.sh/v1alpha1") }}{{ end -}}
{{- end }}

{{- define "kapi.secretName" -}}
{{ ternary (printf "%s-secrets" (include "kapi.fullname" .)) .Values.secrets.existingSecret .Values.secrets.generate }}
{{- end }}

{{- define "kapi.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/*
With egress policies, the pods of jobs have this label, and the policies of jobs select it. These policies are Helm hooks,
which Helm does not delete when egress policies are turned off. Jobs have no label then, so the policies do not apply.
*/}}
{{- define "kapi.egressLabel" -}}
{{- if and .Values.networkPolicies.enabled .Values.networkPolicies.egress.enabled }}kapi/egress: limited{{ end -}}
{{- end }}

{{- define "kapi.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "kapi.fullname" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end -}}
{{- end }}

{{/* "override" is the whole address of an image: `image` of a service, of `topics`, `cli` or `combined`. */}}
{{- define "kapi.image" -}}
{{- $image := .root.Values.image -}}
{{- if .override }}{{ .override }}{{ else -}}
{{- with $image.registry }}{{ . }}/{{ end }}{{ $image.repository }}/{{ .program }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/*
Where pods run. "values" are the values of a service. A setting that they do not have is taken from the values of the
release.
*/}}
{{- define "kapi.placement" -}}
{{- $root := .root -}}
{{- range $setting := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $.values $setting | default (get $root.Values $setting) }}
{{ $setting }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{/* Not empty if the processes serve metrics. */}}
{{- define "kapi.measured" -}}
{{- $telemetry := .Values.telemetry -}}
{{- if or $telemetry.metrics.enabled $telemetry.serviceMonitor.enabled $telemetry.podMonitor.enabled }}yes{{ end -}}
{{- end }}

{{/* Security of every container: a read-only file system, no capabilities, no new privileges. */}}
{{- define "kapi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/*
The servers, secrets and services that each program uses. docs/operate.md has a table of the secrets. test/tidy compares
programs.json with the settings of each program.
*/}}
{{- define "kapi.programs" -}}
{{ required "programs.json is not in the chart" (.Files.Get "programs.json") }}
{{- end }}

{{/* The PostgreSQL schema of a program: `schema` in programs.json, otherwise the name of the program. */}}
{{- define "kapi.schema" -}}
{{- $programs := include "kapi.programs" .root | fromJson -}}
{{ (get $programs .program).schema | default (.program | replace "-" "_") }}
{{- end }}

{{/*
The pods of this release by their component, as JSON: the program of the image, the services of the process, and the
ports with numbers. Each service has a pod of its own, or with `combined` all services of kapi share one pod: then the
services have different HTTP ports, and a variable that is only for one service has the prefix of that service
(deploy/combined/README.md). The simulated trading server, which stands for another system, always has a pod of its own.
*/}}
{{- define "kapi.pods" -}}
{{- $programs := include "kapi.programs" . | fromJson -}}
{{- $isCombined := .Values.combined.enabled -}}
{{- $pods := dict -}}
{{- $services := list -}}
{{- $ports := dict -}}
{{- $seen := dict -}}
{{- range $name, $values := .Values.services -}}
{{- if ne (toString $values.enabled) "false" -}}
{{- $needs := get $programs $values.program -}}
{{- $service := dict "name" $name "program" $values.program "needs" $needs "prefix" "" "port" $values.ports.http -}}
{{- if and $isCombined (ne $values.program "trading-simulator") -}}
{{- if hasKey $seen $values.program -}}
{{- fail (printf "combined: services.%s and services.%s have the same program, and a process runs each program once: disable one of them" (get $seen $values.program) $name) -}}
{{- end -}}
{{- $_ := set $seen $values.program $name -}}
{{- $_ := set $service "prefix" (printf "%s__" ($values.program | upper | replace "-" "_")) -}}
{{- $_ := set $service "port" (add 8100 (len $services)) -}}
{{- range $port, $number := omit $values.ports "http" -}}
{{- if hasKey $ports $port -}}
{{- fail (printf "combined: services.%s: another service of the process has the port %s" $name $port) -}}
{{- end -}}
{{- $_ := set $ports $port $number -}}
{{- end -}}
{{- $services = append $services $service -}}
{{- else -}}
{{- $_ := set $pods $name (dict "program" $values.program "services" (list $service) "ports" $values.ports "image" $values.image) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if $isCombined -}}
{{- $_ := set $pods "combined" (dict "program" "combined" "services" $services "ports" $ports "image" .Values.combined.image) -}}
{{- end -}}
{{ toJson $pods }}
{{- end }}

{{/*
The service with the role `windows` of metrics, as JSON: its component, replicas and the addresses of its processes in
order; empty if no service has this role.
*/}}
{{- define "kapi.windows" -}}
{{- $root := . -}}
{{- $full := include "kapi.fullname" . -}}
{{- $found := dict -}}
{{- range $name, $values := .Values.services -}}
{{- if and (ne (toString $values.enabled) "false") (eq (dig "env" "ROLES" "" $values) "windows") -}}
{{- if $root.Values.combined.enabled -}}
{{- fail (printf "combined: services.%s needs pods of its own: disable it" $name) -}}
{{- end -}}
{{- if ne (dig "scaling" "by" "none" $values) "none" -}}
{{- fail (printf "services.%s.scaling.by: must be none, because a change of the number of windows processes restarts the stream processes" $name) -}}
{{- end -}}
{{- if hasKey $found "component" -}}
{{- fail (printf "services.%s: services.%s has the role windows already" $name $found.component) -}}
{{- end -}}
{{- $urls := list -}}
{{- range $instance := until (int $values.replicas) -}}
{{- $urls = append $urls (printf "http://%s-%s-%d.%s-%s-pods:%d" $full $name $instance $full $name (int $values.ports.http)) -}}
{{- end -}}
{{- $_ := set $found "component" $name -}}
{{- $_ := set $found "replicas" (int $values.replicas) -}}
{{- $_ := set $found "port" (int $values.ports.http) -}}
{{- $_ := set $found "urls" (join "," $urls) -}}
{{- end -}}
{{- end -}}
{{ toJson $found }}
{{- end }}

{{/*
The service whose processes have the samples of all accounts, as JSON: its component and port. That is the service with
the role `windows` of metrics, or else the service with the role `stream`; empty if there is neither.
*/}}
{{- define "kapi.samples" -}}
{{- $found := pick (include "kapi.windows" . | fromJson) "component" "port" -}}
{{- range $name, $values := .Values.services -}}
{{- $isStream := eq (dig "env" "ROLES" "" $values) "stream" -}}
{{- if and (not (hasKey $found "component")) $isStream (ne (toString $values.enabled) "false") -}}
{{- $_ := set $found "component" $name -}}
{{- $_ := set $found "port" (int $values.ports.http) -}}
{{- end -}}
{{- end -}}
{{ toJson $found }}
{{- end }}

{{/* The jobs of this release by their component, as JSON: like kapi.pods, with "weight", "args" and "server". */}}
{{- define "kapi.jobs" -}}
{{- $root := . -}}
{{- $jobs := dict -}}
{{- $topics := dict "program" "topics" "prefix" "" "needs" (dict "servers" (list "kafka") "secrets" list "calls" list) -}}
{{- if .Values.topics.enabled -}}
{{- $_ := set $jobs "topics" (dict "program" "topics" "services" (list $topics) "weight" "-10" "args" list "server" "kafka" "image" .Values.topics.image) -}}
{{- end -}}
{{- range $component, $pod := include "kapi.pods" . | fromJson -}}
{{- $migrated := list -}}
{{- range $service := $pod.services -}}
{{- if (get $root.Values.services $service.name).migrations -}}
{{- $migrated = append $migrated (set (omit $service "needs") "needs" (dict "servers" (list "postgres") "secrets" list "calls" list)) -}}
{{- end -}}
{{- end -}}
{{- if $migrated -}}
{{- $_ := set $jobs (printf "migrate-%s" $component) (dict "program" $pod.program "services" $migrated "weight" "-5" "args" (list "migrate") "server" "postgres" "image" $pod.image) -}}
{{- end -}}
{{- end -}}
{{ toJson $jobs }}
{{- end }}

{{/*
The pod of the operator's command line, as in kapi.pods; empty unless cli.enabled is true. Its `partitions grow` uses
Kafka.
*/}}
{{- define "kapi.cli" -}}
{{- $needs := get (include "kapi.programs" . | fromJson) "cli" -}}
{{- $service := dict "name" "cli" "program" "cli" "needs" $needs "prefix" "" -}}
{{ .Values.cli.enabled | ternary (dict "cli" (dict "program" "cli" "services" (list $service))) dict | toJson }}
{{- end }}

{{/*
The public hosts, as JSON. For each host: its paths, the name of the service in the values, the name of its Kubernetes
Service, and the port. The probes and metrics of the gateway are on no public path. The live stream and the console are
at the service that has their port. Two hosts may be the same: the path of the stream is then the more exact one.
*/}}
{{- define "kapi.edges" -}}
{{- $root := . -}}
{{- $full := include "kapi.fullname" . -}}
{{- $edges := list -}}
{{- $gateway := list "/api" "/docs" "/openapi.json" "/asyncapi.json" "/.well-known" -}}
{{- range $edge, $paths := dict "stream" (list "/api/v1/management/live-metrics") "gateway" $gateway "console" (list "/") -}}
{{- $host := get $root.Values.hosts $edge -}}
{{- if $host -}}
{{- $port := get (dict "stream" "live" "gateway" "http" "console" "console") $edge -}}
{{- $found := "" -}}
{{- range $name, $values := $root.Values.services -}}
{{- if and (ne (toString $values.enabled) "false") (hasKey $values.ports $port) (or (ne $edge "gateway") (eq $values.program "gateway")) -}}
{{- $found = $name -}}
{{- end -}}
{{- end -}}
{{- if not $found -}}
{{- fail (printf "hosts.%s: no enabled service has the port %s" $edge $port) -}}
{{- end -}}
{{- $number := get (get $root.Values.services $found).ports $port -}}
{{- $edges = append $edges (dict "edge" $edge "host" $host "paths" $paths "name" $found "service" (printf "%s-%s" $full $found) "port" $number) -}}
{{- end -}}
{{- end -}}
{{ toJson $edges }}
{{- end }}

{{/* The distinct entries of one list in the needs of "services", as JSON. "of" names the list: "servers", "outside" or "calls". */}}
{{- define "kapi.union" -}}
{{- $of := .of -}}
{{- $all := list -}}
{{- range $service := .services }}{{ $all = concat $all (get $service.needs $of | default list) }}{{ end -}}
{{ toJson (uniq $all) }}
{{- end }}

{{/*
The keys that a pod mounts of the Secret that kapi.secretName names, as JSON. For each key: the variable without _FILE,
the key, and the path of the mounted file. A program that calls other services has its own service token.
*/}}
{{- define "kapi.secretsOf" -}}
{{- $values := .root.Values.secrets -}}
{{- $all := list -}}
{{- range $service := .services -}}
{{- $needs := $service.needs -}}
{{- $secrets := $needs.secrets -}}
{{- range $secret := concat ($needs.optionalSecrets | default list) ($needs.givenSecrets | default list) -}}
{{- if has $secret $values.optional }}{{ $secrets = append $secrets $secret }}{{ end -}}
{{- end -}}
{{- if $values.acceptInternalToken }}{{ $secrets = concat $secrets ($needs.upgradeSecrets | default list) }}{{ end -}}
{{- range $secret := $secrets -}}
{{- $isOwn := eq $secret "service-token" -}}
{{- $key := ternary (printf "%s-%s" $secret $service.program) $secret $isOwn -}}
{{- $variable := printf "%s%s" (ternary $service.prefix "" $isOwn) ($secret | upper | replace "-" "_") -}}
{{- $all = append $all (dict "variable" $variable "key" $key "path" (ternary $secret $key (eq $service.prefix ""))) -}}
{{- end -}}
{{- end -}}
{{ toJson (uniq $all) }}
{{- end }}

{{/*
The addresses of PostgreSQL that a pod uses, like kapi.secretsOf. With postgres.serviceRoles a service uses its own role.
Jobs use the owner of the schemas. Without postgres.serviceRoles, services use this owner too.
*/}}
{{- define "kapi.postgresUrls" -}}
{{- $root := .root -}}
{{- $isOwn := and $root.Values.postgres.serviceRoles (not .job) -}}
{{- $all := list -}}
{{- range $service := .services -}}
{{- if has "postgres" $service.needs.servers -}}
{{- $schema := include "kapi.schema" (dict "root" $root "program" $service.program) | replace "_" "-" -}}
{{- $key := ternary (printf "url-%s" $schema) "url" $isOwn -}}
{{- $variable := printf "%sPOSTGRES_URL" (ternary $service.prefix "" $isOwn) -}}
{{- $all = append $all (dict "variable" $variable "key" $key "path" (ternary "url" $key (eq $service.prefix ""))) -}}
{{- end -}}
{{- end -}}
{{ toJson (uniq $all) }}
{{- end }}

{{/*
The environment variables of a container. "root" is the release, "program" the program of the image, "services" the
services of the process, "job" whether it is a job. Secrets are files.
*/}}
{{- define "kapi.environment" -}}
{{- $root := .root -}}
{{- $services := .services -}}
{{- $full := include "kapi.fullname" $root -}}
{{- $isCombined := eq .program "combined" -}}
{{- $servers := include "kapi.union" (dict "services" $services "of" "servers") | fromJsonArray -}}
{{- $outside := include "kapi.union" (dict "services" $services "of" "outside") | fromJsonArray -}}
- { name: LOG_LEVEL, value: {{ $root.Values.logLevel | quote }} }
{{- if $isCombined }}
{{- $names := list }}
{{- range $services }}{{ $names = append $names .program }}{{ end }}
- { name: SERVICES, value: {{ join "," $names | quote }} }
{{- end }}
{{- if has "kafka" $servers }}
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
{{- if has "redis" $servers }}
- { name: REDIS_URL_FILE, value: /run/kapi/redis/url }
{{- if $root.Values.redis.cluster }}
- { name: REDIS_CLUSTER, value: "on" }
{{- end }}
{{- if $root.Values.redis.caSecret }}
- { name: REDIS_TLS_CA_FILE, value: /run/kapi/redis-ca/ca.crt }
{{- end }}
{{- end }}
{{- range include "kapi.postgresUrls" . | fromJsonArray }}
- { name: {{ .variable }}_FILE, value: /run/kapi/postgres/{{ .path }} }
{{- end }}
{{- if and (has "postgres" $servers) $root.Values.postgres.caSecret }}
- { name: POSTGRES_TLS_CA_FILE, value: /run/kapi/postgres-ca/ca.crt }
{{- end }}
{{- range include "kapi.secretsOf" . | fromJsonArray }}
- { name: {{ .variable }}_FILE, value: /run/kapi/secrets/{{ .path }} }
{{- end }}
{{- if and (has "trading-servers" $outside) $root.Values.tradingServers.caSecret }}
- { name: TRADING_SERVER_TLS_CA_FILE, value: /run/kapi/trading-server-ca/ca.crt }
{{- end }}
{{- $ports := dict }}
{{- range $services }}{{ $_ := set $ports .program .port }}{{ end }}
{{- range $called := include "kapi.union" (dict "services" $services "of" "calls") | fromJsonArray }}
{{- $url := printf "http://%s-%s:%d" $full $called (dig $called "ports" "http" 8080 $root.Values.services | int) }}
{{- if hasKey $ports $called }}{{ $url = printf "http://127.0.0.1:%d" (get $ports $called | int) }}{{ end }}
{{- if eq $called "gateway" }}
{{- $host := ternary "127.0.0.1" (printf "%s-gateway" $full) $isCombined }}
{{- $url = printf "http://%s:%d" $host (dig "ports" "internal" 8083 (get $root.Values.services "gateway" | default dict) | int) }}
{{- end }}
- { name: {{ printf "%s_URL" ($called | upper | replace "-" "_") }}, value: {{ $url | quote }} }
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
secrets must exist. Certificates have the keys of cert-manager (ca.crt, tls.crt, tls.key); the user has `username` and
`password`.
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
The Secrets that a container mounts, by the folder below /run/kapi: the name of the Secret, and the mounted keys.
*/}}
{{- define "kapi.secretVolumes" -}}
{{- $values := .root.Values -}}
{{- $servers := include "kapi.union" (dict "services" .services "of" "servers") | fromJsonArray -}}
{{- $outside := include "kapi.union" (dict "services" .services "of" "outside") | fromJsonArray -}}
{{- with include "kapi.secretsOf" . | fromJsonArray }}
secrets:
  secret: {{ include "kapi.secretName" $.root }}
  items:
    {{- range . }}
    - { key: {{ .key }}, path: {{ .path }} }
    {{- end }}
{{- end }}
{{- if has "redis" $servers }}
redis: { secret: {{ $values.redis.existingSecret }}, items: [{ key: url, path: url }] }
{{- with $values.redis.caSecret }}
redis-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- with include "kapi.postgresUrls" . | fromJsonArray }}
postgres:
  secret: {{ $values.postgres.existingSecret }}
  items:
    {{- range . }}
    - { key: {{ .key }}, path: {{ .path }} }
    {{- end }}
{{- with $values.postgres.caSecret }}
postgres-ca: { secret: {{ . }}, items: [{ key: ca.crt, path: ca.crt }] }
{{- end }}
{{- end }}
{{- if has "kafka" $servers }}
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
{{- if has "trading-servers" $outside }}
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

{{/*
A checksum of the mounted keys, so that a changed Secret restarts the pods that use it. Generated secrets are left out,
because upgrades keep their values. The checksum includes the uid of each Secret, which only readers of the Secret know.
So nobody can guess a weak password from the checksum. Without a cluster (`helm template`) the checksum is constant.
*/}}
{{- define "kapi.secretsChecksum" -}}
{{- $root := .root -}}
{{- $all := list -}}
{{- range $volume, $of := include "kapi.secretVolumes" . | fromYaml -}}
{{- if not (and $root.Values.secrets.generate (eq $volume "secrets")) -}}
{{- with lookup "v1" "Secret" $root.Release.Namespace $of.secret -}}
{{- $data := .data | default dict -}}
{{- $all = append $all .metadata.uid -}}
{{- range $of.items }}{{ $all = append $all (get $data .key) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ join "," $all | sha256sum }}
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
