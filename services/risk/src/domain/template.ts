/** Which rules an account gets from the templates of its server (decisions, 15.10). */
import type { AccountStatus, RiskRule, RiskTemplateSelection } from "@kapi/contracts";
import { RISK_TEMPLATE_STATUSES } from "@kapi/contracts";

/** A template of a server. */
export interface Template {
  readonly name: string;
  readonly version: number;
  /** The first version since the template was last created. */
  readonly firstVersion: number;
  /** `deleted`: accounts keep their rules; `removed`: the rules of accounts are removed too. */
  readonly state: "active" | "deleted" | "removed";
  readonly organizationId: string;
  readonly rules: readonly RiskRule[];
  readonly appliesTo: RiskTemplateSelection;
  /** Whether it applies to accounts that are created, or begin to match, later. */
  readonly newAccounts: boolean;
  /** The command that made this version. */
  readonly commandId: string;
}

/** The template and version that rules came from. */
export interface TemplateVersion {
  readonly name: string;
  readonly version: number;
}

/** The fields by which templates select accounts. */
export interface SelectableAccount {
  readonly accountName: string;
  readonly status: AccountStatus;
}

/** Rules that an account gets from a template. */
export interface TemplateRules {
  readonly template: Template;
  /** Empty if the template was deleted together with the rules of its accounts. */
  readonly rules: readonly RiskRule[];
}

/** Whether a selection matches an account. A pending, failed or deleting account never matches. */
export function isSelected({ status, nameStartsWith }: RiskTemplateSelection, account: SelectableAccount): boolean {
  const statuses: readonly AccountStatus[] = status ?? RISK_TEMPLATE_STATUSES;
  return statuses.includes(account.status) && account.accountName.startsWith(nameStartsWith ?? "");
}

/** The first active template, in the order of their creation, that selects an account, or null. */
export function firstSelected(templates: readonly Template[], account: SelectableAccount): Template | null {
  return templates.find(({ state, appliesTo }) => state === "active" && isSelected(appliesTo, account)) ?? null;
}

/**
 * The rules that an account gets from the templates of its server; null: its rules stay as they
 * are. Rules that were set on the account always stay.
 * @param rulesFrom where its newest rules came from: `own` if a command set or removed them on the
 * account, null if it never had rules.
 * @param templates of the server, in the order of their creation.
 * @param appliedName the template that is being applied; null: the account was created or changed.
 */
export function rulesFromTemplates(
  account: SelectableAccount,
  rulesFrom: TemplateVersion | "own" | null,
  templates: readonly Template[],
  appliedName: string | null,
): TemplateRules | null {
  if (rulesFrom === "own") return null;
  const former = templates.find(
    ({ name, firstVersion }) => name === rulesFrom?.name && rulesFrom.version >= firstVersion,
  );
  const candidates = templates.filter(
    (template) => template.newAccounts || template.name === appliedName || template === former,
  );
  // Without another template that applies, rules follow the template that they came from.
  const template = firstSelected(candidates, account) ?? former;
  if (template === undefined || template.state === "deleted") return null;
  if (template.name === rulesFrom?.name && template.version === rulesFrom.version) return null;
  return { template, rules: template.state === "removed" ? [] : template.rules };
}
