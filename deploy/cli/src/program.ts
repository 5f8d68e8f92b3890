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
The commands "user" and "audit" call the console service at CONSOLE_URL. The
command "partitions" connects to Kafka at KAFKA_BROKERS. All other commands call
the organization service at ORGANIZATION_URL. Commands that call a service need
OPERATOR_TOKEN. The value of a variable that is not set is taken from the kapi
that npm start runs from this checkout.`;

const STOPPED = `
Stopped before the result: the change may have been made. If you stopped a growth
of partitions, run the same command again.
`.trimStart();

/**
 * Runs one command and returns its exit code. The operator's commands begin with `kapi admin`. All
 * other commands are those of `@kapi/client`, which an organization uses. Results go to `out`,
 * everything else to `err`. If the user stops a command of the operator, its work may still run.
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
