import { type Connection, EXIT_CODES, runCommandLine, type Surroundings } from "@kapi/client/cli";

import { addAudit } from "./commands/audit.ts";
import { addCredits } from "./commands/credits.ts";
import { addKey } from "./commands/key.ts";
import { addOrganization } from "./commands/organization.ts";
import { addPartitions } from "./commands/partitions.ts";
import { addServer } from "./commands/server.ts";
import { addUser } from "./commands/user.ts";
import { createContext } from "./context.ts";
import { demoConnection } from "./running-kapi.ts";

const FOOTER = `
These commands call the organization service at ORGANIZATION_URL (user and audit:
the console service at CONSOLE_URL), with OPERATOR_TOKEN; partitions connects to
KAFKA_BROKERS. The value of a variable that is not set is taken from the kapi
that npm start runs from this checkout.`;

const STOPPED = `
Stopped before the result: the change may have been made. If you stopped a growth
of partitions, run the same command again.
`.trimStart();

/**
 * Runs one command and returns its exit code. Below `kapi admin` are the commands of the operator,
 * all others are the client's commands of an organization. Results go to `out`, everything else to
 * `err`. If the user stops a command of the operator, its work may still run.
 */
export function runOperatorCommandLine(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const context = createContext(surroundings);
  const fallback = (): Promise<Connection | null> => demoConnection(surroundings.environment);
  const stopped = Promise.withResolvers<number>();
  const ended = runCommandLine(args, { ...surroundings, fallback }, (program) => {
    const admin = program
      .command("admin")
      .description(
        "The operator's commands: organizations, users, servers, keys, credits, the audit log and partitions",
      )
      .addHelpText("after", FOOTER)
      .hook("preAction", () => {
        const stop = (): void => {
          surroundings.err(STOPPED);
          stopped.resolve(EXIT_CODES.notFinal);
        };
        surroundings.signal.addEventListener("abort", stop, { once: true });
      });
    addOrganization(admin, context);
    addUser(admin, context);
    addServer(admin, context);
    addKey(admin, context);
    addCredits(admin, context);
    addAudit(admin, context);
    addPartitions(admin, context);
  });
  return Promise.race([ended, stopped.promise]);
}
