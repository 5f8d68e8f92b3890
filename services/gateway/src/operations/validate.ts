import { AccountNumber, Guid, IdempotencyKey, type Issue } from "@kapi/contracts";
import { ApiError, issuesOf, MAX_ISSUES } from "@kapi/http";
import type { z } from "zod";

import type { Call } from "./call.ts";

/** What of a request is checked. */
type Checked = Pick<Call, "body" | "idempotencyKey" | "params" | "query" | "server">;

/** Gathers everything that is wrong with a request, to be answered at once. */
export class Findings {
  readonly #issues: Issue[] = [];
  #unreadable: ApiError | null = null;

  /** The server that the path names, in lower case. Call only where the path names one. */
  serverId(call: Checked): string {
    return call.server?.serverId ?? this.#checked(Guid, call.params["serverId"], ["serverId"]) ?? "";
  }

  accountNumber(call: Checked): string {
    return this.#checked(AccountNumber, call.params["accountNumber"], ["accountNumber"]) ?? "";
  }

  idempotencyKey(call: Checked): string {
    return this.#checked(IdempotencyKey, call.idempotencyKey, ["Idempotency-Key"]) ?? "";
  }

  query<S extends z.ZodType>(call: Checked, schema: S): z.output<S> | null {
    return this.#text(this.#checked(schema, call.query, []));
  }

  body<S extends z.ZodType>(call: Checked, schema: S): z.output<S> | null {
    if (call.body instanceof ApiError) {
      this.#unreadable = call.body;
      return null;
    }
    return this.#text(this.#checked(schema, call.body, []));
  }

  /** What is to be answered, or null where nothing is wrong. */
  error(): ApiError | null {
    if (this.#unreadable !== null) return this.#unreadable;
    return this.#issues.length > 0 ? new ApiError("VALIDATION_FAILED", { issues: this.#issues }) : null;
  }

  #checked<S extends z.ZodType>(schema: S, value: unknown, path: (string | number)[]): z.output<S> | null {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    this.#issues.push(...issuesOf(parsed.error, path));
    return null;
  }

  /**
   * U+0000 and halves of surrogate pairs are text to JSON, but to no database; found here, no
   * service meets them.
   */
  #text<T>(value: T | null): T | null {
    const bad = unfitTextIn(value, []);
    for (const path of bad.slice(0, MAX_ISSUES)) {
      this.#issues.push({ path, code: "invalid_format", message: "must be well-formed text without U+0000" });
    }
    return bad.length === 0 ? value : null;
  }
}

/**
 * Where in a value, as its schema gives it, text stands that cannot be stored; no schema gives one
 * that is deep.
 */
function unfitTextIn(value: unknown, path: readonly (string | number)[]): (readonly (string | number)[])[] {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000") ? [] : [path];
  if (value === null || typeof value !== "object") return [];
  if (Array.isArray(value)) return value.flatMap((member, index) => unfitTextIn(member, [...path, index]));
  return Object.entries(value).flatMap(([name, member]) => unfitTextIn(member, [...path, name]));
}

/**
 * 404 for an own server that was removed, where the operation lists that status (decisions, 1.1).
 */
export function removedServer(call: Pick<Call, "server">): ApiError | null {
  return call.server?.status === "removed" ? new ApiError("SERVER_NOT_FOUND") : null;
}
