import { z } from "zod";

import {
  CreateTradingAccountBody,
  DisableAccountBody,
  PayloadAmount,
  UpdateTradingAccountBody,
} from "./http/accounts.ts";
import { MAX_EXPORT_RECORDS } from "./http/exports.ts";
import { FundsBody } from "./http/finance.ts";
import { SetRiskRulesBody } from "./http/risk.ts";
import { RiskTemplateName, SetRiskTemplateBody, TemplateAccountRules } from "./http/risk-templates.ts";
import { TOPICS, type TopicContract } from "./topics.ts";
import { DateTime } from "./values.ts";

/**
 * Time from the acceptance of a command to its expiry, in milliseconds (decisions, 3.1). Exports
 * have {@link EXPORT_DEADLINE_MS}. The command of a risk rule's action has 24 hours.
 */
export const COMMAND_DEADLINE_MS = 15 * 60_000;
/** Time from the acceptance of an export to its expiry, in milliseconds. */
export const EXPORT_DEADLINE_MS = 60 * 60_000;

/** The contract of one command: a row of the table {@link COMMANDS}. */
export interface CommandContract {
  /** The topic of the command. One worker reads the topic: account, finance, export or risk. */
  readonly topic: TopicContract;
  /** Time from acceptance to expiry, in milliseconds. */
  readonly deadlineMs: number;
  /**
   * The request without `requestId` and passwords: the fields of its body or query, and the name of
   * a risk template. The API shows the payload, and the worker reads it.
   */
  readonly payload: z.ZodType<Record<string, unknown>>;
  /**
   * The field of the payload with the money, in units of currency; null for a command without
   * money.
   */
  readonly money: "amount" | "initialBalance" | null;
  /**
   * The passwords that the command sets: both passwords of a new account, or the password that is
   * reset. Null if the command sets no password.
   */
  readonly password: "creation" | "trading" | "investor" | null;
}

const NO_PAYLOAD = z.object({});

const ON_ACCOUNT = {
  topic: TOPICS.commandsAccount,
  deadlineMs: COMMAND_DEADLINE_MS,
  payload: NO_PAYLOAD,
  money: null,
  password: null,
} as const;

const MONEY = {
  topic: TOPICS.commandsFinance,
  deadlineMs: COMMAND_DEADLINE_MS,
  payload: FundsBody.omit({ requestId: true }).extend({ amount: PayloadAmount.positive() }),
  money: "amount",
  password: null,
} as const;

/** Every queued operation (interface, "Command"), declared once. */
export const COMMANDS = {
  "account.create": {
    ...ON_ACCOUNT,
    payload: CreateTradingAccountBody.omit({ requestId: true, password: true }).extend({
      initialBalance: PayloadAmount,
    }),
    money: "initialBalance",
    password: "creation",
  },
  // zod has no `omit` for a schema with a refinement.
  "account.update": { ...ON_ACCOUNT, payload: z.object(UpdateTradingAccountBody.shape).omit({ requestId: true }) },
  "account.enable": ON_ACCOUNT,
  "account.disable": { ...ON_ACCOUNT, payload: DisableAccountBody.omit({ requestId: true }) },
  "account.archive": ON_ACCOUNT,
  "account.delete": ON_ACCOUNT,
  "account.flatten": ON_ACCOUNT,
  "account.close_only": ON_ACCOUNT,
  "account.password_reset": { ...ON_ACCOUNT, password: "trading" },
  "account.investor_password_reset": { ...ON_ACCOUNT, password: "investor" },
  "account.history_export": {
    topic: TOPICS.commandsExport,
    deadlineMs: EXPORT_DEADLINE_MS,
    payload: z.object({
      from: DateTime.nullish(),
      to: DateTime.nullish(),
      limit: z.int().min(1).max(MAX_EXPORT_RECORDS).default(MAX_EXPORT_RECORDS),
    }),
    money: null,
    password: null,
  },
  "finance.deposit": MONEY,
  "finance.withdraw": MONEY,
  "risk.set_rules": { ...ON_ACCOUNT, topic: TOPICS.commandsRisk, payload: SetRiskRulesBody.omit({ requestId: true }) },
  "risk.delete_rules": {
    ...ON_ACCOUNT,
    topic: TOPICS.commandsRisk,
    payload: z.object({ useTemplate: z.boolean().optional() }),
  },
  "risk.set_template": {
    ...ON_ACCOUNT,
    topic: TOPICS.commandsRisk,
    payload: SetRiskTemplateBody.omit({ requestId: true }).extend({ name: RiskTemplateName }),
  },
  "risk.delete_template": {
    ...ON_ACCOUNT,
    topic: TOPICS.commandsRisk,
    payload: z.object({ name: RiskTemplateName, accountRules: TemplateAccountRules }),
  },
} as const satisfies Readonly<Record<string, CommandContract>>;

/** A queued operation. */
export type CommandOperation = keyof typeof COMMANDS;

/** The operations that set the password of an existing account. */
export type PasswordReset = "account.password_reset" | "account.investor_password_reset";

/** Whether `operation` is a {@link PasswordReset}. */
export function isPasswordReset(operation: CommandOperation): operation is PasswordReset {
  const { password } = COMMANDS[operation];
  return password === "trading" || password === "investor";
}
