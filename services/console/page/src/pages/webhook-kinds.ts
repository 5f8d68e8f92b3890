import type { WebhookKind } from "../api/shapes.ts";

/** Test events are sent only on request, so this kind cannot be selected. */
type ChosenKind = Exclude<WebhookKind, "webhook.test">;

const COMMANDS = "Command results";

/** Subject of each kind; the type ensures that none is missing. */
const SUBJECTS: Readonly<Record<ChosenKind, string>> = {
  "account.created": "Accounts",
  "account.updated": "Accounts",
  "account.enabled": "Accounts",
  "account.close_only": "Accounts",
  "account.disabled": "Accounts",
  "account.archived": "Accounts",
  "account.deleted": "Accounts",
  "account.password_changed": "Accounts",
  "order.executed": "Trading",
  "order.cancelled": "Trading",
  "position.opened": "Trading",
  "position.updated": "Trading",
  "position.closed": "Trading",
  "deal.executed": "Trading",
  "margin.call": "Trading",
  "margin.stop_out": "Trading",
  "risk.breached": "Risk",
  "risk.warning": "Risk",
  "risk.evidence_stored": "Risk",
  "transaction.recorded": "Money and credits",
  "credits.low_balance": "Money and credits",
  "command.succeeded": COMMANDS,
  "command.failed": COMMANDS,
  "command.expired": COMMANDS,
};

/** Kinds of one subject. */
export interface KindGroup {
  readonly subject: string;
  readonly kinds: readonly WebhookKind[];
}

const CHOSEN_KINDS = Object.keys(SUBJECTS) as ChosenKind[];

/** All kinds that can be chosen, by subject. */
export const KIND_GROUPS: readonly KindGroup[] = [...new Set(Object.values(SUBJECTS))].map((subject) => ({
  subject,
  kinds: CHOSEN_KINDS.filter((kind) => SUBJECTS[kind] === subject),
}));

/**
 * The kinds that an endpoint gets if its `kinds` is null: all except final states of commands. Such
 * an endpoint also gets `webhook.test`, which is left out here.
 */
export const DEFAULT_KINDS: readonly WebhookKind[] = CHOSEN_KINDS.filter((kind) => SUBJECTS[kind] !== COMMANDS);

/** Every kind that a delivery can have. */
export const ALL_KINDS: readonly WebhookKind[] = [...CHOSEN_KINDS, "webhook.test"];
