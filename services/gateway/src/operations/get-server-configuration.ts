import type { Operation } from "./call.ts";
import { chargeRead, refuse } from "./charge-read.ts";
import type { Needs } from "./needs.ts";
import { Findings } from "./validate.ts";

/** GET a server's configuration: the account service's bytes. */
export function getServerConfiguration(needs: Needs): Operation {
  return async (call) => {
    const findings = new Findings();
    const serverId = findings.serverId(call);
    const error = findings.error();
    if (error !== null) return refuse(needs, call, error);
    await chargeRead(needs, call);
    return { status: 200, body: await needs.accounts.configurationBytes(serverId) };
  };
}
