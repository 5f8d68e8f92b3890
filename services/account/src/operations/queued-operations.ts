import type { CommandOperation } from "@kapi/contracts";

import type { QueuedOperation } from "../domain/account-change.ts";
import { archiveAccount } from "./archive-account.ts";
import { disableAccount } from "./disable-account.ts";
import { enableAccount } from "./enable-account.ts";
import { flattenAccount } from "./flatten-account.ts";
import { queueAccountDeletion } from "./queue-account-deletion.ts";
import { setAccountCloseOnly } from "./set-account-close-only.ts";
import { resetInvestorPassword } from "./reset-investor-password.ts";
import type { PasswordOf } from "./reset-password.ts";
import { resetTradingPassword } from "./reset-trading-password.ts";
import { updateTradingAccount } from "./update-trading-account.ts";

/** Queued operations on existing accounts, by command name. */
export type QueuedOperations = ReadonlyMap<CommandOperation, QueuedOperation>;

/** Creates the operations; `passwordOf` supplies the passwords of resets. */
export function queuedOperations(passwordOf: PasswordOf): QueuedOperations {
  const operations = [
    updateTradingAccount,
    enableAccount,
    disableAccount,
    archiveAccount,
    queueAccountDeletion,
    flattenAccount,
    setAccountCloseOnly,
    resetTradingPassword(passwordOf),
    resetInvestorPassword(passwordOf),
  ];
  return new Map(operations.map((operation) => [operation.operation, operation]));
}
