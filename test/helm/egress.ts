/**
 * Finds in rendered manifests the jobs that start without an egress policy, the jobs that policies
 * of an earlier release select, and the policies that allow every address. The functions match the
 * layout of this chart, and do not parse YAML.
 */

const SEPARATOR = /^---$/m;
const ANYWHERE = /cidr: "?(?:0\.0\.0\.0|::)\/0"?$/m;

interface Hook {
  /** Empty for an ordinary resource, which Helm applies after pre-install and pre-upgrade hooks. */
  readonly events: string;
  readonly weight: number;
  readonly isReplaced: boolean;
}

interface EgressPolicy {
  readonly name: string;
  readonly hook: Hook;
  readonly selected: readonly string[];
  readonly rules: readonly string[];
}

interface Job {
  readonly name: string;
  readonly hook: Hook;
  readonly podLabels: readonly string[];
}

/**
 * Jobs that start without a policy of `manifests`. A policy applies from the start of a job only if
 * it is a hook before the job.
 */
export function jobsWithoutPolicy(manifests: string): string[] {
  const policies = egressPolicies(manifests);
  const hasPolicy = (job: Job): boolean =>
    policies.some(
      ({ hook, ...policy }) =>
        selects(policy, job) &&
        hook.events === job.hook.events &&
        hook.weight < job.hook.weight &&
        // Without replacement the previous release's policy would stay with its rules.
        hook.isReplaced,
    );
  return jobsOf(manifests).flatMap((job) => (hasPolicy(job) ? [] : [job.name]));
}

/** Jobs of `manifests` that policies of the `earlier` release would still select. */
export function jobsSelectedBy(earlier: string, manifests: string): string[] {
  const policies = egressPolicies(earlier);
  return jobsOf(manifests).flatMap((job) => (policies.some((policy) => selects(policy, job)) ? [job.name] : []));
}

/** Names of the policies with a rule that allows every address. */
export function policiesToAnyAddress(manifests: string): string[] {
  return egressPolicies(manifests).flatMap(({ name, rules }) =>
    rules.some((rule) => !/^ {6}to:$/m.test(rule) || ANYWHERE.test(rule)) ? [name] : [],
  );
}

/** Number of jobs and of egress policies. */
export function counted(manifests: string): { readonly jobs: number; readonly policies: number } {
  return { jobs: jobsOf(manifests).length, policies: egressPolicies(manifests).length };
}

function selects({ selected }: Pick<EgressPolicy, "selected">, { podLabels }: Job): boolean {
  return selected.every((label) => podLabels.includes(label));
}

function egressPolicies(manifests: string): EgressPolicy[] {
  return manifestsOf(manifests, "NetworkPolicy").flatMap((manifest) => {
    const [head = "", rules] = manifest.split(/^ {2}egress:$/m);
    if (rules === undefined) return [];
    const [, selected = ""] = /^ {4}matchLabels:\n((?: {6}.*\n)+)/m.exec(head) ?? [];
    return [
      {
        name: nameOf(manifest),
        hook: hookOf(manifest),
        selected: linesOf(selected),
        // A rule begins with "- to:" or "- ports:".
        rules: rules
          .split(/^ {4}- /m)
          .slice(1)
          .map((rule) => `      ${rule}`),
      },
    ];
  });
}

function jobsOf(manifests: string): Job[] {
  return manifestsOf(manifests, "Job").map((manifest) => {
    const [, labels = ""] = /^ {2}template:\n {4}metadata:\n {6}labels:\n((?: {8}.*\n)+)/m.exec(manifest) ?? [];
    return { name: nameOf(manifest), hook: hookOf(manifest), podLabels: linesOf(labels) };
  });
}

function manifestsOf(manifests: string, kind: string): string[] {
  return manifests.split(SEPARATOR).filter((manifest) => new RegExp(`^kind: ${kind}$`, "m").test(manifest));
}

function nameOf(manifest: string): string {
  return /^ {2}name: (.+)$/m.exec(manifest)?.[1] ?? "";
}

function hookOf(manifest: string): Hook {
  const annotation = (name: string): string =>
    new RegExp(`^ {4}helm\\.sh/${name}: "?([^"\\n]+)"?$`, "m").exec(manifest)?.[1] ?? "";
  return {
    events: annotation("hook"),
    weight: Number(annotation("hook-weight")),
    isReplaced: annotation("hook-delete-policy").split(",").includes("before-hook-creation"),
  };
}

function linesOf(block: string): string[] {
  return block
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
