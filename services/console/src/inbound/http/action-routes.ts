import { ACCOUNT_ACTIONS, AccountActionBody } from "@kapi/contracts";
import { addressOf, type FastifyReply, type FastifyRequest, parse } from "@kapi/http";

import type { OperationRequest, PersonOperations } from "../../domain/person-operations.ts";
import type { Directory } from "../../domain/ports.ts";
import { callerOf, type SignedIn } from "../../operations/use-session.ts";
import { AccountPath } from "./server-routes.ts";
import type { SignedInRoutes } from "./signed-in-routes.ts";

const JSON_TYPE = "application/json; charset=utf-8";
/** Maximum length of the request id in a body. */
const MAX_REQUEST_ID_CHARACTERS = 100;

/**
 * Actions of people on accounts, except those on risk rules (`risk-action-routes.ts`). Each action
 * is one operation of the gateway, under the idempotency key that the page keeps until it knows the
 * outcome. The gateway's responses, also errors, are passed on. The console stores no part of a
 * response, because a response may have a password.
 */
export function registerActionRoutes(
  routes: SignedInRoutes,
  dependencies: { readonly directory: Directory; readonly personOperations: PersonOperations },
): void {
  const { "set-risk-rules": _set, "delete-risk-rules": _delete, ...actions } = ACCOUNT_ACTIONS;
  for (const [name, { operation, permission }] of Object.entries(actions)) {
    routes.post(accountActionPath(name), permission, async (signedIn, request, reply) => {
      const { organizationId } = signedIn.user;
      const account = parse(AccountPath, request.params);
      const { idempotencyKey, ...fields } = parse(AccountActionBody, request.body);
      await dependencies.directory.server(organizationId, account.serverId);
      const asked = { operation, idempotencyKey, ...operationRequest(signedIn, request, fields) };
      return sendAnswer(reply, await dependencies.personOperations.onAccount({ organizationId, ...account }, asked));
    });
  }
}

/** Path of an action on an account, as a route. */
export function accountActionPath(action: string): string {
  return `/servers/:serverId/accounts/:accountNumber/actions/${action}`;
}

/** The parts of a request for an operation that are made in the same way for all actions. */
export function operationRequest<Fields extends object>(
  signedIn: SignedIn,
  request: FastifyRequest,
  fields: Fields,
): Pick<OperationRequest<unknown>, "caller" | "requestId"> & {
  readonly body: Fields & { readonly requestId: string };
} {
  return {
    body: { ...fields, requestId: request.id.slice(0, MAX_REQUEST_ID_CHARACTERS) },
    caller: callerOf(signedIn, addressOf(request)),
    requestId: request.id,
  };
}

/** Sends the answer of an operation, or throws its rejection. */
export function sendAnswer(
  reply: FastifyReply,
  answer: Awaited<ReturnType<PersonOperations["onAccount"]>>,
): FastifyReply {
  if ("rejection" in answer) throw answer.rejection;
  return reply.code(answer.status).type(JSON_TYPE).send(answer.body);
}
