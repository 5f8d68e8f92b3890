import { ApiError } from "@kapi/http";
import type { z } from "zod";

import type { ReadRecords } from "../domain/ports.ts";
import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings, removedServer } from "./validate.ts";

/** What the four history lists of an account have in common: the owner's bytes, or 404 where it knows no such account. */
export function readAccountRecords<Q>(needs: Needs, schema: z.ZodType<Q>, read: ReadRecords<Q>): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const accountNumber = findings.accountNumber(call);
    const query = findings.query(call, schema);
    const error = findings.error() ?? removedServer(call);
    if (error !== null || query === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    await chargeRead(needs, call);
    const body = await read(serverId, accountNumber, query);
    if (body === null) throw new ApiError("ACCOUNT_NOT_FOUND");
    return { status: 200, body };
  };
}
