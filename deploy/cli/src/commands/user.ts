import { CONSOLE_ROLES, CONSOLE_ROUTES, type ConsoleRole } from "@kapi/contracts";
import { type Command, Option } from "commander";

import { addCommand, type CommandContext, type PrintOptions } from "../context.ts";
import { fields, table } from "../output.ts";

interface OfOrganization extends PrintOptions {
  readonly organization: string;
}
interface ResetPasswordOptions extends PrintOptions {
  readonly passwordStdin?: true;
}
interface CreateOptions extends OfOrganization {
  readonly email: string;
  readonly name: string;
  readonly role: ConsoleRole;
  readonly passwordStdin?: true;
}

/** `kapi admin user create|set-role|reset-password|reset-two-factor|list` */
export function addUser(program: Command, context: CommandContext): void {
  const user = program.command("user").description("People who sign in to the console");
  addCommand(user, "create", "Create a user of an organization; a generated password is shown once")
    .requiredOption("--organization <id>", "the organization")
    .requiredOption("--email <address>", "e-mail address with which the user signs in")
    .requiredOption("--name <name>", "name of the user in the console")
    .addOption(new Option("--role <role>", "what the user may do").choices(CONSOLE_ROLES).default("owner"))
    .option("--password-stdin", "read the password from standard input instead of generating one")
    .action((options: CreateOptions) => create(context, options));
  addCommand(user, "set-role", "Change what a user may do; the organization keeps at least one owner")
    .argument("<user id>", "the user")
    .addOption(new Option("--role <role>", "what the user may do").choices(CONSOLE_ROLES).makeOptionMandatory())
    .action((userId: string, options: PrintOptions & { readonly role: ConsoleRole }) =>
      setRole(context, userId, options),
    );
  addCommand(
    user,
    "reset-password",
    "Give a user a new password; a generated password is shown once; the user's sessions end",
  )
    .argument("<user id>", "the user")
    .option("--password-stdin", "read the password from standard input instead of generating one")
    .action((userId: string, options: ResetPasswordOptions) => resetPassword(context, userId, options));
  addCommand(user, "reset-two-factor", "Remove the second factor of a user who lost it; the user's sessions end")
    .argument("<user id>", "the user")
    .action((userId: string, options: PrintOptions) => resetTwoFactor(context, userId, options));
  addCommand(user, "list", "List the users of an organization")
    .requiredOption("--organization <id>", "the organization")
    .action((options: OfOrganization) => list(context, options));
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { organization, email, name, role } = options;
  const given = await givenPassword(context, options);
  const created = await context.operator("console").call(CONSOLE_ROUTES.createUser, {
    params: { organizationId: organization },
    body: { email, name, role, ...given },
  });
  context.print(options, created, ({ userId, password }) => fields({ user: userId, email, ...shownOnce(password) }));
}

async function resetPassword(context: CommandContext, userId: string, options: ResetPasswordOptions): Promise<void> {
  const body = await givenPassword(context, options);
  const answer = await context.operator("console").call(CONSOLE_ROUTES.resetUserPassword, { params: { userId }, body });
  context.print(options, answer, ({ password }) => fields({ user: userId, ...shownOnce(password) }));
}

/** The password on standard input; without `--password-stdin` the console generates one. */
async function givenPassword(
  context: CommandContext,
  { passwordStdin }: { readonly passwordStdin?: true },
): Promise<{ readonly password?: string }> {
  return passwordStdin === true ? { password: await context.readLine() } : {};
}

function shownOnce(password: string | undefined): Record<string, string> {
  return password === undefined ? {} : { "password (shown once)": password };
}

async function setRole(
  context: CommandContext,
  userId: string,
  options: PrintOptions & { readonly role: ConsoleRole },
): Promise<void> {
  const request = { params: { userId }, body: { role: options.role } };
  const changed = await context.operator("console").call(CONSOLE_ROUTES.setUserRole, request);
  context.print(options, changed, ({ role }) => fields({ user: userId, role }));
}

async function resetTwoFactor(context: CommandContext, userId: string, options: PrintOptions): Promise<void> {
  const answer = await context.operator("console").call(CONSOLE_ROUTES.resetUserTwoFactor, { params: { userId } });
  context.print(options, answer, () => fields({ user: userId, "two-factor": "off" }));
}

async function list(context: CommandContext, options: OfOrganization): Promise<void> {
  const params = { organizationId: options.organization };
  const users = await context.operator("console").list(CONSOLE_ROUTES.listUsers, params, (page) => page.users);
  context.print(options, users, (rows) =>
    table(rows, [
      { heading: "USER", of: (row) => row.userId },
      { heading: "E-MAIL", of: (row) => row.email },
      { heading: "NAME", of: (row) => row.name },
      { heading: "ROLE", of: (row) => row.role },
      { heading: "TWO-FACTOR", of: (row) => (row.twoFactor ? "on" : "off") },
      { heading: "LAST SIGN-IN", of: (row) => row.lastSignInAt ?? "never" },
      { heading: "STATUS", of: (row) => (row.disabledAt === null ? "active" : "disabled") },
      { heading: "CREATED", of: (row) => row.createdAt },
    ]),
  );
}
