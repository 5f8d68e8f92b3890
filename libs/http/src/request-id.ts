import { HEADERS } from "@kapi/contracts";
import { type Clock, randomBase32 } from "@kapi/kernel";
import type { RawRequestDefaultExpression } from "fastify";

/** 1 to 200 visible ASCII characters; anything else would be a hole in logs or headers. */
const ACCEPTED_REQUEST_ID = /^[\x21-\x7e]{1,200}$/;
/** Random characters that tell one process's ids from another's: 80 bits. */
const PROCESS_CHARACTERS = 16;

/**
 * Makes the function that names each request: the caller's X-Request-Id where it is acceptable,
 * else a new one of time, process and count, which is unique without asking the system for
 * randomness per request.
 */
export function createRequestIds(clock: Clock): (request: Pick<RawRequestDefaultExpression, "headers">) => string {
  const processPart = randomBase32(PROCESS_CHARACTERS);
  let count = 0;
  return (request) => {
    const given = request.headers[HEADERS.requestId];
    if (typeof given === "string" && ACCEPTED_REQUEST_ID.test(given)) return given;
    count += 1;
    return `${clock.nowMs().toString(36)}-${processPart}-${count.toString(36)}`;
  };
}
