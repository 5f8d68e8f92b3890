import { authenticate, authorize, type Directory, requireAllowedNetwork, type RequestLog } from "@kapi/admission";
import {
  HEADERS,
  type KeyEntry,
  type OperationContract,
  type OperationId,
  OPERATIONS,
  type ServerEntry,
} from "@kapi/contracts";
import { addressOf, ApiError, type FastifyInstance, type FastifyReply, type FastifyRequest, GZIP } from "@kapi/http";
import { isUuid } from "@kapi/kernel";

import { type Operation, operationCaller } from "../../operations/call.ts";
import { answerCall, type AnswerDependencies, showRemaining, type UnchargedCall } from "./answer-call.ts";
import { type LoggedCommand, logWhenAnswered } from "./logged-requests.ts";

const CALLER = "caller";
const NO_CREDITS = "0";
/** Error text if an operation on all servers is called with a key that is limited to servers. */
const ALL_SERVERS_TEXT = "Missing server access: all servers of the organization";

/** The key of the caller, the server of the path, and what the handler adds to the log entry. */
interface Caller {
  readonly key: KeyEntry;
  readonly server: ServerEntry | undefined;
  readonly logged: LoggedCommand;
}

/**
 * What the routes for management keys need. `directory` is read from memory, so the checks of a
 * caller wait for no other service.
 */
export interface RouteDependencies extends AnswerDependencies {
  readonly directory: Pick<Directory, "key" | "server" | "prices">;
  readonly requestLog: RequestLog;
}

/**
 * Serves every operation of the contract. The functions of a route are created once, not per
 * request.
 */
export function registerOperationRoutes(
  app: FastifyInstance,
  dependencies: RouteDependencies,
  operations: Readonly<Record<OperationId, Operation>>,
): void {
  app.decorateRequest(CALLER, null);
  app.addHook("onRequest", (_request, reply, done) => {
    // Only this header has a default: `X-Credits-Remaining` is absent if the wallet was not read.
    reply.header(HEADERS.creditsCharged, NO_CREDITS);
    done();
  });
  for (const [operation, contract] of Object.entries(OPERATIONS) as [OperationId, OperationContract][]) {
    registerOneOperationRoutes(app, dependencies, operation, contract, operations[operation]);
  }
}

function registerOneOperationRoutes(
  app: FastifyInstance,
  dependencies: RouteDependencies,
  operation: OperationId,
  contract: OperationContract,
  run: Operation,
): void {
  app.route({
    method: contract.method,
    url: contract.path,
    config: { operation },
    // Responses of changes are small, and passwords are never compressed.
    compress: contract.method === "GET" ? GZIP : false,
    // Runs before the body is read, so that the body of an unknown caller is never read.
    onRequest: (request, reply) => admitCaller(dependencies, operation, contract, request, reply),
    handler: (request, reply) => {
      const { logged } = request.getDecorator<Caller>(CALLER);
      return answerCall(dependencies, callOf(operation, contract, request, reply), run, logged, reply);
    },
  });
}

/**
 * Checks in memory: 401 for the key and its network, then 403 for the scope, then 403 for the
 * server. An operation on all servers is 403 for a key that is limited to servers. A malformed
 * server id is 400 later, and a removed server is 404 later if the operation lists 404. A 403 has
 * the organization's remaining credits if they can be read.
 */
async function admitCaller(
  dependencies: RouteDependencies,
  operation: OperationId,
  contract: OperationContract,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { directory, clock, wallets } = dependencies;
  const key = authenticate(directory, clock, request.headers.authorization);
  const logged = logWhenAnswered(dependencies, operation, operationCaller(key), request, reply);
  requireAllowedNetwork(key, addressOf(request));
  const serverId = contract.server ? paramsOf(request)["serverId"] : undefined;
  const named = serverId !== undefined && isUuid(serverId) ? serverId.toLowerCase() : undefined;
  try {
    const server = authorize(key, contract.scope, directory, named, { allowRemoved: contract.errors.includes(404) });
    if (contract.allServers === true && key.serverIds !== null) {
      throw new ApiError("MISSING_SERVER_ACCESS", { text: ALL_SERVERS_TEXT });
    }
    request.setDecorator<Caller>(CALLER, { key, server, logged });
  } catch (error) {
    showRemaining(reply, await wallets.available(key.organizationId, error));
    throw error;
  }
}

function callOf(
  operation: OperationId,
  contract: OperationContract,
  request: FastifyRequest,
  reply: FastifyReply,
): UnchargedCall {
  const { key, server } = request.getDecorator<Caller>(CALLER);
  const idempotencyKey = request.headers[HEADERS.idempotencyKey];
  return {
    operation,
    contract,
    caller: operationCaller(key),
    requestId: request.id,
    address: addressOf(request),
    server,
    params: paramsOf(request),
    query: request.query,
    idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined,
    connection: reply.raw,
    body: request.body,
  };
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return request.params as Readonly<Record<string, string>>;
}
