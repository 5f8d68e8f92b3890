import type { BilledCaller, RequestLog } from "@kapi/admission";
import { AccountNumber, HEADERS, type OperationId } from "@kapi/contracts";
import { addressOf, type FastifyReply, type FastifyRequest } from "@kapi/http";
import { type Clock, isUuid } from "@kapi/kernel";

/** What the handler of a request adds to its log entry. */
export interface LoggedCommand {
  /** The command that the request queued or read. */
  commandId: string | null;
}

interface RequestLogging {
  readonly requestLog: RequestLog;
  readonly clock: Clock;
}

/**
 * Logs the request of an authenticated caller when its response ends, or when its connection closes
 * before. Returns the part of the log entry that the handler fills in. Call this function before
 * the request is handled: the address is unknown after the caller has disconnected.
 */
export function logWhenAnswered(
  { requestLog, clock }: RequestLogging,
  operation: OperationId,
  { organizationId, actor }: Pick<BilledCaller, "organizationId" | "actor">,
  request: FastifyRequest,
  reply: FastifyReply,
  address: string | null = addressOf(request),
): LoggedCommand {
  const atMs = clock.nowMs();
  const startedMs = performance.now();
  const { serverId, accountNumber, commandId } = request.params as Readonly<Record<string, string | undefined>>;
  const logged: LoggedCommand = { commandId: uuidOrNull(commandId) };
  // `close` is emitted after every response, and also if the connection breaks. Fastify's hook
  // costs more.
  reply.raw.once("close", () => {
    requestLog.add({
      organizationId,
      atMs,
      requestId: request.id,
      operation,
      method: request.method,
      serverId: uuidOrNull(serverId),
      accountNumber: accountNumber !== undefined && isAccountNumber(accountNumber) ? accountNumber : null,
      status: reply.raw.headersSent ? reply.statusCode : null,
      errorCode: textOf(reply.getHeader(HEADERS.errorCode)),
      durationMs: Math.round(performance.now() - startedMs),
      actor,
      address,
      creditsCharged: Number(reply.getHeader(HEADERS.creditsCharged) ?? 0),
      commandId: logged.commandId,
    });
  });
  return logged;
}

function uuidOrNull(text: string | undefined): string | null {
  return text !== undefined && isUuid(text) ? text.toLowerCase() : null;
}

function isAccountNumber(text: string): boolean {
  return AccountNumber.safeParse(text).success;
}

function textOf(header: unknown): string | null {
  return typeof header === "string" ? header : null;
}
