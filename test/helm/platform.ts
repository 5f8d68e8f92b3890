/** What platform teams need from the chart, checked in its rendered manifests. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");
const SEPARATOR = /^---$/m;
const PODS = /^kind: (Deployment|StatefulSet|Job|Pod)$/m;
const DIGEST = `sha256:${"0".repeat(64)}`;
/**
 * Processor time that the quickstart may request, in thousandths of a processor. It must fit two
 * processors, beside the cluster's own pods.
 */
const QUICKSTART_MILLICPUS = 1_200;

interface Check {
  readonly what: string;
  readonly problems: readonly string[];
}

/** Renders the chart with a values file and further values. */
type Render = (values: string, ...set: readonly string[]) => string;

interface Renders {
  readonly render: Render;
  /**
   * Renders for a cluster without the custom resource definitions of KEDA, of the Prometheus
   * operator and of the Gateway API.
   */
  readonly renderBare: Render;
  /** The text that Helm prints after an installation. */
  readonly renderNotes: Render;
}

/** Renders the chart in several ways. Returns each check with its problems: none if it passed. */
export function platformChecks({ render, renderBare, renderNotes }: Renders): Check[] {
  const external = render("external.yaml");
  const plain = render("plain.yaml");
  const quickstart = render("quickstart.yaml");
  const bare = renderBare("external.yaml", "routes.enabled=true", 'routes.parentRefs=[{"name":"public"}]');
  return [
    {
      what: "no pod gets variables of other Services",
      problems: [external, plain, quickstart, render("large.yaml")].flatMap((manifests) =>
        without(manifests, PODS, "enableServiceLinks: false"),
      ),
    },
    {
      what: "custom resources without a definition in the cluster are left out, and Deployments then have fixed replicas",
      problems: [
        ...lacks(bare, /^kind: Deployment$[^]*?^ {2}replicas: 2$/m),
        ...has(bare, /^kind: (ServiceMonitor|PrometheusRule|ScaledObject|HTTPRoute)$/m),
      ],
    },
    {
      what: "a PodMonitor takes the place of the ServiceMonitor",
      problems: lacks(
        render("external.yaml", "telemetry.serviceMonitor.enabled=false", "telemetry.podMonitor.enabled=true"),
        /^kind: PodMonitor$[^]*?port: metrics$/m,
        /name: metrics, containerPort: 9464/,
      ),
    },
    {
      what: "fullnameOverride names every resource",
      problems: names(render("plain.yaml", "fullnameOverride=trading")).filter((name) => !name.startsWith("trading")),
    },
    {
      what: "a service with another port is called at this port",
      problems: lacks(render("plain.yaml", "services.account.ports.http=9090"), /"http:\/\/kapi-account:9090"/),
    },
    {
      what: "images may be given by digest, and a tag with a digest gives a valid label",
      problems: lacks(
        render("plain.yaml", `services.gateway.image=r.example.com/gateway@${DIGEST}`, `image.tag=0.1.0@${DIGEST}`),
        new RegExp(`image: "r\\.example\\.com/gateway@${DIGEST}"`),
        /app\.kubernetes\.io\/version: "[A-Za-z0-9][A-Za-z0-9._-]{0,61}[A-Za-z0-9]"$/m,
      ),
    },
    {
      what: "annotations, affinity, variables and volumes of a service are in its pods and its Service",
      problems: lacks(
        render(
          "plain.yaml",
          "podAnnotations.all=yes",
          "services.gateway.podAnnotations.own=yes",
          "services.gateway.serviceAnnotations.balancer=internal",
          'services.gateway.affinity={"nodeAffinity":{}}',
          'services.gateway.extraEnv=[{"name":"EXTRA","value":"1"}]',
          'extraVolumes=[{"name":"scratch","emptyDir":{}}]',
          'extraVolumeMounts=[{"name":"scratch","mountPath":"/scratch"}]',
        ),
        /^ {8}all: "?yes"?\n {8}own: "?yes"?$/m,
        /^ {4}balancer: internal$/m,
        /affinity: {"nodeAffinity":{}}/,
        /name: EXTRA$/m,
        /mountPath: \/scratch$/m,
        /emptyDir: {}$/m,
      ),
    },
    {
      what: "stream may scale by its sockets",
      problems: lacks(
        render("plain.yaml", "services.stream.scaling.by=sockets", "services.stream.scaling.socketsPerPod=5000"),
        /metric: { name: metrics_live_sockets }, target: { type: AverageValue, averageValue: "5000" }/,
      ),
    },
    {
      what: "the operator's command line has a pod with its token and its egress policy",
      problems: lacks(
        render("plain.yaml", "cli.enabled=true"),
        /"key":"operator-token"/,
        /^ {2}name: kapi-cli$(?:(?!^---$)[^])*name: KAFKA_BROKERS,/m,
        /^ {2}name: kapi-cli-egress$(?:(?!^---$)[^])*port: 9092,/m,
      ),
    },
    {
      what: "the operator's command line reaches organization and console if one pod runs all services",
      problems: lacks(
        render("quickstart.yaml"),
        /^ {2}name: kapi-cli-egress$(?:(?!^---$)[^])*# organization, (?:(?!^---$)[^])*component: combined\n +ports: \[\{ port: 81\d\d,/m,
        /^ {2}name: kapi-cli-egress$(?:(?!^---$)[^])*# console, (?:(?!^---$)[^])*component: combined\n +ports: \[\{ port: 81\d\d,/m,
      ),
    },
    {
      what: "the notes name the installed tag, and the commands that create an organization with its server and key",
      problems: lacks(
        renderNotes("quickstart.yaml", "image.tag=1.2.3"),
        /kapi 1\.2\.3 is installed as kapi/,
        /kapi organization create --name/,
        /kapi server create .*--url http:\/\/kapi-trading-simulator:8080 /,
        /kapi key create --organization/,
      ),
    },
    {
      what: "the notes name a trading server's address only if the simulator runs",
      problems: lacks(renderNotes("plain.yaml", "cli.enabled=true"), /kapi server create .*--url <address> /),
    },
    {
      what: "the notes show https addresses, and http ones for an Ingress without a certificate",
      problems: [
        ...lacks(renderNotes("external.yaml"), /https:\/\/api\.example\.com/, /wss:\/\/live\.example\.com/),
        ...lacks(
          renderNotes("external.yaml", "ingress.tlsSecret="),
          /http:\/\/api\.example\.com/,
          /ws:\/\/live\.example\.com/,
          /http:\/\/console\.example\.com/,
        ),
      ],
    },
    {
      what: "the quickstart fits two processors",
      problems: millicpus(quickstart) <= QUICKSTART_MILLICPUS ? [] : [`requests ${millicpus(quickstart)} millicpus`],
    },
    {
      what: "generated secrets have every key that pods mount",
      problems: missingKeys(
        quickstart,
        [...quickstart.matchAll(/^ {2}([a-z-]+): [A-Za-z0-9+/=]{40,}$/gm)].map(([, key = ""]) => key),
      ),
    },
    {
      what: "make-secrets prints every key that pods mount",
      problems: missingKeys(`${plain}${quickstart}`, printedKeys()),
    },
  ];
}

