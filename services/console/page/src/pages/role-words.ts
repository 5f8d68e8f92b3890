import type { ConsoleRole } from "../api/shapes.ts";

/**
 * The roles in the order in which they are offered: the role with the fewest rights first, the role
 * with all rights last. Finance and operator have different rights.
 */
export const ROLES: readonly (readonly [role: ConsoleRole, name: string, description: string])[] = [
  ["read_only", "Read-only", "Sees everything but people and the audit log, and changes nothing"],
  ["finance", "Finance", "Deposits, withdraws, and sets the low-balance threshold"],
  ["operator", "Operator", "Changes accounts, risk rules, servers and webhooks, but moves no money"],
  ["owner", "Owner", "Does everything, including people, keys and the audit log"],
];

/** The name of a role; the role itself if a later release added it. */
export function roleInWords(role: string): string {
  return ROLES.find(([known]) => known === role)?.[1] ?? role;
}
