import type { Admission, Directory, KnownAccounts } from "@kapi/admission";
import type { Clock, Keyring, OrganizationSlots } from "@kapi/kernel";

import type {
  Accounts,
  CommandLog,
  CommandStatus,
  ReadCreditUsage,
  ReadSnapshots,
  ReadTransactions,
  Webhooks,
} from "../domain/ports.ts";
import type { ServerConfigurations } from "./server-configurations.ts";

/** All that the operations use together. Each names the few that it takes. */
export interface Dependencies {
  /** The prices in force. */
  readonly prices: Directory["prices"];
  readonly admission: Pick<Admission, "recordedMessage" | "confirmCompleted" | "markCompleted">;
  /** The ids of accounts that exist, as `Accounts.ids` tells them. */
  readonly knownAccounts: KnownAccounts<string>;
  readonly accounts: Accounts;
  readonly readTransactions: ReadTransactions;
  readonly readSnapshots: ReadSnapshots;
  readonly readCreditUsage: ReadCreditUsage;
  readonly webhooks: Webhooks;
  readonly configurations: ServerConfigurations;
  readonly commandStatus: CommandStatus;
  readonly commandLog: CommandLog;
  /** Of streamed answers, each taken until its answer is over. */
  readonly streams: OrganizationSlots;
  /** Of searches among a server's accounts. */
  readonly searches: OrganizationSlots;
  /** Of requests that wait for a command's final state. */
  readonly waits: OrganizationSlots;
  readonly clock: Clock;
  /** Whether this process is about to end: no request waits for something to happen any more. */
  readonly isStopping: () => boolean;
  readonly derivationKeys: Keyring;
  readonly sealingKeys: Keyring;
  /** Keys the hash by which a supplied password enters a fingerprint. */
  readonly fingerprintKey: Buffer;
}