/** The names of the manifests that `kind` matches and that lack `text`. */
function without(manifests: string, kind: RegExp, text: string): string[] {
  return manifests
    .split(SEPARATOR)
    .filter((manifest) => kind.test(manifest) && !manifest.includes(text))
    .flatMap(names);
}

function lacks(manifests: string, ...patterns: readonly RegExp[]): string[] {
  return patterns.flatMap((pattern) => (pattern.test(manifests) ? [] : [`nothing matches ${pattern}`]));
}

function has(manifests: string, pattern: RegExp): string[] {
  return Array.from(manifests.match(pattern) ?? []);
}

function names(manifests: string): string[] {
  return Array.from(manifests.matchAll(/^metadata:\n {2}name: (.+)$/gm), ([, name = ""]) => name);
}

/** The processor time that the pods and the servers of the quickstart request, in thousandths. */
function millicpus(manifests: string): number {
  const servers = readFileSync(path.join(ROOT, "deploy/helm/quickstart-servers.yaml"), "utf8");
  const pods = [...manifests.split(SEPARATOR), ...servers.split(SEPARATOR)].filter((text) =>
    /^kind: Deployment$/m.test(text),
  );
  return pods.reduce((sum, text) => sum + Number(/requests: ?{? ?\s*cpu: (\d+)m/.exec(text)?.[1] ?? 0), 0);
}

/** The keys of secrets that pods of `manifests` mount, and that are not in `keys`. */
function missingKeys(manifests: string, keys: readonly string[]): string[] {
  const volumes = manifests.matchAll(/- { name: secrets, secret: {.*items: \[(.*)\]/g);
  const mounted = Array.from(volumes, ([, items = ""]) =>
    Array.from(items.matchAll(/"key":"([a-z-]+)"/g), ([, key = ""]) => key),
  );
  return [...new Set(mounted.flat())].filter((key) => !keys.includes(key));
}

/** The keys of the Secret that make-secrets prints. */
function printedKeys(): string[] {
  const program = path.join(ROOT, "deploy/docker/make-secrets.mjs");
  const printed = execFileSync(process.execPath, [program, "--kubernetes", "kapi-secrets"], { encoding: "utf8" });
  return Object.keys((JSON.parse(printed) as { stringData: Record<string, string> }).stringData);
}
