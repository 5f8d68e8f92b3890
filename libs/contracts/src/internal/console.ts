/**
 * The internal routes of the console service, for the operator. The console service owns people and
 * the audit log.
 */
import { z } from "zod";

import { ListAuditQuery } from "../http/audit.ts";
import { ChangeRoleBody } from "../http/console-people.ts";
import { ConsoleRole } from "../http/console-roles.ts";
import { Email, GivenName, UserPassword } from "../http/console.ts";
import { PageNumbers, PageQuery } from "../http/pagination.ts";
import { Guid } from "../values.ts";
import type { InternalRoutes } from "./route.ts";

const NewPassword = z.object({ password: UserPassword.optional() });

/**
 * Records as the operator's command line shows them. A console service of a later release may send
 * more fields: these are kept, and the command line prints them with `--json`.
 */
const OperatorUser = z.looseObject({
  userId: z.guid(),
  email: z.string(),
  name: z.string(),
  role: z.string(),
  twoFactor: z.boolean(),
  lastSignInAt: z.string().nullable(),
  createdAt: z.string(),
  disabledAt: z.string().nullable(),
});
const OperatorAuditEntry = z.looseObject({
  id: z.string(),
  at: z.string(),
  organizationId: z.string().nullable(),
  action: z.string(),
  actor: z.looseObject({ type: z.string(), id: z.string().nullable(), name: z.string().nullable() }).nullable(),
  address: z.string().nullable(),
  subject: z.looseObject({ type: z.string(), id: z.string() }).nullable(),
  details: z.record(z.string(), z.unknown()),
});
export type OperatorAuditEntry = z.infer<typeof OperatorAuditEntry>;

const OPERATOR = { callers: ["operator"] } as const;
const USERS = "/internal/organizations/:organizationId/users";

export const CONSOLE_ROUTES = {
  /** Entries of one organization, or of all. */
  listAuditLog: {
    ...OPERATOR,
    method: "GET",
    path: "/internal/audit",
    query: ListAuditQuery.extend({ organizationId: Guid.optional() }),
    answer: z.object({ entries: z.array(OperatorAuditEntry), next: z.string().nullable() }),
  },
  listUsers: {
    ...OPERATOR,
    method: "GET",
    path: USERS,
    query: PageQuery,
    answer: z.object({ users: z.array(OperatorUser), pagination: PageNumbers.pick({ totalPages: true }) }),
  },
  createUser: {
    ...OPERATOR,
    method: "POST",
    path: USERS,
    success: 201,
    body: NewPassword.extend({ email: Email, name: GivenName, role: ConsoleRole.default("owner") }),
    /** `password` only when it was generated. */
    answer: z.object({ userId: z.guid(), password: z.string().optional() }),
  },
  resetUserPassword: {
    ...OPERATOR,
    method: "PUT",
    path: "/internal/users/:userId/password",
    body: NewPassword.nullish().transform((given) => given ?? {}),
    answer: z.object({ password: z.string().optional() }),
  },
  /**
   * Applies to the next request of the user. Returns 400 if the last active owner of an
   * organization would get another role.
   */
  setUserRole: {
    ...OPERATOR,
    method: "PUT",
    path: "/internal/users/:userId/role",
    body: ChangeRoleBody,
    answer: z.object({ userId: z.string(), role: ConsoleRole }),
  },
  /** Removes the second factor of a user who lost it. */
  resetUserTwoFactor: {
    ...OPERATOR,
    method: "DELETE",
    path: "/internal/users/:userId/two-factor",
    answer: z.object({ userId: z.string() }),
  },
  disableUser: {
    ...OPERATOR,
    method: "DELETE",
    path: "/internal/users/:userId",
    answer: z.object({ userId: z.string(), disabled: z.boolean() }),
  },
} as const satisfies InternalRoutes;
