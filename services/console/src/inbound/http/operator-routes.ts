import { CONSOLE_ROUTES } from "@kapi/contracts";
import { addressOf, type FastifyInstance, type FastifyRequest, serve } from "@kapi/http";

import type { AuditCaller, AuditLog } from "../../domain/audit.ts";
import type { Directory, Users } from "../../domain/ports.ts";
import { listAuditLog } from "../../operations/list-audit-log.ts";
import { listUsers } from "../../operations/list-users.ts";
import { changeRoleForOperator, resetTwoFactorForOperator } from "../../operations/manage-people.ts";
import { createUser, disableUser, resetUserPassword, type UserDependencies } from "../../operations/manage-users.ts";

interface OperatorRouteDependencies extends UserDependencies {
  readonly users: Users;
  readonly auditLog: AuditLog;
  readonly directory: Directory;
}

/** The operator's routes: the people of organizations, and the audit log of all organizations. */
export function registerOperatorRoutes(app: FastifyInstance, dependencies: OperatorRouteDependencies): void {
  serve(app, CONSOLE_ROUTES.listUsers, ({ params, query }) => listUsers(dependencies, params.organizationId, query));
  serve(app, CONSOLE_ROUTES.createUser, ({ params: { organizationId }, body }, request) =>
    createUser(dependencies, { organizationId, ...body }, operatorOf(request)),
  );
  serve(app, CONSOLE_ROUTES.resetUserPassword, ({ params: { userId }, body: { password } }, request) =>
    resetUserPassword(dependencies, userId, password, operatorOf(request)),
  );
  serve(app, CONSOLE_ROUTES.setUserRole, async ({ params: { userId }, body: { role } }, request) => {
    await changeRoleForOperator(dependencies, userId, role, operatorOf(request));
    return { userId, role };
  });
  serve(app, CONSOLE_ROUTES.resetUserTwoFactor, async ({ params: { userId } }, request) => {
    await resetTwoFactorForOperator(dependencies, userId, operatorOf(request));
    return { userId };
  });
  serve(app, CONSOLE_ROUTES.disableUser, async ({ params: { userId } }, request) => {
    await disableUser(dependencies, userId, operatorOf(request));
    return { userId, disabled: true };
  });
  serve(app, CONSOLE_ROUTES.listAuditLog, ({ query: { organizationId = null, ...query } }) =>
    listAuditLog(dependencies, organizationId, query),
  );
}

/** The operator as the author of a change, for the audit log. */
function operatorOf(request: FastifyRequest): AuditCaller {
  return { actor: { type: "operator", id: null }, address: addressOf(request) };
}
