import { z } from "zod";

import type { CommandOperation } from "../commands.ts";
import { Flattened } from "../messages/trading-event.ts";
import { AccountName, AccountStatus } from "./accounts.ts";
import { HistoryExport } from "./exports.ts";
import { Leverage } from "./servers.ts";

const StatusChange = z.object({ status: AccountStatus, changed: z.boolean() });
const PasswordChange = z.object({ changedAt: z.iso.datetime() });
const RiskRulesChange = z.object({ version: z.int().min(1), activeFrom: z.iso.datetime() });
const Booking = z.object({ transactionId: z.uuid(), balanceAfter: z.number() });

/** The `result` of a succeeded command, by operation (decisions, 3.5 and 8). */
export const COMMAND_RESULTS = {
  "account.create": z.object({ accountId: z.uuid(), accountNumber: z.string() }),
  "account.update": z.object({ accountName: AccountName, leverage: Leverage, version: z.int().min(1) }),
  "account.enable": StatusChange,
  "account.disable": StatusChange.extend(Flattened.partial().shape),
  "account.archive": StatusChange,
  "account.delete": z.object({ accountNumber: z.string(), deleted: z.literal(true) }),
  "account.flatten": Flattened,
  "account.close_only": StatusChange.extend(Flattened.pick({ cancelled: true }).shape),
  "account.password_reset": PasswordChange,
  "account.investor_password_reset": PasswordChange,
  "account.history_export": HistoryExport,
  "finance.deposit": Booking,
  "finance.withdraw": Booking,
  "risk.set_rules": RiskRulesChange,
  "risk.delete_rules": RiskRulesChange,
  "risk.set_template": z.object({ version: z.int().min(1), accounts: z.int().min(0) }),
  "risk.delete_template": z.object({ version: z.int().min(1) }),
} as const satisfies Readonly<Record<CommandOperation, z.ZodType>>;
