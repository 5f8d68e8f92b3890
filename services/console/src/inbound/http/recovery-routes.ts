import { CompleteRecoveryBody, CONSOLE_API, RecoverPasswordBody } from "@kapi/contracts";
import { addressOf, type FastifyInstance, parse } from "@kapi/http";

import {
  completeRecovery,
  type PasswordRecovery,
  type RecoveryDependencies,
} from "../../operations/recover-password.ts";
import { requireOwnOrigin } from "./own-page.ts";

/**
 * What the two routes need: `recovery` sends the link, and the other fields set the new password.
 */
export interface RecoveryRouteDependencies extends Pick<
  RecoveryDependencies,
  "passwords" | "store" | "clock" | "recoveries"
> {
  readonly recovery: PasswordRecovery;
}

/** The recovery of a forgotten password, without a session. */
export function registerRecoveryRoutes(app: FastifyInstance, dependencies: RecoveryRouteDependencies): void {
  app.post(`${CONSOLE_API}/password-recovery`, async (request, reply) => {
    requireOwnOrigin(request);
    const { email } = parse(RecoverPasswordBody, request.body);
    await dependencies.recovery.request(email, addressOf(request) ?? request.ip);
    return reply.code(202).send({});
  });
  app.post(`${CONSOLE_API}/password-recovery/complete`, async (request, reply) => {
    requireOwnOrigin(request);
    const body = parse(CompleteRecoveryBody, request.body);
    await completeRecovery(dependencies, body, addressOf(request) ?? request.ip);
    return reply.code(204).send();
  });
}
