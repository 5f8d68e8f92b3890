import { ACCOUNT_ACTIONS, AccountActionBody } from "@kapi/contracts";
import { addressOf, parse } from "@kapi/http";

import type { AccountOperations, Directory } from "../../domain/ports.ts";
import { callerOf } from "../../operations/use-session.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** Maximum length of the request id in a body. */
const MAX_REQUEST_ID_CHARACTERS = 100;
const ACTIONS = "/servers/:serverId/accounts/:accountNumber/actions";

/**
 * Actions of people on accounts. Each is one operation of the gateway, under the key that the page
 * keeps until it knows the outcome. Answers, also errors, are the gateway's. The console stores
 * nothing of them: an answer may have a password.
 */
export function registerActionRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly directory: Directory; readonly accountOperations: AccountOperations },
): void {
  for (const [name, { operation, permission }] of Object.entries(ACCOUNT_ACTIONS)) {
    routes.post(`${ACTIONS}/${name}`, permission, async (signedIn, request, reply) => {
      const { organizationId } = signedIn.user;
      const { serverId, accountNumber } = parse(AccountPath, request.params);
      const { idempotencyKey, ...body } = parse(AccountActionBody, request.body);
      await dependencies.directory.server(organizationId, serverId);
      const answer = await dependencies.accountOperations(
        { organizationId, serverId, accountNumber },
        {
          operation,
          idempotencyKey,
          body: { ...body, requestId: request.id.slice(0, MAX_REQUEST_ID_CHARACTERS) },
          caller: callerOf(signedIn, addressOf(request)),
          requestId: request.id,
        },
      );
      if ("rejection" in answer) throw answer.rejection;
      return reply.code(answer.status).type(JSON_TYPE).send(answer.body);
    });
  }
}
