import type { Accounts, Commands, Passwords, Samples, Users, Webhooks } from "../domain/console-ports.ts";
import type { UsageLines } from "../domain/ports.ts";
import type { OperatorContext } from "./operator-context.ts";

/** What operations on people work with. */
export interface PeopleContext extends OperatorContext {
  readonly users: Users;
  readonly passwords: Passwords;
}

/** What the console's operations work with. */
export interface ConsoleContext extends PeopleContext {
  readonly usageLines: UsageLines;
  readonly accounts: Accounts;
  readonly commands: Commands;
  readonly samples: Samples;
  readonly webhooks: Webhooks;
}
