import { Readable } from "node:stream";

import { type Admission, ChargeUnknown, type Directory, type RepeatedRefunds } from "@kapi/admission";
import { HEADERS } from "@kapi/contracts";
import { ApiError, type FastifyReply } from "@kapi/http";
import type { Clock } from "@kapi/kernel";
import type { Logger } from "@kapi/runtime";

import type { Wallets } from "../../domain/ports.ts";
import type { Answer, Call, Operation } from "../../operations/call.ts";
import { RequestCharge } from "../../operations/request-charge.ts";
import type { LoggedCommand } from "./logged-requests.ts";

const JSON_CONTENT_TYPE = "application/json; charset=utf-8";
const TOO_MANY_REQUESTS = 429;

/**
 * Dependencies of every answer, to a management key or to a person. `refunds` repeats in the
 * background the refunds that Redis did not confirm.
 */
export interface AnswerDependencies {
  readonly directory: Pick<Directory, "prices">;
  readonly admission: Pick<Admission, "admit" | "refund">;
  readonly refunds: RepeatedRefunds;
  readonly wallets: Wallets;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this process is stopping, and may close streamed responses. */
  readonly isStopping: () => boolean;
  /** Maximum duration of a streamed response, in milliseconds. */
  readonly maxStreamMs: number;
}

/** A call before it has its charge. */
export type UnchargedCall = Omit<Call, "charge">;

/**
 * Carries out an operation for a management key or for a person, and sends its answer. If the
 * operation throws, credits are refunded for a 429 or 5xx, the headers of the charge are set, and
 * the error is rethrown.
 */
export async function answerCall(
  dependencies: AnswerDependencies,
  uncharged: UnchargedCall,
  run: Operation,
  logged: LoggedCommand,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { admission, refunds, directory, clock } = dependencies;
  const charge = new RequestCharge({ admission, refunds, prices: directory.prices, clock }, uncharged);
  const call: Call = { ...uncharged, charge };
  let answer: Answer;
  try {
    answer = await run(call);
  } catch (error) {
    await settleFailure(dependencies, call, error, reply);
    throw error;
  }
  if (answer.body instanceof Readable) watchStream(dependencies, call, answer.body);
  if (answer.commandId !== undefined) logged.commandId = answer.commandId;
  return toReply(call, answer, reply);
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
  dependencies: AnswerDependencies,
  call: Call,
  error: unknown,
  reply: FastifyReply,
): Promise<void> {
  const status = error instanceof ApiError ? error.status : 500;
  const { admitted } = call.charge;
  let charged = admitted?.charged ?? 0;
  let remaining: number | null = admitted?.remaining ?? null;
  if (status >= 500 || status === TOO_MANY_REQUESTS) {
    // Redis did not answer, so the response does not wait for the refund.
    if (error instanceof ChargeUnknown) dependencies.refunds.add(call.charge.refundRequest());
    else if (call.charge.isRefundable) remaining = (await refund(dependencies, call)) ?? remaining;
    charged = 0;
  }
  remaining ??= await dependencies.wallets.available(call.caller.organizationId, error);
  reply.header(HEADERS.creditsCharged, String(charged));
  showRemaining(reply, remaining);
}

/** Sets the header; null: unknown, so the header is left out (decisions, 1.6). */
export function showRemaining(reply: FastifyReply, credits: number | null): void {
  if (credits !== null) reply.header(HEADERS.creditsRemaining, String(credits));
}

/**
 * Refunds the request. Returns the available credits, or null if unknown. A failed refund is
 * repeated in the background.
 */
async function refund({ admission, refunds, logger }: AnswerDependencies, call: Call): Promise<number | null> {
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
 * Ends a streamed response at its deadline. If the owner or the stop of this process interrupts the
 * response, the request is refunded. If the caller disconnects or reads for too long, the request
 * is charged as a read (decisions, 1.7).
 */
function watchStream(dependencies: AnswerDependencies, call: Call, body: Readable): void {
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
