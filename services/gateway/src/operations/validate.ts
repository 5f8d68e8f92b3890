import { AccountNumber, Guid, IdempotencyKey, type Issue } from "@kapi/contracts";
import { ApiError, issuesOf } from "@kapi/http";
import type { z } from "zod";

import type { Call } from "./call.ts";

/** Gathers everything that is wrong with a request, to be answered at once. */
export class Findings {
  readonly #issues: Issue[] = [];
  #unreadable: ApiError | null = null;

  /** The server that the path names, in lower case. Call only where the path names one. */
  serverId(call: Call): string {
    return call.server?.serverId ?? this.#checked(Guid, call.params["serverId"], ["serverId"]) ?? "";
  }

  accountNumber(call: Call): string {
    return this.#checked(AccountNumber, call.params["accountNumber"], ["accountNumber"]) ?? "";
  }

  idempotencyKey(call: Call): string {
    return this.#checked(IdempotencyKey, call.idempotencyKey, ["Idempotency-Key"]) ?? "";
  }

  query<S extends z.ZodType>(call: Call, schema: S): z.output<S> | null {
    return this.#text(this.#checked(schema, call.query, []));
  }

  body<S extends z.ZodType>(call: Call, schema: S): z.output<S> | null {
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

  /** U+0000 and halves of surrogate pairs are text to JSON, but to no database; found here, no service meets them. */
  #text<T>(value: T | null): T | null {
    if (value === null || typeof value !== "object") return value;
    let clean = true;
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== "string" || (member.isWellFormed() && !member.includes("\u0000"))) continue;
      this.#issues.push({ path: [name], code: "invalid_format", message: "must be well-formed text without U+0000" });
      clean = false;
    }
    return clean ? value : null;
  }
}

/** 404 for an own server that was removed, where the operation lists that status (decisions, 1.1). */
export function removedServer(call: Call): ApiError | null {
  return call.server?.status === "removed" ? new ApiError("SERVER_NOT_FOUND") : null;
}
