/**
 * Names of roles, and the roles that have each permission. If the role of a person lacks a
 * permission, the page names the roles that have it.
 */
import type { ConsolePermission, ConsoleRole } from "../api/shapes.ts";

/** The name of each role within a sentence. */
export const ROLE_NAMES: Readonly<Record<ConsoleRole, string>> = {
  owner: "owner",
  operator: "operator",
  finance: "finance",
  read_only: "read-only",
};

/** The roles that have each permission (contracts, `ROLE_PERMISSIONS`). */
export const ROLES_WITH: Readonly<Record<ConsolePermission, readonly ConsoleRole[]>> = {
  self: ["owner", "operator", "finance", "read_only"],
  read: ["owner", "operator", "finance", "read_only"],
  "accounts:manage": ["owner", "operator"],
  "money:move": ["owner", "finance"],
  "credits:manage": ["owner", "finance"],
  "servers:manage": ["owner", "operator"],
  "webhooks:manage": ["owner", "operator"],
  "keys:manage": ["owner"],
  "people:manage": ["owner"],
  "audit:read": ["owner"],
};

/**
 * The roles that have a permission, within a sentence: "owner or operator". Null: a later release
 * added the permission.
 */
export function rolesInWords(permission: string): string | null {
  const roles = (ROLES_WITH as Readonly<Record<string, readonly ConsoleRole[]>>)[permission];
  if (roles === undefined) return null;
  return roles.map((role) => ROLE_NAMES[role]).join(" or ");
}
