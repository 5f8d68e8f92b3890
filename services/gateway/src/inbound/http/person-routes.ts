import { authorize, type Directory, type RequestLog } from "@kapi/admission";
import {
  GATEWAY_ROUTES,
  type OperationContract,
  type OperationId,
  OPERATIONS,
  PERSON_OPERATIONS,
  PERSON_TEMPLATE_OPERATIONS,
  personIdempotencyKey,
  type PersonOperation,
  type PersonTemplateOperation,
} from "@kapi/contracts";
import { ApiError, callerOf, type FastifyInstance, type FastifyReply, type FastifyRequest, serveRaw } from "@kapi/http";

import type { Operation, OperationCaller } from "../../operations/call.ts";
import { answerCall, type AnswerDependencies } from "./answer-call.ts";
import { logWhenAnswered } from "./logged-requests.ts";

/** Rate limit of each person: far above what a person does, and below what hurts other callers. */
const PERSON_RATE_LIMIT = { perSecond: 5, burst: 20 };
/** The scopes of the operations; the console checks the person's role. */
const PERSON_SCOPES: OperationCaller["scopes"] = [
  ...new Set([...PERSON_OPERATIONS, ...PERSON_TEMPLATE_OPERATIONS].map((operation) => OPERATIONS[operation].scope)),
  // Disabling an account with `flatten` needs this scope as well.
  "risk:manage",
];

interface PersonRouteDependencies extends AnswerDependencies {
  readonly directory: Pick<Directory, "server" | "prices">;
  readonly requestLog: RequestLog;
}

/**
 * Serves operations for people of the console, on the internal port only: the console has signed
 * the person in, and names organization and person. Everything else is as for a management key
 * (decisions, 26).
 */
export function registerPersonRoutes(
  app: FastifyInstance,
  dependencies: PersonRouteDependencies,
  operations: Readonly<Record<OperationId, Operation>>,
): void {
  serveRaw(app, GATEWAY_ROUTES.callAccountOperation, ({ params, body }, request, reply) =>
    callFor(dependencies, operations, { ...body, params }, request, reply),
  );
  serveRaw(app, GATEWAY_ROUTES.callTemplateOperation, ({ params, body }, request, reply) =>
    callFor(dependencies, operations, { ...body, params }, request, reply),
  );
}

interface AskedOperation {
  readonly operation: PersonOperation | PersonTemplateOperation;
  readonly idempotencyKey: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<"organizationId" | "serverId", string>>;
}

/** Calls an operation for the person that the headers name. */
function callFor(
  dependencies: PersonRouteDependencies,
  operations: Readonly<Record<OperationId, Operation>>,
  { operation, idempotencyKey, body, params }: AskedOperation,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { organizationId, serverId } = params;
  const named = callerOf(request.headers);
  if (named?.actor.type !== "user") throw new ApiError("AUTHENTICATION_REQUIRED", { text: "A person must be named" });
  const { address } = named;
  const actor = { type: "user", id: named.actor.id } as const;
  const contract: OperationContract = OPERATIONS[operation];
  const caller: OperationCaller = {
    actor,
    organizationId,
    rateLimit: PERSON_RATE_LIMIT,
    scopes: PERSON_SCOPES,
    serverIds: null,
  };
  const logged = logWhenAnswered(dependencies, operation, caller, request, reply, address);
  const server = authorize(caller, contract.scope, dependencies.directory, serverId, { allowRemoved: true });
  // The console sends the query of a DELETE as `body`.
  const isInQuery = contract.body === undefined;
  const call = {
    operation,
    contract,
    caller,
    requestId: request.id,
    address,
    server,
    params,
    query: isInQuery ? body : {},
    idempotencyKey: personIdempotencyKey(actor.id, idempotencyKey),
    connection: reply.raw,
    body: isInQuery ? undefined : body,
  };
  return answerCall(dependencies, call, operations[operation], logged, reply);
}
