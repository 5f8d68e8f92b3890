import type { Readable } from "node:stream";

import { ListCommandsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { takeSlot, untilRead } from "./shares.ts";
import { Findings } from "./validate.ts";

/** GET commands of a server: command-status's bytes. */
export function listCommands(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const query = findings.query(call, ListCommandsQuery);
    const error = findings.error();
    if (error !== null || query === null) return refuse(needs, call, error ?? new ApiError("VALIDATION_FAILED"));
    await chargeRead(needs, call);
    const { organizationId } = call.key;
    const whole = await needs.commandStatus.list(organizationId, serverId, query);
    if (whole !== null) return { status: 200, body: whole };
    const release = takeSlot(needs.streams, organizationId);
    const stream = (): Promise<Readable> => needs.commandStatus.stream(organizationId, serverId, query);
    return { status: 200, body: await untilRead(release, stream) };
  };
}
