/** The internal route of the gateway: operations that a person calls in the console. */
import { z } from "zod";

import { CommandEnvelope } from "../http/commands.ts";
import { PERSON_OPERATIONS } from "../http/console-actions.ts";
import type { InternalRoutes } from "./route.ts";

export const GATEWAY_ROUTES = {
  /**
   * An operation of the management API on an account, for the person that the caller headers name.
   * The answer, 202 or 200, and the errors are those of the operation.
   */
  callAccountOperation: {
    method: "POST",
    path: "/internal/organizations/:organizationId/servers/:serverId/accounts/:accountNumber/operations",
    callers: ["console"],
    body: z.object({
      operation: z.enum(PERSON_OPERATIONS),
      /** Chosen by the person's page, and unique for the person. */
      idempotencyKey: z.uuid(),
      /** The operation's body, which the operation validates. */
      body: z.record(z.string(), z.unknown()),
    }),
    answer: CommandEnvelope,
  },
} as const satisfies InternalRoutes;
