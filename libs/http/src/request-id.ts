import { HEADERS } from "@kapi/contracts";
import { type Clock, randomBase32 } from "@kapi/kernel";
import type { RawRequestDefaultExpression } from "fastify";

/** 1 to 200 visible ASCII characters, so that the id is safe in logs and headers. */
const ACCEPTED_REQUEST_ID = /^[\x21-\x7e]{1,200}$/;
/** Random characters that distinguish the ids of processes: 80 bits. */
const PROCESS_CHARACTERS = 16;

/**
 * Returns a function that gives each request its id: the caller's X-Request-Id if it is acceptable,
 * else a new id of time, process and count. Such an id is unique without random bytes per request.
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
