import { ORGANIZATION_ROUTES } from "@kapi/contracts";
import { type FastifyInstance, serve } from "@kapi/http";

import type { PeopleContext } from "../../operations/console-context.ts";
import { createUser, disableUser, resetUserPassword } from "../../operations/manage-users.ts";
import { operatorOf } from "./routes.ts";

/** The operator's routes for the people of organizations. */
export function installPeopleRoutes(app: FastifyInstance, context: PeopleContext): void {
  serve(app, ORGANIZATION_ROUTES.createUser, ({ params: { organizationId }, body }, request) =>
    createUser(context, { organizationId, ...body }, operatorOf(request)),
  );
  serve(app, ORGANIZATION_ROUTES.resetUserPassword, ({ params: { userId }, body: { password } }, request) =>
    resetUserPassword(context, userId, password, operatorOf(request)),
  );
  serve(app, ORGANIZATION_ROUTES.disableUser, async ({ params: { userId } }, request) => {
    await disableUser(context, userId, operatorOf(request));
    return { userId, disabled: true };
  });
}
