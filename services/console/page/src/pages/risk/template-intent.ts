import { useApi } from "../../api/context.ts";
import type { Command } from "../../api/shapes.ts";
import { credits as whole } from "../../format.ts";
import type { Intent } from "../account/actions/intents.ts";
import { type CurrentIntent, useIntent } from "../account/actions/use-intent.ts";
import { replacedText } from "./replaced.ts";

/**
 * The intent that changes a template of the server: at most one at a time. `onDone` is called when
 * the change has succeeded.
 */
export function useTemplateIntent(serverId: string, onDone: () => void): CurrentIntent {
  const api = useApi();
  const send = ({ action, key, fields: { name, ...body } }: Intent) => {
    if (action !== "set-template" && action !== "delete-template")
      throw new TypeError(`${action} is not an action on a template`);
    return api.risk.changeTemplate(serverId, String(name), action, { ...body, idempotencyKey: key });
  };
  return useIntent({ serverId, subject: "risk templates", send }, onDone);
}

/** What an intent does to its template. */
export function templateIntentText({ action, fields }: Intent): string {
  return `${action === "delete-template" ? "Deletion" : "Change"} of the template ${String(fields["name"])}`;
}

/**
 * What a succeeded change of a template did, in sentences; empty for a deletion. The accounts get
 * the rules afterwards.
 */
export function templateResultText(command: Command, intent: Intent | null): string {
  const accounts = command.result?.["accounts"];
  if (typeof accounts !== "number") return "";
  const matching = accounts === 1 ? "1 account matches" : `${whole(accounts)} accounts match`;
  return `${replacedText(command, intent)} ${matching}. Matching accounts get the rules of the template now, except accounts to which an older template applies, and accounts whose rules were last set or deleted on the account itself.`;
}
