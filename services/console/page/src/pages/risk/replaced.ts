import type { Command } from "../../api/shapes.ts";
import type { Intent } from "../account/actions/intents.ts";

/**
 * The version that a change made. If somebody else queued a change at the same time, it says so:
 * the check before the change could not see it.
 */
export function replacedText({ result }: Pick<Command, "result">, intent: Pick<Intent, "fields"> | null): string {
  const { version } = result ?? {};
  const expected = intent?.fields["expectedVersion"];
  if (typeof version !== "number") return "";
  if (typeof expected !== "number" || expected === 0 || version === expected + 1) return `It is version ${version}.`;
  return (
    `It is version ${version}. Somebody else changed it at the same time: version ${version - 1} was replaced. ` +
    "Compare the two commands."
  );
}
