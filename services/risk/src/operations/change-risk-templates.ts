/**
 * Carries out commands that change risk templates. A template is stored in the transaction in which
 * its command succeeds; it is applied to accounts afterwards (apply-risk-templates.ts).
 */
import type { CommandOutcome } from "@kapi/commands";
import { type CommandMessage, MAX_RISK_TEMPLATES } from "@kapi/contracts";

import type { SelectedAccounts, TemplateChange, TemplateRepository } from "../domain/template-ports.ts";

/**
 * What {@link changeRiskTemplate} reads. `templates` reads the state of the server's templates, and
 * `selected` counts the accounts that the new version selects.
 */
export interface ChangeRiskTemplatesDependencies {
  readonly templates: Pick<TemplateRepository, "stateOf">;
  readonly selected: Pick<SelectedAccounts, "count">;
  /** Whether the accounts cannot be counted now: then the command is retried. */
  readonly isUnavailable: (error: unknown) => boolean;
}

/** What a command does to a template. */
export interface TemplateEffect {
  readonly change: TemplateChange;
  /** Number of accounts that the template selects; null for a deletion. */
  readonly accounts: number | null;
}

/** The change of a template that a message asks for; null if it asks for something else. */
export function templateChangeOf(message: CommandMessage): TemplateChange | null {
  const { serverId, organizationId, commandId } = message;
  const common = { serverId, organizationId, commandId };
  if (message.operation === "risk.set_template") return { ...common, kind: "set", ...message.payload };
  return message.operation === "risk.delete_template" ? { ...common, kind: "delete", ...message.payload } : null;
}

/** Checks a change of a template against the templates of its server. */
export async function changeRiskTemplate(
  { templates, selected, isUnavailable }: ChangeRiskTemplatesDependencies,
  change: TemplateChange,
): Promise<CommandOutcome<TemplateEffect>> {
  const { count, exists, isRemoving } = await templates.stateOf(change);
  if (change.kind === "delete") {
    return { kind: "succeeded", result: {}, effect: { change, accounts: null } };
  }
  if (isRemoving) return { kind: "retry", reason: "the rules of the deleted template are still being removed" };
  if (!exists && count >= MAX_RISK_TEMPLATES) {
    const errorMessage = `The server has ${count} risk templates, which is the maximum: delete one first`;
    return { kind: "refuse", errorCode: "INVALID_STATE_TRANSITION", errorMessage };
  }
  try {
    const accounts = await selected.count(change.serverId, change.appliesTo);
    return { kind: "succeeded", result: {}, effect: { change, accounts } };
  } catch (error) {
    if (isUnavailable(error)) return { kind: "retry", reason: "the accounts of the server cannot be counted" };
    throw error;
  }
}
