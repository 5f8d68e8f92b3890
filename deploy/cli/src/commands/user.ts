import type { Command } from "commander";
import { z } from "zod";

import { addCommand, type CommandContext, type Telling } from "../context.ts";
import { organizationRoute } from "../operator.ts";
import { facts, table } from "../output.ts";

const Created = z.object({ userId: z.guid(), password: z.string().optional() });
const User = z.looseObject({
  userId: z.guid(),
  email: z.string(),
  name: z.string(),
  createdAt: z.string(),
  disabledAt: z.string().nullable(),
});

interface OfOrganization extends Telling {
  readonly organization: string;
}
interface CreateOptions extends OfOrganization {
  readonly email: string;
  readonly name: string;
  readonly passwordStdin?: true;
}

/** `kapi user create|list` */
export function addUser(program: Command, context: CommandContext): void {
  const user = program.command("user").description("People who sign in to the console");
  addCommand(user, "create", "Make a user of an organization; a generated password is shown once")
    .requiredOption("--organization <id>", "the organization")
    .requiredOption("--email <address>", "what the user signs in with")
    .requiredOption("--name <name>", "what the console calls the user")
    .option("--password-stdin", "read the password from standard input instead of making one")
    .action((options: CreateOptions) => create(context, options));
  addCommand(user, "list", "List the users of an organization")
    .requiredOption("--organization <id>", "the organization")
    .action((options: OfOrganization) => list(context, options));
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { organization, email, name } = options;
  const given = options.passwordStdin === true ? { password: await context.readLine() } : {};
  const route = organizationRoute(organization, "/users");
  const created = await context.operator().post(route, { email, name, ...given }, Created);
  context.tell(options, created, ({ userId, password }) =>
    facts({ user: userId, email, ...(password === undefined ? {} : { "password (shown once)": password }) }),
  );
}

async function list(context: CommandContext, options: OfOrganization): Promise<void> {
  const users = await context.operator().list(organizationRoute(options.organization, "/users"), "users", User);
  context.tell(options, users, (rows) =>
    table(rows, [
      { heading: "USER", of: (row) => row.userId },
      { heading: "E-MAIL", of: (row) => row.email },
      { heading: "NAME", of: (row) => row.name },
      { heading: "STATUS", of: (row) => (row.disabledAt === null ? "active" : "disabled") },
      { heading: "CREATED", of: (row) => row.createdAt },
    ]),
  );
}
