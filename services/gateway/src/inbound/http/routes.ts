import { Readable } from "node:stream";

import {
  type Admission,
  authenticate,
  authorize,
  ChargeUnknown,
  type Directory,
  type RepeatedRefunds,
  requireAllowedNetwork,
  type RequestLog,
} from "@kapi/admission";
import {
  HEADERS,
  type KeyEntry,
  type OperationContract,
  type OperationId,
  OPERATIONS,
  type ServerEntry,
} from "@kapi/contracts";
import { addressOf, ApiError, type FastifyInstance, type FastifyReply, type FastifyRequest, GZIP } from "@kapi/http";
import { type Clock, isUuid } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Wallets } from "../../domain/ports.ts";
import type { Answer, Call, Operation } from "../../operations/call.ts";
import { RequestCharge } from "../../operations/request-charge.ts";
import { keyCaller, type LoggedCommand, logWhenAnswered } from "./logged-requests.ts";

const CALLER = "caller";
const JSON_CONTENT_TYPE = "application/json; charset=utf-8";
const NO_CREDITS = "0";
const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;
/** Error text for a key that is limited to servers. */
const ALL_SERVERS_TEXT = "Missing server access: all servers of the organization";

/** The key of the caller, and the server of the path. */
interface Caller {
  readonly key: KeyEntry;
  readonly server: ServerEntry | undefined;
  readonly logged: LoggedCommand;
}

export interface RouteDependencies {
  readonly directory: Pick<Directory, "key" | "server" | "prices">;
  readonly admission: Pick<Admission, "admit" | "refund">;
  readonly refunds: RepeatedRefunds;
  readonly requestLog: RequestLog;
  readonly wallets: Wallets;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this process is stopping, and may close streamed responses. */
  readonly isStopping: () => boolean;
  /** Maximum duration of a streamed response, in milliseconds. */
  readonly maxStreamMs: number;
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
    // `X-Credits-Remaining` is set only by responses whose wallet was read.
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
    // Only reads: responses of changes are small, and those with passwords are never compressed.
    compress: contract.method === "GET" ? GZIP : false,
    // Runs before the body is read, so that the body of an unknown caller is never read.
    onRequest: (request, reply) => admitCaller(dependencies, operation, contract, request, reply),
    handler: async (request, reply) => {
      const call = fromRequest(dependencies, operation, contract, request, reply);
      let answer: Answer;
      try {
        answer = await run(call);
      } catch (error) {
        await settleFailure(dependencies, call, error, reply);
        throw error;
      }
      if (answer.body instanceof Readable) watchStream(dependencies, call, answer.body);
      if (answer.commandId !== undefined) request.getDecorator<Caller>(CALLER).logged.commandId = answer.commandId;
      return toReply(call, answer, reply);
    },
  });
}

/**
 * Checks in memory: 401 for the key and its network, then 403 for the scope, then 403 for the
 * server. A malformed server id is 400 later. A 403 has the organization's remaining credits, if
 * Redis is available.
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
  const logged = logWhenAnswered(dependencies, operation, keyCaller(key), request, reply);
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
    showRemaining(reply, await wallets.available(key.organizationId));
    throw error;
  }
}

function fromRequest(
  { admission, directory, clock }: RouteDependencies,
  operation: OperationId,
  contract: OperationContract,
  request: FastifyRequest,
  reply: FastifyReply,
): Call {
  const { key, server } = request.getDecorator<Caller>(CALLER);
  const charged = { operation, contract, key, requestId: request.id, address: addressOf(request) };
  const idempotencyKey = request.headers[HEADERS.idempotencyKey];
  return {
    ...charged,
    server,
    charge: new RequestCharge({ admission, prices: directory.prices, clock }, charged),
    params: paramsOf(request),
    query: request.query,
    idempotencyKey: typeof idempotencyKey === "string" ? idempotencyKey : undefined,
    connection: reply.raw,
    body: request.body,
  };
}

function toReply(call: Call, { status, body, replayed }: Answer, reply: FastifyReply): FastifyReply {
  const { admitted } = call.charge;
  if (admitted !== null) {
    reply
      .header(HEADERS.creditsCharged, String(admitted.charged))
      .header(HEADERS.creditsRemaining, String(admitted.remaining));
  }
  if (replayed === true) reply.header(HEADERS.idempotentReplayed, "true");
  return reply.code(status).header("content-type", JSON_CONTENT_TYPE).send(body);
}

/**
 * Sets the credit headers of an error. 429 and 5xx cost nothing: consumed credits are refunded, and
 * so are credits reserved for a command that was not published (decisions, 7.1).
 */
async function settleFailure(
  dependencies: RouteDependencies,
  call: Call,
  error: unknown,
  reply: FastifyReply,
): Promise<void> {
  const status = error instanceof ApiError ? error.status : 500;
  const { admitted } = call.charge;
  let charged = admitted?.charged ?? 0;
  let remaining: number | null = admitted?.remaining ?? null;
  if (status >= 500 || status === TOO_MANY_REQUESTS) {
    // Redis did not answer: refund in the background, without waiting for Redis again.
    if (error instanceof ChargeUnknown) dependencies.refunds.add(call.charge.refundRequest());
    else if (call.charge.isRefundable) remaining = (await refund(dependencies, call)) ?? remaining;
    charged = 0;
  }
  // A revoked key gets the response of an unknown key (decisions, 12).
  if (status !== UNAUTHORIZED) remaining ??= await dependencies.wallets.available(call.key.organizationId);
  reply.header(HEADERS.creditsCharged, String(charged));
  showRemaining(reply, remaining);
}

/** Null: unknown, so the header is left out (decisions, 1.6). */
function showRemaining(reply: FastifyReply, credits: number | null): void {
  if (credits !== null) reply.header(HEADERS.creditsRemaining, String(credits));
}

/**
 * Refunds the request. Returns the available credits, or null if unknown. A failed refund is
 * repeated in the background.
 */
async function refund({ admission, refunds, logger }: RouteDependencies, call: Call): Promise<number | null> {
  const wanted = call.charge.refundRequest();
  try {
    return (await admission.refund(wanted)).remaining;
  } catch (error) {
    const { requestId, chargeId, operation } = wanted;
    logger.warn({ err: error, requestId, chargeId, operation }, "a refund failed and is repeated in the background");
    refunds.add(wanted);
    return null;
  }
}

/**
 * Ends a streamed response at its deadline. A response that its owner, or the stop of this process,
 * interrupts is refunded. A response whose caller disconnects, or reads for too long, is charged as
 * a read (decisions, 1.7).
 */
function watchStream(dependencies: RouteDependencies, call: Call, body: Readable): void {
  const { logger, isStopping, maxStreamMs } = dependencies;
  const { requestId } = call;
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    body.destroy();
  }, maxStreamMs);
  body.once("close", () => clearTimeout(deadline));
  body.once("error", (error) => {
    if (isLate) {
      logger.warn(
        { requestId },
        `a streamed response was closed: its caller was still reading after ${maxStreamMs} ms`,
      );
      return;
    }
    if (call.connection.destroyed && !isStopping()) return;
    logger.warn({ err: error, requestId }, "a streamed response was interrupted");
    void refund(dependencies, call);
  });
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return request.params as Readonly<Record<string, string>>;
}
