/** Actions of people on an account, in the console. */
import { z } from "zod";

import type { OperationId } from "../operations.ts";
import type { ConsolePermission } from "./console-roles.ts";

/** What an action requires of a role, and the operation of the management API that it calls. */
interface AccountActionContract {
  readonly operation: OperationId;
  readonly permission: ConsolePermission;
}

/** The actions, by their names in addresses. */
export const ACCOUNT_ACTIONS = {
  deposit: { operation: "depositAccountFunds", permission: "money:move" },
  withdraw: { operation: "withdrawAccountFunds", permission: "money:move" },
  disable: { operation: "disableAccount", permission: "accounts:manage" },
  enable: { operation: "enableAccount", permission: "accounts:manage" },
  "close-only": { operation: "setAccountCloseOnly", permission: "accounts:manage" },
  flatten: { operation: "flattenAccount", permission: "accounts:manage" },
  archive: { operation: "archiveAccount", permission: "accounts:manage" },
  "reset-password": { operation: "resetTradingPassword", permission: "accounts:manage" },
  "reset-investor-password": { operation: "resetInvestorPassword", permission: "accounts:manage" },
  "set-risk-rules": { operation: "setRiskRules", permission: "accounts:manage" },
  "delete-risk-rules": { operation: "deleteRiskRules", permission: "accounts:manage" },
} as const satisfies Readonly<Record<string, AccountActionContract>>;
export type AccountAction = keyof typeof ACCOUNT_ACTIONS;

/** The actions on a risk template, by their names in addresses. */
export const TEMPLATE_ACTIONS = {
  "set-template": { operation: "setRiskTemplate", permission: "accounts:manage" },
  "delete-template": { operation: "deleteRiskTemplate", permission: "accounts:manage" },
} as const satisfies Readonly<Record<string, AccountActionContract>>;
export type TemplateAction = keyof typeof TEMPLATE_ACTIONS;

/** The operations on an account that a person can call. */
export const PERSON_OPERATIONS = Object.values(ACCOUNT_ACTIONS).map(({ operation }) => operation);
export type PersonOperation = (typeof PERSON_OPERATIONS)[number];
/** The operations on a risk template that a person can call. */
export const PERSON_TEMPLATE_OPERATIONS = Object.values(TEMPLATE_ACTIONS).map(({ operation }) => operation);
export type PersonTemplateOperation = (typeof PERSON_TEMPLATE_OPERATIONS)[number];

/**
 * Body of an action: the fields of the operation's body without `requestId`, and an idempotency
 * key. The page keeps the key until it knows the outcome, so that the action is carried out once.
 */
export const AccountActionBody = z.looseObject({ idempotencyKey: z.uuid() });
export type AccountActionBody = z.infer<typeof AccountActionBody>;

/**
 * Body of a change of risk rules or of a template. `expectedVersion` is the version that the person
 * saw; 0: none. 409 `VERSION_CHANGED` if another version replaced it.
 */
export const RiskActionBody = AccountActionBody.extend({ expectedVersion: z.int().min(0) });
export type RiskActionBody = z.infer<typeof RiskActionBody>;

/**
 * The `Idempotency-Key` of a person's command. It differs from the keys of all other people
 * (decisions, 26).
 */
export function personIdempotencyKey(userId: string, idempotencyKey: string): string {
  return `user/${userId}/${idempotencyKey}`;
}
