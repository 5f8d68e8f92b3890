import { Readable } from "node:stream";

import {
  type Admission,
  authenticate,
  authorize,
  ChargeUnknown,
  type Directory,
  type RepeatedRefunds,
} from "@kapi/admission";
import {
  HEADERS,
  type KeyEntry,
  type OperationContract,
  type OperationId,
  OPERATIONS,
  type ServerEntry,
} from "@kapi/contracts";
import { addressOf, ApiError, type FastifyInstance, type FastifyReply, type FastifyRequest } from "@kapi/http";
import { type Clock, isUuid } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Wallets } from "../../domain/ports.ts";
import type { Answer, Call, Operation } from "../../operations/call.ts";
import { RequestCharge } from "../../operations/request-charge.ts";

const CALLER = "caller";
const JSON_CONTENT_TYPE = "application/json; charset=utf-8";
const NOTHING = "0";
const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;
/** What a key that is limited to some servers lacks. */
const ALL_SERVERS_TEXT = "Missing server access: all servers of the organization";

/** Who calls, and the server that the path names. */
interface Caller {
  readonly key: KeyEntry;
  readonly server: ServerEntry | undefined;
}

export interface RouteNeeds {
  readonly directory: Pick<Directory, "key" | "server" | "prices">;
  readonly admission: Pick<Admission, "admit" | "refund">;
  readonly refunds: RepeatedRefunds;
  readonly wallets: Wallets;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this process is about to end, and may cut answers that are not over by then. */
  readonly isStopping: () => boolean;
  /** Longest time of a streamed answer, in milliseconds. */
  readonly maxStreamMs: number;
}

/**
 * Serves every operation of the contract. Each route's functions are made once; a request makes
 * none.
 */
export function registerRoutes(
  app: FastifyInstance,
  needs: RouteNeeds,
  operations: Readonly<Record<OperationId, Operation>>,
): void {
  app.decorateRequest(CALLER, null);
  app.addHook("onRequest", (_request, reply, done) => {
    // What is available is shown by those answers alone for which a wallet was looked at.
    reply.header(HEADERS.creditsCharged, NOTHING);
    done();
  });
  for (const [operation, contract] of Object.entries(OPERATIONS) as [OperationId, OperationContract][]) {
    registerRoute(app, needs, operation, contract, operations[operation]);
  }
}

function registerRoute(
  app: FastifyInstance,
  needs: RouteNeeds,
  operation: OperationId,
  contract: OperationContract,
  work: Operation,
): void {
  app.route({
    method: contract.method,
    url: contract.path,
    config: { operation },
    // Before the body is read: a caller who is not known is not listened to.
    onRequest: (request, reply) => admitCaller(needs, contract, request, reply),
    handler: async (request, reply) => {
      const call = fromRequest(needs, operation, contract, request, reply);
      let answer: Answer;
      try {
        answer = await work(call);
      } catch (error) {
        await settleFailure(needs, call, error, reply);
        throw error;
      }
      if (answer.body instanceof Readable) watchStream(needs, call, answer.body);
      return toReply(call, answer, reply);
    },
  });
}

/**
 * 401, then 403 for the scope, then 403 for the server, all from memory. A path that names no UUID
 * leaves the server out here and is 400 later. A refusal shows what the caller's organization has
 * left, where that can be known.
 */
async function admitCaller(
  { directory, clock, wallets }: RouteNeeds,
  contract: OperationContract,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const key = authenticate(directory, clock, request.headers.authorization);
  const serverId = contract.server ? paramsOf(request)["serverId"] : undefined;
  const named = serverId !== undefined && isUuid(serverId) ? serverId.toLowerCase() : undefined;
  try {
    const server = authorize(key, contract.scope, directory, named, { allowRemoved: contract.errors.includes(404) });
    if (contract.allServers === true && key.serverIds !== null) {
      throw new ApiError("MISSING_SERVER_ACCESS", { text: ALL_SERVERS_TEXT });
    }
    request.setDecorator<Caller>(CALLER, { key, server });
  } catch (error) {
    showRemaining(reply, await wallets.available(key.organizationId));
    throw error;
  }
}

function fromRequest(
  { admission, directory, clock }: RouteNeeds,
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
 * Sets the credit headers of an error. 429 and 5xx cost nothing: what was consumed for it is given
 * back, and what was reserved for a command that was not published (decisions, 7.1).
 */
async function settleFailure(needs: RouteNeeds, call: Call, error: unknown, reply: FastifyReply): Promise<void> {
  const status = error instanceof ApiError ? error.status : 500;
  const { admitted } = call.charge;
  let charged = admitted?.charged ?? 0;
  let remaining: number | null = admitted?.remaining ?? null;
  if (status >= 500 || status === TOO_MANY_REQUESTS) {
    // Redis did not answer just now: nobody waits for it a second time.
    if (error instanceof ChargeUnknown) needs.refunds.add(call.charge.refundRequest());
    else if (call.charge.isRefundable) remaining = (await refund(needs, call)) ?? remaining;
    charged = 0;
  }
  // A key that was revoked just now is answered as an unknown one (decisions, 12).
  if (status !== UNAUTHORIZED) remaining ??= await needs.wallets.available(call.key.organizationId);
  reply.header(HEADERS.creditsCharged, String(charged));
  showRemaining(reply, remaining);
}

/** Null: not known, and not shown (decisions, 1.6). */
function showRemaining(reply: FastifyReply, credits: number | null): void {
  if (credits !== null) reply.header(HEADERS.creditsRemaining, String(credits));
}

/**
 * What is available after it; null where that is not known. A refund that fails is made again in
 * the background.
 */
async function refund({ admission, refunds, logger }: RouteNeeds, call: Call): Promise<number | null> {
  const wanted = call.charge.refundRequest();
  try {
    return (await admission.refund(wanted)).remaining;
  } catch (error) {
    const { requestId, chargeId, operation } = wanted;
    logger.warn({ err: error, requestId, chargeId, operation }, "the refund of a failed request is tried again");
    refunds.add(wanted);
    return null;
  }
}

/**
 * Ends a streamed answer at its deadline. An answer that its owner, or the stop of this process,
 * breaks off was no answer: it is given back. One that its caller leaves, or reads for too long, is
 * charged as a read (decisions, 1.7).
 */
function watchStream(needs: RouteNeeds, call: Call, body: Readable): void {
  const { logger, isStopping, maxStreamMs } = needs;
  const { requestId } = call;
  let isLate = false;
  const deadline = setTimeout(() => {
    isLate = true;
    body.destroy();
  }, maxStreamMs);
  body.once("close", () => clearTimeout(deadline));
  body.once("error", (error) => {
    if (isLate) {
      logger.warn({ requestId }, `an answer was cut: its caller was still reading after ${maxStreamMs} ms`);
      return;
    }
    if (call.connection.destroyed && !isStopping()) return;
    logger.warn({ err: error, requestId }, "an answer broke off");
    void refund(needs, call);
  });
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return request.params as Readonly<Record<string, string>>;
}
