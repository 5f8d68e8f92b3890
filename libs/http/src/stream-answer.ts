import type { Readable } from "node:stream";

import type { FastifyReply } from "fastify";

/**
 * Maximum pause of the reader of a streamed response, in milliseconds. Longer than the 120 s after
 * which the gateway closes the response to a slow caller. If the service closed its response first,
 * the gateway would treat this as a failure of the service, and refund the request.
 */
export const STREAM_IDLE_TIMEOUT_MS = 150_000;

/** Streams `body` as the response, to a reader that may pause {@link STREAM_IDLE_TIMEOUT_MS}. */
export function sendStream(reply: FastifyReply, body: Readable): FastifyReply {
  // For this response only: after it, the server's timeouts apply again.
  reply.raw.setTimeout(STREAM_IDLE_TIMEOUT_MS);
  return reply.send(body);
}
