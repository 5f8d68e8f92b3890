/** What the chart must contain when it is rendered with `external.yaml` or `large.yaml`. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const OBSERVABILITY = path.resolve(import.meta.dirname, "../../deploy/observability");
const DASHBOARDS = path.join(OBSERVABILITY, "dashboards");
const ALERTS = readFileSync(path.join(OBSERVABILITY, "alerts/kapi.yaml"), "utf8").split("- alert: ").length - 1;
const RUNBOOK = /runbook_url: https:\/\/docs\.example\.com\/kapi\/operate\.md#kapi[a-z]+$/gm;

/** A text of the manifests, and how often it must occur. */
interface Expectation {
  readonly what: string;
  readonly pattern: RegExp;
  readonly times: number;
}

/**
 * Texts of the manifests of `external.yaml`, and how often they must occur. Without this check, a
 * condition in the chart that is never true would go unnoticed.
 */
export const EXPECTED: readonly Expectation[] = [
  { what: "gateway and stream scale by processor time", pattern: /^kind: HorizontalPodAutoscaler$/gm, times: 2 },
  { what: "seven services scale by lag", pattern: /^kind: ScaledObject$/gm, times: 7 },
  {
    what: "webhooks scales by the lag of its own consumer group",
    pattern: /consumerGroup: "live.webhooks.facts"/g,
    times: 2,
  },
  {
    what: "every process serves its metrics on a separate port",
    pattern: /name: metrics, containerPort: 9464/g,
    times: 11,
  },
  { what: "each process and each job has an egress policy", pattern: /policyTypes: \[Egress\]$/gm, times: 21 },
  { what: "one policy allows every address", pattern: /cidr: 0\.0\.0\.0\/0$/gm, times: 1 },
  {
    what: "the policy of webhooks allows every address",
    pattern: /name: kapi-webhooks-egress$(?:(?!^---$)[^])*cidr: 0\.0\.0\.0\/0$/gm,
    times: 1,
  },
  { what: "six policies allow Redis", pattern: /- { port: 6379, protocol: TCP }$/gm, times: 6 },
  {
    what: "all pods except the gateway's and the topics job's reach PostgreSQL at its configured port",
    pattern: /- { port: 6432, /gm,
    times: 19,
  },
  {
    what: "all pods except those of migration jobs reach Kafka at the port of the bootstrap brokers",
    pattern: /- { port: 9096, /gm,
    times: 12,
  },
  {
    what: "all pods except those of migration jobs reach Kafka at the additional port",
    pattern: /- { port: 9194, /gm,
    times: 12,
  },
  {
    what: "account and finance have the certificate authority of trading servers",
    pattern: /TRADING_SERVER_TLS_CA_FILE, value: \/run\/kapi\/trading-server-ca\/ca\.crt }$/gm,
    times: 2,
  },
  { what: "account and finance reach trading servers", pattern: /cidr: 192\.0\.2\.0\/24$/gm, times: 2 },
  { what: "every process reaches the collector", pattern: /ports: \[{ port: 4318, protocol: TCP }\]$/gm, times: 11 },
  { what: "a service reaches its additional addresses", pattern: /cidr: 203\.0\.113\.200\/32$/gm, times: 1 },
  { what: "services use PostgreSQL with their own roles", pattern: /"key":"url-[a-z-]+","path":"url"/g, times: 10 },
  { what: "stream uses the role of metrics", pattern: /"key":"url-metrics","path":"url"/g, times: 2 },
  {
    what: "migration jobs get the role of the service, to which they grant rights on its tables",
    pattern: /POSTGRES_SERVICE_ROLE, value: "kapi_/g,
    times: 9,
  },
  {
    what: "Prometheus gets the addresses of the processes",
    pattern: /^kind: ServiceMonitor$[^]*?port: metrics$/gm,
    times: 1,
  },
  {
    what: "only the metrics port is open to Prometheus",
    pattern: /ports: \[\{ port: metrics, protocol: TCP \}\]/g,
    times: 1,
  },
  { what: "each public host has an Ingress", pattern: /^kind: Ingress$/gm, times: 3 },
  {
    what: "the Ingress of the live stream keeps sockets open",
    pattern: /name: kapi-stream$[^]*?proxy-read-timeout: "3600"$[^]*?path: \/api\/v1\/management\/live-metrics$/gm,
    times: 1,
  },
  {
    what: "a public host of the gateway has its five paths, and no probes or metrics",
    pattern:
      /name: kapi-gateway$[^]{0,600}?paths:\n(?: +- path: \/(?:api|docs|openapi\.json|asyncapi\.json|\.well-known)\n +pathType: Prefix\n +backend:[^\n]*\n){5}---$/gm,
    times: 1,
  },
  { what: "pods spread over zones", pattern: /topologyKey: topology\.kubernetes\.io\/zone$/gm, times: 11 },
  {
    what: "all pods but the pod of helm test have the priority class",
    pattern: /^ {6}priorityClassName: "trading"$/gm,
    times: 21,
  },
  {
    what: "sequencers ask stream processes for the newest samples",
    pattern: /SAMPLES_URL, value: "http:\/\/kapi-stream:8080"/g,
    times: 1,
  },
  {
    what: "sequencers reach stream processes",
    pattern: /^ {4}# A sequencer asks the stream processes for/gm,
    times: 1,
  },
  { what: "the alerts are rendered", pattern: /^kind: PrometheusRule$/gm, times: 1 },
  { what: "each alert links to its runbook entry", pattern: RUNBOOK, times: ALERTS },
  {
    what: "each dashboard is rendered",
    pattern: /^ {2}kapi-[a-z-]+\.json: \|$/gm,
    times: readdirSync(DASHBOARDS).length,
  },
];

/** Texts of the manifests of `external.yaml` with HTTPRoutes instead of Ingresses. */
export const ROUTES: readonly Expectation[] = [
  {
    what: "each public host has a route to its Service",
    pattern:
      /^kind: HTTPRoute$[^]*?backendRefs: \[{ name: kapi-(console, port: 8082|gateway, port: 8080|stream, port: 8081) }\]$/gm,
    times: 3,
  },
  { what: "the route of the live stream has no timeout", pattern: /timeouts: { request: 0s }$/gm, times: 1 },
  { what: "there is no Ingress", pattern: /^kind: Ingress$/gm, times: 0 },
];

/** Texts of the manifests of `external.yaml` with all services in one process. */
export const COMBINED: readonly Expectation[] = [
  { what: "there is one Deployment", pattern: /^kind: Deployment$/gm, times: 1 },
  { what: "each service keeps its Service", pattern: /^kind: Service$[^]*?targetPort: 81\d\d, /gm, times: 10 },
  { what: "one job migrates all schemas", pattern: /^kind: Job$[^]*?- name: migrate-combined$/gm, times: 1 },
  { what: "each service has its own database role", pattern: /name: [A-Z_]+__POSTGRES_URL_FILE,/g, times: 9 },
  {
    what: "the migration job gets the role of each service, to which it grants rights on the tables",
    pattern: /name: [A-Z_]+__POSTGRES_SERVICE_ROLE,/g,
    times: 9,
  },
  {
    what: "services reach each other within the pod",
    pattern: /_URL, value: "http:\/\/127\.0\.0\.1:81\d\d"/g,
    times: 7,
  },
  { what: "one Service has the metrics of the process", pattern: /name: metrics, port: 9464,/g, times: 1 },
  { what: "the pod and each of the two jobs have an egress policy", pattern: /policyTypes: \[Egress\]$/gm, times: 3 },
];

/** Texts of the manifests of `large.yaml`. */
export const LARGE: readonly Expectation[] = [
  {
    what: "the windows processes are a StatefulSet",
    pattern: /^kind: StatefulSet\nmetadata:\n {2}name: kapi-windows$/gm,
    times: 1,
  },
  {
    what: "each windows process gets its number from the index of its pod",
    pattern: /WINDOWS_INSTANCE, valueFrom: .*'apps\.kubernetes\.io\/pod-index'/g,
    times: 1,
  },
  {
    what: "windows processes and stream have the addresses of all windows processes, in order",
    pattern: /WINDOWS_URLS, value: "http:\/\/kapi-windows-0\.kapi-windows-pods:8080,.*-1\..*,.*-2\..*"/g,
    times: 2,
  },
  {
    what: "the addresses of windows processes are those of a headless Service",
    pattern: /clusterIP: None$/gm,
    times: 1,
  },
  {
    what: "sequencers ask windows processes for the newest samples",
    pattern: /SAMPLES_URL, value: "http:\/\/kapi-windows:8080"/g,
    times: 1,
  },
  { what: "stream, windows and metrics reach the windows processes", pattern: /^ {4}# windows processes$/gm, times: 3 },
];
