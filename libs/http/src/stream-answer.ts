import type { Readable } from "node:stream";

import type { FastifyReply } from "fastify";

/**
 * Longest pause of whoever reads a streamed answer of another service, in milliseconds. Above the
 * 120 s after which the gateway ends the answer: a slow caller must not look like a service
 * that breaks its answer off, which costs nothing.
 */
export const STREAM_IDLE_TIMEOUT_MS = 150_000;

/** Answers with `body` as it is read; for routes that other services call. */
export function sendStream(reply: FastifyReply, body: Readable): FastifyReply {
  // Counts for this answer alone: after it the connection has the server's timeouts again.
  reply.raw.setTimeout(STREAM_IDLE_TIMEOUT_MS);
  return reply.send(body);
}
