import { Email, GivenName, Guid, UserPassword } from "@kapi/contracts";
import { type FastifyInstance, parse } from "@kapi/http";
import { z } from "zod";

import type { PeopleContext } from "../../operations/console-context.ts";
import { createUser, disableUser, resetUserPassword } from "../../operations/manage-users.ts";
import { operatorOf } from "./routes.ts";

const NewUser = z.object({ email: Email, name: GivenName, password: UserPassword.optional() });
const NewPassword = z.object({ password: UserPassword.optional() });
const OrganizationPath = z.object({ organizationId: Guid });
const UserPath = z.object({ userId: Guid });

/** The operator's routes for the people of organizations. */
export function installPeopleRoutes(app: FastifyInstance, context: PeopleContext): void {
  app.post("/internal/organizations/:organizationId/users", async (request, reply) => {
    const { organizationId } = parse(OrganizationPath, request.params);
    const wanted = { organizationId, ...parse(NewUser, request.body) };
    const created = await createUser(context, wanted, operatorOf(request));
    return reply.status(201).send(created);
  });
  app.put("/internal/users/:userId/password", (request) => {
    const { userId } = parse(UserPath, request.params);
    const { password } = parse(NewPassword, request.body ?? {});
    return resetUserPassword(context, userId, password, operatorOf(request));
  });
  app.delete("/internal/users/:userId", async (request) => {
    const { userId } = parse(UserPath, request.params);
    await disableUser(context, userId, operatorOf(request));
    return { userId, disabled: true };
  });
}
