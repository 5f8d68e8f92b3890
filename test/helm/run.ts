/**
 * `npm run verify -- helm`: lints the chart strictly with several sets of values, renders it, and
 * validates each manifest with Kubernetes' schemas, except resources of other projects. Invalid
 * values must be rejected with an error that names them. The run needs no cluster. Helm and
 * kubectl-validate come from PATH, otherwise Go installs them into `.local/tools`. Without them the
 * run prints that nothing was tested, and exits with 1.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { connectionFields } from "@kapi/runtime";

import { COMBINED, EXPECTED, LARGE, ROUTES } from "./expected.ts";
import { REFUSED } from "./refused.ts";
import { platformChecks } from "./platform.ts";
import { counted, jobsSelectedBy, jobsWithoutPolicy, policiesToAnyAddress } from "./egress.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CHART = path.join(ROOT, "deploy/helm/kapi");
const VALUES = path.join(ROOT, "deploy/helm/values");
const TOOLS = path.join(ROOT, ".local/tools");
/** The oldest version of Kubernetes that the chart supports. */
const KUBERNETES_VERSION = "1.30";
const INSTALL_TIMEOUT_MS = 900_000;
const RUN_TIMEOUT_MS = 60_000;
const SEPARATOR = /^---$/m;
/** Resources of other projects, for which Kubernetes has no schemas. */
const FOREIGN_KINDS = /^apiVersion: (keda\.sh|monitoring\.coreos\.com|gateway\.networking\.k8s\.io)\//m;
/** The API versions of other projects that the chart finds in the cluster. */
const FOREIGN_APIS = ["keda.sh/v1alpha1", "monitoring.coreos.com/v1", "gateway.networking.k8s.io/v1"];

const SIMULATOR = "services.trading-simulator.enabled=true";

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly text: string;
}

function run(
  command: string,
  args: readonly string[],
  options: { timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): Outcome {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    timeout: options.timeoutMs ?? RUN_TIMEOUT_MS,
    env: options.env ?? process.env,
    maxBuffer: 64 * 1_048_576,
  });
  return { ok: status === 0, output: `${stdout}${stderr}`, text: stdout };
}

/**
 * The path of a program: from PATH, or built from its module. Null if the program is not on PATH
 * and cannot be built.
 */
function tool(name: string, module: string): string | null {
  if (run(name, ["--help"]).ok) return name;
  const installed = path.join(TOOLS, name);
  if (existsSync(installed)) return installed;
  if (!run("go", ["version"]).ok) return null;
  console.log(`  · installing ${name} (some minutes of compiling)`);
  mkdirSync(TOOLS, { recursive: true });
  const env = { ...process.env, GOBIN: TOOLS };
  const { ok, output } = run("go", ["install", module], { timeoutMs: INSTALL_TIMEOUT_MS, env });
  if (!ok) console.log(output.split("\n").slice(-5).join("\n"));
  return ok && existsSync(installed) ? installed : null;
}

let failures = 0;
let passes = 0;
function report(what: string, ok: boolean, output: string): void {
  if (ok) passes += 1;
  else failures += 1;
  console.log(`  ${ok ? "✓" : "✗"} ${what}${ok ? "" : `\n${output}`}`);
}

function renderWith(apis: readonly string[], helm: string, values: string, ...set: readonly string[]): Outcome {
  return renderChart(CHART, apis, helm, values, ...set);
}

/**
 * Renders NOTES.txt. Helm prints NOTES.txt only with a cluster, so a copy of the chart has its text
 * as a manifest.
 */
