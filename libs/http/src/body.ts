import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";

import type { FastifyInstance, FastifyRequest } from "fastify";

import { ApiError } from "./api-error.ts";

/** Maximum size of a request body, in bytes (decisions, 1.4). */
export const MAX_BODY_BYTES = 1_048_576;
/**
 * Maximum size of a too large body that is read and discarded, in bytes, so that its sender can
 * read the response. After the response to a larger body the connection is closed.
 */
const MAX_DRAINED_BYTES = 16 * MAX_BODY_BYTES;

const JSON_TYPE = "application/json";
const OTHER_TYPE = "application/octet-stream";

type Payload = Pick<IncomingMessage, "on" | "off" | "resume" | "pause" | "headers">;
type Done = (error: Error | null, body?: unknown) => void;

/**
 * When a malformed body is rejected. `at-once`: before the handler. `when-parsed`: by the `parse`
 * of the handler, because 401, 403, 429 and 402 come first (decisions, 1.1) and the 400 costs
 * credits (decisions, 7.1).
 */
export type BodyErrors = "at-once" | "when-parsed";

/**
 * Replaces Fastify's body parsers. `request.body` is undefined for an empty body, else the parsed
 * JSON. It is an ApiError if the body is malformed, incomplete, of another content type, or larger
 * than {@link MAX_BODY_BYTES}.
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
 * Replaces a content type by {@link JSON_TYPE} or {@link OTHER_TYPE}. Fastify would reject a
 * malformed content type in a form of its own, before the caller is known.
 */
export function normalizeContentType(headers: IncomingMessage["headers"]): void {
  const given = headers["content-type"];
  if (given === undefined || given === JSON_TYPE) return;
  const [mediaType = ""] = given.split(";", 1);
  headers["content-type"] = mediaType.trim().toLowerCase() === JSON_TYPE ? JSON_TYPE : OTHER_TYPE;
}

/**
 * Reads a whole body and calls `done` once: with null if it is empty, with an ApiError if it is too
 * large or incomplete.
 */
function readBody(payload: Payload, done: (body: Buffer | ApiError | null) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const finish = (body: Buffer | ApiError | null): void => {
    payload.off("data", onData).off("end", onEnd).off("error", onAborted).off("close", onAborted);
    done(body);
  };
  const onData = (chunk: Buffer): void => {
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
  const onEnd = (): void => {
    if (length > MAX_BODY_BYTES) finish(new ApiError("BODY_TOO_LARGE"));
    else if (length === 0) finish(null);
    else finish(chunks.length === 1 ? (chunks[0] ?? null) : Buffer.concat(chunks, length));
  };
  const onAborted = (): void =>
    finish(new ApiError("INVALID_JSON", { cause: new Error("the connection closed before the end of the body") }));
  if (Number(payload.headers["content-length"]) > MAX_DRAINED_BYTES) {
    finish(new ApiError("BODY_TOO_LARGE", { headers: { connection: "close" } }));
    return;
  }
  payload.on("data", onData).on("end", onEnd).on("error", onAborted).on("close", onAborted);
  payload.resume();
}
