import { TRACEPARENT_HEADER } from "@kapi/runtime";

import type { OutgoingMessage } from "./producer-options.ts";

/** The most bytes that a record needs besides its key, value and headers. */
const RECORD_OVERHEAD_BYTES = 40;
/** Size of the trace header: its name, the 55 characters of its value, and two lengths. */
const TRACEPARENT_BYTES = TRACEPARENT_HEADER.length + 57;

/** The most bytes that a message needs in a request. */
export function bytesOf({ key, value, headers, traceparent }: OutgoingMessage): number {
  let bytes = RECORD_OVERHEAD_BYTES + Buffer.byteLength(key) + Buffer.byteLength(value ?? "");
  for (const name in headers) bytes += name.length + Buffer.byteLength(headers[name] ?? "") + 2;
  return traceparent === undefined ? bytes : bytes + TRACEPARENT_BYTES;
}
