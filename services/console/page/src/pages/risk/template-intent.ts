import { useApi } from "../../api/context.ts";
import type { Command } from "../../api/shapes.ts";
import { credits as whole } from "../../format.ts";
import type { Intent } from "../account/actions/intents.ts";
import { type CurrentIntent, useIntent } from "../account/actions/use-intent.ts";
import { replacedText } from "./replaced.ts";

/** The change of a template in progress: one at a time on a server. `onDone`: it succeeded. */
export function useTemplateIntent(serverId: string, onDone: () => void): CurrentIntent {
  const api = useApi();
  const send = ({ action, key, fields: { name, ...body } }: Intent) => {
    if (action !== "set-template" && action !== "delete-template") throw new TypeError(`${action} of a template`);
    return api.risk.changeTemplate(serverId, String(name), action, { ...body, idempotencyKey: key });
  };
  return useIntent({ serverId, subject: "risk templates", send }, onDone);
}

/** What an intent does to its template. */
export function templateIntentText({ action, fields }: Intent): string {
  return `${action === "delete-template" ? "Deletion" : "Change"} of the template ${String(fields["name"])}`;
}

/** What a succeeded change of a template did. Its accounts get their rules afterwards. */
export function templateResultText(command: Command, intent: Intent | null): string {
  const accounts = command.result?.["accounts"];
  if (typeof accounts !== "number") return "";
  const matching = accounts === 1 ? "1 account matches" : `${whole(accounts)} accounts match`;
  return `${replacedText(command, intent)} ${matching}; those without rules of their own get its rules now.`;
}
