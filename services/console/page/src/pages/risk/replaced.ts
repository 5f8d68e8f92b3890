import type { Command } from "../../api/shapes.ts";
import type { Intent } from "../account/actions/intents.ts";

/**
 * The version that a succeeded change made, as a sentence; empty if the result has no version. The
 * console compares versions only before a change is queued (decisions, 26.1). If another change of
 * the same rules or template was carried out after this comparison, further sentences say so. They
 * are omitted for a creation (expected version 0), and if the expected version is unknown.
 */
export function replacedText({ result }: Pick<Command, "result">, intent: Pick<Intent, "fields"> | null): string {
  const { version } = result ?? {};
  const expected = intent?.fields["expectedVersion"];
  if (typeof version !== "number") return "";
  if (typeof expected !== "number" || expected === 0 || version === expected + 1)
    return `The new version is ${version}.`;
  return (
    `The new version is ${version}. It replaced version ${version - 1}, which somebody else made at the same time. ` +
    "Compare the commands that made these two versions."
  );
}
