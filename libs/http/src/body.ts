import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

import type { FastifyInstance, FastifyRequest } from "fastify";

import { ApiError } from "./api-error.ts";

/** Largest body that is read, in bytes (decisions, 1.4). */
export const MAX_BODY_BYTES = 1_048_576;
/**
 * How much of a body that is too large is read and thrown away, in bytes, so that its sender gets
 * to read the answer; of a larger one the connection is closed after the answer.
 */
const MAX_DRAINED_BYTES = 16 * MAX_BODY_BYTES;

const JSON_TYPE = "application/json";
const OTHER_TYPE = "application/octet-stream";

type Payload = Pick<IncomingMessage, "on" | "off" | "resume" | "pause" | "headers">;
type Done = (error: Error | null, body?: unknown) => void;

/**
 * When a malformed body is rejected: `at-once`, before the handler; or `when-parsed`, by the
 * `parse` of the handler, because 401, 403, 429 and 402 come first (decisions, 1.1) and the answer
 * costs credits (decisions, 7.1).
 */
export type BodyErrors = "at-once" | "when-parsed";

/**
 * Takes the reading of bodies over from Fastify. `request.body` becomes undefined for an empty
 * body, the parsed JSON, or the ApiError that it deserves: a wrong content type, text that is no
 * JSON, more than {@link MAX_BODY_BYTES}.
 */
export function installBodyParser(app: FastifyInstance, bodyErrors: BodyErrors): void {
  const parseJson = app.getDefaultJsonParser("remove", "remove");
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(JSON_TYPE, (request: FastifyRequest, payload: Payload, done: Done) => {
    readBody(payload, (body) => {
      if (!(body instanceof Buffer)) return done(null, body ?? undefined);
      if (!isUtf8(body)) return done(null, new ApiError("INVALID_JSON"));
      void parseJson(request, body.toString("utf8"), (error, value) => {
        done(null, error ? new ApiError("INVALID_JSON", { cause: error }) : value);
      });
    });
  });
  app.addContentTypeParser("*", (_request: FastifyRequest, payload: Payload, done: Done) => {
    readBody(payload, (body) => {
      done(null, body instanceof Buffer ? new ApiError("UNSUPPORTED_CONTENT_TYPE") : (body ?? undefined));
    });
  });
  if (bodyErrors === "at-once") {
    app.addHook("preValidation", (request, _reply, done) => {
      if (request.body instanceof ApiError && !request.is404) done(request.body);
      else done();
    });
  }
}

/**
 * Leaves one of two content types in the request's headers, so that Fastify never refuses one
 * itself, in its own form and before the caller is known.
 */
export function normalizeContentType(headers: IncomingMessage["headers"]): void {
  const given = headers["content-type"];
  if (given === undefined || given === JSON_TYPE) return;
  const [mediaType = ""] = given.split(";", 1);
  headers["content-type"] = mediaType.trim().toLowerCase() === JSON_TYPE ? JSON_TYPE : OTHER_TYPE;
}

/**
 * Reads a body whole: null when it is empty, an ApiError when it is too large or broke off. Calls
 * `done` once.
 */
function readBody(payload: Payload, done: (body: Buffer | ApiError | null) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const finish = (body: Buffer | ApiError | null): void => {
    payload.off("data", take).off("end", end).off("error", breakOff).off("close", breakOff);
    done(body);
  };
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    if (length <= MAX_BODY_BYTES) {
      chunks.push(chunk);
      return;
    }
    chunks.length = 0;
    if (length > MAX_DRAINED_BYTES) {
      payload.pause();
      finish(new ApiError("BODY_TOO_LARGE", { headers: { connection: "close" } }));
    }
  };
  const end = (): void => {
    if (length > MAX_BODY_BYTES) finish(new ApiError("BODY_TOO_LARGE"));
    else if (length === 0) finish(null);
    else finish(chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks, length));
  };
  const breakOff = (): void => finish(new ApiError("INVALID_JSON", { cause: new Error("the body broke off") }));
  if (Number(payload.headers["content-length"]) > MAX_DRAINED_BYTES) {
    finish(new ApiError("BODY_TOO_LARGE", { headers: { connection: "close" } }));
    return;
  }
  payload.on("data", take).on("end", end).on("error", breakOff).on("close", breakOff);
  payload.resume();
}