function renderNotes(helm: string, values: string, ...set: readonly string[]): Outcome {
  const copy = mkdtempSync(path.join(tmpdir(), "kapi-helm-"));
  try {
    cpSync(CHART, copy, { recursive: true, dereference: true });
    const notes = readFileSync(path.join(CHART, "templates/NOTES.txt"), "utf8");
    writeFileSync(path.join(copy, "templates/_notes.tpl"), `{{ define "notes" }}${notes}{{ end }}`);
    writeFileSync(path.join(copy, "templates/notes.yaml"), 'notes: |{{ include "notes" . | nindent 2 }}\n');
    return renderChart(copy, [], helm, values, ...set, "--show-only=templates/notes.yaml");
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function renderChart(
  chart: string,
  apis: readonly string[],
  helm: string,
  values: string,
  ...set: readonly string[]
): Outcome {
  const file = path.join(VALUES, values);
  // A value in JSON needs --set-json.
  const more = set.flatMap((value) =>
    value.startsWith("--") ? [value] : [/=(?:\[|{")/.test(value) ? "--set-json" : "--set", value],
  );
  const known = apis.flatMap((api) => ["--api-versions", api]);
  const cluster = ["--kube-version", `${KUBERNETES_VERSION}.0`, ...known];
  return run(helm, ["template", "kapi", chart, ...cluster, "-f", file, ...more]);
}

function render(helm: string, values: string, ...set: readonly string[]): Outcome {
  return renderWith(FOREIGN_APIS, helm, values, ...set);
}

/** Folders of files that containers read but do not mount. */
function missingFiles(manifests: string): string[] {
  return manifests.split(SEPARATOR).flatMap((manifest) => {
    const named = [...manifest.matchAll(/value: (\/run\/kapi\/[^/]+)\//g)].map(([, folder = ""]) => folder);
    return named.filter((folder) => {
      const volume = path.basename(folder);
      return !manifest.includes(`mountPath: ${folder},`) || !manifest.includes(`- { name: ${volume}, secret: {`);
    });
  });
}

/** Connection variables of the services that are missing in these manifests. */
function missingVariables(manifests: string): string[] {
  const known = Object.values(connectionFields).flatMap((fields) => Object.keys(fields));
  return known.filter((name) => !new RegExp(`name: ${name}(_FILE)?,`).test(manifests));
}

/** The optional secrets that the chart mounts: by default, and with `quickstart.yaml`. */
const OPTIONAL_SECRETS = ["trading-server-token"];
const QUICKSTART_SECRETS = [...OPTIONAL_SECRETS, "control-token", "console-sealing-keys"];

interface ProgramSecrets {
  readonly secrets: readonly string[];
  readonly upgradeSecrets?: readonly string[];
  readonly optionalSecrets?: readonly string[];
}

/** The keys of the secrets that a pod of these programs needs. */
function secretKeys(
  programs: readonly (readonly [string, ProgramSecrets])[],
  duringUpgrade: boolean,
  optional: readonly string[],
): string[] {
  const keys = programs.flatMap(([program, { secrets, optionalSecrets = [], upgradeSecrets = [] }]) => {
    const own = [...secrets, ...optionalSecrets.filter((secret) => optional.includes(secret))];
    const uses = duringUpgrade ? [...own, ...upgradeSecrets] : own;
    return uses.map((secret) => (secret === "service-token" ? `${secret}-${program}` : secret));
  });
  return [...new Set(keys)].toSorted();
}

/** Containers whose secrets differ from deploy/programs.json. A job has none of these secrets. */
function wrongSecrets(manifests: string, duringUpgrade = false, optional = OPTIONAL_SECRETS): string[] {
  const programs = JSON.parse(readFileSync(path.join(ROOT, "deploy/programs.json"), "utf8")) as Readonly<
    Record<string, ProgramSecrets>
  >;
  return manifests.split(SEPARATOR).flatMap((manifest) => {
    const [, kind = ""] = /^kind: (Deployment|StatefulSet|Job)$/m.exec(manifest) ?? [];
    if (kind === "") return [];
    const [, program = ""] = /^ +- name: ([a-z-]+)\n +image: /m.exec(manifest) ?? [];
    const [, items = ""] = /- { name: secrets, secret: {.*items: \[(.*)\]/.exec(manifest) ?? [];
    const mounted = Array.from(items.matchAll(/"key":"([a-z-]+)"/g), ([, key = ""]) => key).toSorted();
    const named = Array.from(manifest.matchAll(/value: \/run\/kapi\/secrets\/([a-z-]+)/g), ([, key = ""]) => key);
    const [, services = program] = /name: SERVICES, value: "([a-z,-]+)"/.exec(manifest) ?? [];
    const pairs = services.split(",").map((name) => [name, programs[name] ?? { secrets: ["unknown"] }] as const);
    const keys = kind === "Job" ? [] : secretKeys(pairs, duringUpgrade, optional);
    const files = program === "combined" ? keys : keys.map((key) => key.replace(`-${program}`, ""));
    const isRight = mounted.join() === keys.join() && named.toSorted().join() === files.toSorted().join();
    return isRight
      ? []
      : [`${kind} ${program} mounts ${mounted.join()} and reads ${named.join()}, but needs ${keys.join()}`];
  });
}

function validate(validator: string, manifests: string): Outcome {
  const folder = mkdtempSync(path.join(tmpdir(), "kapi-helm-"));
  try {
    const own = manifests.split(SEPARATOR).filter((text) => /^kind:/m.test(text) && !FOREIGN_KINDS.test(text));
    for (const [index, manifest] of own.entries()) writeFileSync(path.join(folder, `${index}.yaml`), manifest);
    const checked = run(validator, ["--version", KUBERNETES_VERSION, folder]);
    // Without manifests the check fails.
    return { ...checked, ok: checked.ok && own.length > 0 };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const helm = tool("helm", "helm.sh/helm/v3/cmd/helm@v3.19.0");
const validator = tool("kubectl-validate", "sigs.k8s.io/kubectl-validate@v0.0.4");
if (helm === null || validator === null) {
  console.log("The chart was not tested: helm and kubectl-validate are not on PATH, and cannot be installed with Go.");
  process.exit(1);
}
for (const values of readdirSync(VALUES).toSorted()) {
  const lint = run(helm, ["lint", "--strict", CHART, "-f", path.join(VALUES, values)]);
  report(`${values}: linted strictly`, lint.ok, lint.output);
  const rendered = render(helm, values);
  report(`${values}: rendered`, rendered.ok, rendered.output);
  const missing = missingFiles(rendered.text);
  report(`${values}: every file that a container reads is mounted`, missing.length === 0, missing.join("\n"));
  const optional = values === "quickstart.yaml" ? QUICKSTART_SECRETS : OPTIONAL_SECRETS;
  const wrong = wrongSecrets(rendered.text, false, optional);
  report(`${values}: every program has exactly its own secrets`, rendered.ok && wrong.length === 0, wrong.join("\n"));
  if (values === "external.yaml") {
    const missingNames = missingVariables(rendered.text);
    report(`${values}: sets every connection variable`, missingNames.length === 0, missingNames.join("\n"));
  }
  const validated = validate(validator, rendered.text);
  report(`${values}: every manifest is valid for Kubernetes ${KUBERNETES_VERSION}`, validated.ok, validated.output);
}
const upgrading = render(helm, "plain.yaml", "secrets.acceptInternalToken=true");
const wrongThen = wrongSecrets(upgrading.text, true);
report(
  "during an upgrade, every program also has the shared secret of 0.1.0",
  upgrading.ok && wrongThen.length === 0,
  wrongThen.join("\n"),
);
const external = render(helm, "external.yaml").text;
const plain = render(helm, "plain.yaml").text;
const toAnyAddress = policiesToAnyAddress(plain).join();
report("plain.yaml: only webhooks may reach every address", toAnyAddress === "kapi-webhooks-egress", toAnyAddress);
for (const [values, manifests] of Object.entries({ "plain.yaml": plain, "external.yaml": external })) {
  const withoutPolicy = jobsWithoutPolicy(manifests);
  const { jobs } = counted(manifests);
  const what = `${values}: jobs run under the policies of their own release`;
  report(what, jobs > 0 && withoutPolicy.length === 0, withoutPolicy.join("\n"));
}
for (const off of ["networkPolicies.egress.enabled=false", "networkPolicies.enabled=false"]) {
  const manifests = render(helm, "plain.yaml", off).text;
  const { jobs, policies } = counted(manifests);
  const selected = jobsSelectedBy(plain, manifests);
  const right = jobs > 0 && policies === 0 && selected.length === 0;
  report(`${off}: no policy selects the jobs, not even one of the previous release`, right, selected.join("\n"));
}
const simulated = render(helm, "plain.yaml", "networkPolicies.egress.tradingServers.to=[]", SIMULATOR);
report(
  "with the simulator, the values need no other trading server",
  simulated.ok && policiesToAnyAddress(simulated.text).join() === "kapi-webhooks-egress",
  simulated.output,
);
const small = render(helm, "small.yaml").text;
report(
  "small.yaml: the simulator has its own pod, and two such pods never run at once",
  /^ {2}name: kapi-trading-simulator$(?:(?!^---$)[^])*strategy: { type: Recreate }$/m.test(small) &&
    [...small.matchAll(/^kind: Deployment$/gm)].length === 2,
  small,
);
report(
  "the simulator connects to PostgreSQL with the role of its own schema",
  simulated.text.includes('"key":"url-trading-server"') && simulated.text.includes('value: "kapi_trading_server"'),
  simulated.output,
);
const ONE_PROCESS = ["combined.enabled=true", "services.stream.enabled=false", "hosts.stream="];
const combined = render(helm, "external.yaml", ...ONE_PROCESS);
const wrongCombined = [
  ...wrongSecrets(combined.text),
  ...missingFiles(combined.text),
  ...jobsWithoutPolicy(combined.text),
];
report(
  "external.yaml, combined: one process has the secrets of all its services",
  combined.ok && wrongCombined.length === 0,
  `${combined.output}\n${wrongCombined.join("\n")}`,
);
for (const { what, pattern, times } of COMBINED) {
  const found = [...combined.text.matchAll(pattern)].length;
  report(`external.yaml, combined: ${what}`, found === times, `found ${found} times, not ${times}`);
}
for (const { what, pattern, times } of EXPECTED) {
  const found = [...external.matchAll(pattern)].length;
  report(`external.yaml: ${what}`, found === times, `found ${found} times, not ${times}`);
}
const ROUTED = ["ingress.enabled=false", "routes.enabled=true", 'routes.parentRefs=[{"name":"public"}]'];
const routed = render(helm, "external.yaml", ...ROUTED).text;
for (const { what, pattern, times } of ROUTES) {
  const found = [...routed.matchAll(pattern)].length;
  report(`external.yaml, routes: ${what}`, found === times, `found ${found} times, not ${times}`);
}
const large = render(helm, "large.yaml").text;
for (const { what, pattern, times } of LARGE) {
  const found = [...large.matchAll(pattern)].length;
  report(`large.yaml: ${what}`, found === times, `found ${found} times, not ${times}`);
}
const platform = platformChecks({
  render: (values, ...set) => render(helm, values, ...set).text,
  renderBare: (values, ...set) => renderWith([], helm, values, ...set).text,
  renderNotes: (values, ...set) => renderNotes(helm, values, ...set).output,
});
for (const { what, problems } of platform) report(what, problems.length === 0, problems.join("\n"));
for (const { what, set, named } of REFUSED) {
  // `helm lint` would not fail at an error of a template.
  const { ok, output } = render(helm, "plain.yaml", ...set);
  report(`rejected, with the value in the error: ${what}`, !ok && named.test(output), output);
}
console.log(`${passes} passed, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
