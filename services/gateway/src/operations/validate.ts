import {
  AccountNumber,
  cursorScope,
  Guid,
  IdempotencyKey,
  type Issue,
  listScope,
  RiskTemplateName,
} from "@kapi/contracts";
import { ApiError, issuesOf, MAX_ISSUES } from "@kapi/http";
import type { z } from "zod";

import type { Call } from "./call.ts";

/** The parts of a request that a {@link RequestValidator} validates. */
type PartsToValidate = Pick<Call, "body" | "idempotencyKey" | "params" | "query" | "server">;

/**
 * Validates the parts of a request and collects the issues of all of them for one response. An
 * invalid part is returned as an empty text, or as null; so call {@link RequestValidator.error}
 * before any part is used.
 */
export class RequestValidator {
  readonly #issues: Issue[] = [];
  #bodyError: ApiError | null = null;

  /** The server id of the path, in lower case. Only for paths with a server id. */
  serverId(call: PartsToValidate): string {
    return call.server?.serverId ?? this.#parsed(Guid, call.params["serverId"], ["serverId"]) ?? "";
  }

  accountNumber(call: PartsToValidate): string {
    return this.#parsed(AccountNumber, call.params["accountNumber"], ["accountNumber"]) ?? "";
  }

  breachId(call: PartsToValidate): string {
    return this.#parsed(Guid, call.params["breachId"], ["breachId"]) ?? "";
  }

  templateName(call: PartsToValidate): string {
    return this.#parsed(RiskTemplateName, call.params["templateName"], ["templateName"]) ?? "";
  }

  idempotencyKey(call: PartsToValidate): string {
    return this.#parsed(IdempotencyKey, call.idempotencyKey, ["Idempotency-Key"]) ?? "";
  }

  query<S extends z.ZodType>(call: PartsToValidate, schema: S): z.output<S> | null {
    const query = this.#storable(this.#parsed(schema, call.query, []));
    if (query === null || !hasForeignCursor(query, call.params)) return query;
    const message = "must be nextCursor of an earlier page of this list";
    this.#issues.push({ path: ["cursor"], code: "custom", message });
    return null;
  }

  body<S extends z.ZodType>(call: PartsToValidate, schema: S): z.output<S> | null {
    if (call.body instanceof ApiError) {
      this.#bodyError = call.body;
      return null;
    }
    return this.#storable(this.#parsed(schema, call.body, []));
  }

  /**
   * The error of a body that was not accepted as JSON, else the error with all issues; null without
   * issues.
   */
  error(): ApiError | null {
    if (this.#bodyError !== null) return this.#bodyError;
    return this.#issues.length > 0 ? new ApiError("VALIDATION_FAILED", { issues: this.#issues }) : null;
  }

  #parsed<S extends z.ZodType>(schema: S, value: unknown, path: (string | number)[]): z.output<S> | null {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.#issues.push(...issuesOf(parsed.error, path));
    return null;
  }

  /**
   * JSON allows U+0000 and unpaired surrogates in text, but PostgreSQL does not.
   */
  #storable<T>(value: T | null): T | null {
    const bad = unstorableTextIn(value, []);
    for (const path of bad.slice(0, MAX_ISSUES)) {
      this.#issues.push({ path, code: "invalid_format", message: "must be well-formed text without U+0000" });
    }
    return bad.length === 0 ? value : null;
  }
}

/**
 * Whether a parsed query has a cursor that was made for the same kind of list at another path
 * (decisions, 14).
 */
function hasForeignCursor(query: unknown, params: Call["params"]): boolean {
  if (query === null || typeof query !== "object" || !("cursor" in query)) return false;
  return typeof query.cursor === "string" && cursorScope(query.cursor) !== listScope(params);
}

/**
 * The paths of text that cannot be stored, in a parsed value. Recursion is safe: no schema allows
 * deep nesting.
 */
function unstorableTextIn(value: unknown, path: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000") ? [] : [path];
  if (value === null || typeof value !== "object") return [];
  if (Array.isArray(value)) return value.flatMap((member, index) => unstorableTextIn(member, [...path, index]));
  return Object.entries(value).flatMap(([name, member]) => unstorableTextIn(member, [...path, name]));
}

/**
 * The 404 if the server of the path is removed, else null. Only for operations whose contract lists
 * 404: before any other operation runs, a removed server is rejected with 403 (decisions, 1.1).
 */
export function removedServer(call: Pick<Call, "server">): ApiError | null {
  return call.server?.status === "removed" ? new ApiError("SERVER_NOT_FOUND") : null;
}
