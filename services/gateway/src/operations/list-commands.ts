import type { Readable } from "node:stream";

import { ListCommandsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { takeSlot, untilRead } from "./shares.ts";
import { Findings } from "./validate.ts";

/** GET commands of a server: command-status's bytes. */
export function listCommands({ commandStatus, streams }: Pick<Dependencies, "commandStatus" | "streams">): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const query = findings.query(call, ListCommandsQuery);
    const error = findings.error();
    if (error !== null || query === null) return call.charge.refuse(error ?? new ApiError("VALIDATION_FAILED"));
    await call.charge.read();
    const { organizationId } = call.key;
    const whole = await commandStatus.list(organizationId, serverId, query);
    if (whole !== null) return { status: 200, body: whole };
    const release = takeSlot(streams, organizationId);
    const stream = (): Promise<Readable> => commandStatus.stream(organizationId, serverId, query);
    return { status: 200, body: await untilRead(release, stream) };
  };
}
