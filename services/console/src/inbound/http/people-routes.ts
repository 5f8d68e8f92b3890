import {
  AcceptInvitationBody,
  ChangeRoleBody,
  CONSOLE_API,
  Guid,
  InvitePersonBody,
  LinkBody,
  PageQuery,
  RequireTwoFactorBody,
} from "@kapi/contracts";
import { addressOf, type FastifyInstance, type FastifyRequest, parse } from "@kapi/http";
import { z } from "zod";

import {
  acceptInvitation,
  cancelInvitation,
  type InviteDependencies,
  invitePerson,
  openInvitation,
} from "../../operations/invite-people.ts";
import {
  changeRole,
  disablePerson,
  endSessionsOf,
  listPeople,
  type PeopleDependencies,
  type PersonChange,
  requireTwoFactor,
  resetTwoFactor,
} from "../../operations/manage-people.ts";
import { callerOf, type SignedIn } from "../../operations/use-session.ts";
import { requireOwnOrigin } from "./own-page.ts";
import { originOf } from "./session-cookie.ts";
import { sendOpened, type SessionRouteDependencies } from "./session-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const PERSON = "/people/:userId";
const PersonPath = z.object({ userId: Guid });
const InvitationPath = z.object({ invitationId: Guid });

export type PeopleRouteDependencies = PeopleDependencies & InviteDependencies & SessionRouteDependencies;

/** The people of the organization, and the acceptance of an invitation. */
export function registerPeopleRoutes(
  app: FastifyInstance,
  routes: SignedInRoutes,
  dependencies: PeopleRouteDependencies,
): void {
  routes.get("/people", "people:manage", ({ user }, request) =>
    listPeople(dependencies, user.organizationId, parse(PageQuery, request.query)),
  );
  routes.put("/people/two-factor-requirement", "people:manage", async (signedIn, request, reply) => {
    const { required } = parse(RequireTwoFactorBody, request.body);
    await requireTwoFactor(dependencies, signedIn.user, required, callerOf(signedIn, addressOf(request)));
    return reply.code(204).send();
  });
  routes.post("/people/invitations", "people:manage", async (signedIn, request, reply) => {
    const wanted = parse(InvitePersonBody, request.body);
    const by = callerOf(signedIn, addressOf(request));
    return reply.code(201).send(await invitePerson(dependencies, signedIn.user, wanted, by));
  });
  routes.delete("/people/invitations/:invitationId", "people:manage", async (signedIn, request, reply) => {
    const { invitationId } = parse(InvitationPath, request.params);
    await cancelInvitation(dependencies, signedIn.user, invitationId, callerOf(signedIn, addressOf(request)));
    return reply.code(204).send();
  });
  routes.put(`${PERSON}/role`, "people:manage", async (signedIn, request, reply) => {
    const change = changeOf(signedIn, request);
    await changeRole(dependencies, change, parse(ChangeRoleBody, request.body).role);
    return reply.code(204).send();
  });
  const changes = { disable: disablePerson, "end-sessions": endSessionsOf, "reset-two-factor": resetTwoFactor };
  for (const [name, work] of Object.entries(changes)) {
    routes.post(`${PERSON}/${name}`, "people:manage", async (signedIn, request, reply) => {
      await work(dependencies, changeOf(signedIn, request));
      return reply.code(204).send();
    });
  }

  app.post(`${CONSOLE_API}/invitations/open`, (request) => {
    requireOwnOrigin(request);
    return openInvitation(dependencies, parse(LinkBody, request.body).token);
  });
  app.post(`${CONSOLE_API}/invitations/accept`, async (request, reply) => {
    requireOwnOrigin(request);
    const body = parse(AcceptInvitationBody, request.body);
    const origin = originOf(request, dependencies.secureCookies);
    return sendOpened(reply, await acceptInvitation(dependencies, body, origin), dependencies);
  });
}

function changeOf(signedIn: SignedIn, request: FastifyRequest): PersonChange {
  const { userId } = parse(PersonPath, request.params);
  return { owner: signedIn.user, userId, by: callerOf(signedIn, addressOf(request)) };
}
