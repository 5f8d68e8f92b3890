import type { Readable } from "node:stream";

import { ListCommandsQuery } from "@kapi/contracts";
import { ApiError } from "@kapi/http";

import type { Operation } from "./call.ts";
import type { Dependencies } from "./dependencies.ts";
import { takeSlot, holdUntilRead } from "./shares.ts";
import { RequestValidator } from "./validate.ts";

/** GET commands of a server: command-status's response, unchanged. */
export function listCommands({ commandStatus, streams }: Pick<Dependencies, "commandStatus" | "streams">): Operation {
  return async (call) => {
    const validator = new RequestValidator();
    const serverId = validator.serverId(call);
    const query = validator.query(call, ListCommandsQuery);
    const error = validator.error();
    if (error !== null || query === null) return call.charge.reject(error ?? new ApiError("VALIDATION_FAILED"));
    await call.charge.read();
    const { organizationId } = call.key;
    const page = await commandStatus.list(organizationId, serverId, query);
    if (page !== null) return { status: 200, body: page };
    const release = takeSlot(streams, organizationId);
    const stream = (): Promise<Readable> => commandStatus.stream(organizationId, serverId, query);
    return { status: 200, body: await holdUntilRead(release, stream) };
  };
}
