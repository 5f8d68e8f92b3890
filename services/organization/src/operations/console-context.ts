import type { AuditLog } from "../domain/audit.ts";
import type {
  Accounts,
  Commands,
  ConsoleSessions,
  Passwords,
  Samples,
  SignInAttempts,
  Users,
  Webhooks,
} from "../domain/console-ports.ts";
import type { UsageLines } from "../domain/ports.ts";
import type { OperatorContext } from "./operator-context.ts";
import type { FailedSignInRecorder } from "./record-failed-sign-ins.ts";

/** What operations on people work with. */
export interface PeopleContext extends OperatorContext {
  readonly users: Users;
  readonly passwords: Passwords;
  readonly sessions: ConsoleSessions;
  readonly signInAttempts: SignInAttempts;
  readonly auditLog: AuditLog;
  readonly failedSignIns: FailedSignInRecorder;
}

/** What the console's operations work with. */
export interface ConsoleContext extends PeopleContext {
  readonly usageLines: UsageLines;
  readonly accounts: Accounts;
  readonly commands: Commands;
  readonly samples: Samples;
  readonly webhooks: Webhooks;
}
