import { type ErrorCode, ERRORS, HEADERS, type Issue } from "@kapi/contracts";
import { ApiError, type InternalClient } from "@kapi/http";
import { z } from "zod";

import type { Webhooks } from "../../domain/console-ports.ts";
import { unexpected, withQuery } from "./internal-path.ts";

const CLIENT_ERRORS_FROM = 400;
/** Saving an endpoint looks its name up first. */
const TIMEOUT_MS = 10_000;

const Refusal = z.object({
  error: z.string(),
  issues: z
    .array(z.object({ path: z.array(z.union([z.string(), z.number()])), code: z.string(), message: z.string() }))
    .optional() satisfies z.ZodType<Issue[] | undefined>,
});

/** The webhooks service over internal HTTP. What it refuses, the person is told as it says it. */
export function webhooksOver(client: InternalClient): Webhooks {
  return async (organizationId, { method, path, query, body: asked }) => {
    const base = `/internal/organizations/${organizationId}${path}`;
    const url = query === undefined ? base : withQuery(base, query);
    const { status, headers, body } = await client.request(method, url, asked, { timeoutMs: TIMEOUT_MS });
    if (status < CLIENT_ERRORS_FROM) return { status, body };
    const code = headers[HEADERS.errorCode];
    const refusal = Refusal.safeParse(jsonOf(body));
    if (typeof code !== "string" || !isErrorCode(code) || !refusal.success) throw unexpected(url, status);
    const { error: text, issues } = refusal.data;
    return { refusal: new ApiError(code, { status, text, ...(issues === undefined ? {} : { issues }) }) };
  };
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}
