/** Roles of the people of an organization, and what each role may do in the console. */
import { z } from "zod";

/**
 * - `owner`: everything, also people, keys and the audit log
 * - `operator`: accounts, risk rules, servers and webhooks, but no money
 * - `finance`: deposits, withdrawals and credits
 * - `read_only`: only reads
 */
export const CONSOLE_ROLES = ["owner", "operator", "finance", "read_only"] as const;
export const ConsoleRole = z.enum(CONSOLE_ROLES);
export type ConsoleRole = z.infer<typeof ConsoleRole>;

/** What a route of the console requires. Every route of signed-in people names one permission. */
export const CONSOLE_PERMISSIONS = [
  // Own session, password and second factor.
  "self",
  "read",
  // Changes of accounts without money: status, passwords, positions, risk rules.
  "accounts:manage",
  // Deposits and withdrawals.
  "money:move",
  // The low-balance threshold.
  "credits:manage",
  "servers:manage",
  "webhooks:manage",
  "keys:manage",
  "people:manage",
  "audit:read",
] as const;
export const ConsolePermission = z.enum(CONSOLE_PERMISSIONS);
export type ConsolePermission = z.infer<typeof ConsolePermission>;

const READER = ["self", "read"] as const satisfies readonly ConsolePermission[];

/** The permissions of each role. The API enforces them; the page only hides what they exclude. */
export const ROLE_PERMISSIONS: Readonly<Record<ConsoleRole, readonly ConsolePermission[]>> = {
  owner: CONSOLE_PERMISSIONS,
  operator: [...READER, "accounts:manage", "servers:manage", "webhooks:manage"],
  finance: [...READER, "money:move", "credits:manage"],
  read_only: READER,
};
