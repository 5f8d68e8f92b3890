import type { Admission, Directory, KnownAccounts } from "@kapi/admission";
import type { Clock, Keyring, OrganizationSlots } from "@kapi/kernel";

import type {
  Accounts,
  CommandLog,
  CommandStatus,
  ReadBalance,
  Digests,
  ReadCreditUsage,
  ReadLastSnapshot,
  ReadSnapshots,
  ReadTransactions,
  Risk,
  Webhooks,
} from "../domain/ports.ts";
import type { ServerConfigurations } from "./server-configurations.ts";

/** Dependencies of all operations together. Each operation picks the ones that it uses. */
export interface Dependencies {
  /** The prices in force. */
  readonly prices: Directory["prices"];
  readonly admission: Pick<Admission, "recordedMessage" | "confirmCompleted" | "markCompleted">;
  /** Cache of the ids of existing accounts, loaded by `Accounts.ids`. */
  readonly knownAccounts: KnownAccounts<string>;
  readonly accounts: Accounts;
  readonly readTransactions: ReadTransactions;
  readonly readBalance: ReadBalance;
  readonly readSnapshots: ReadSnapshots;
  readonly readLastSnapshot: ReadLastSnapshot;
  readonly readCreditUsage: ReadCreditUsage;
  readonly digests: Digests;
  readonly risk: Risk;
  readonly webhooks: Webhooks;
  readonly configurations: ServerConfigurations;
  readonly commandStatus: CommandStatus;
  readonly commandLog: CommandLog;
  /** Slots of streamed responses, held until the response ends. */
  readonly streams: OrganizationSlots;
  /** Slots of searches in a server's accounts. */
  readonly searches: OrganizationSlots;
  /** Slots of requests that wait for a command's final state. */
  readonly waits: OrganizationSlots;
  readonly clock: Clock;
  /** Whether this process is stopping: requests then no longer wait for a command's final state. */
  readonly isStopping: () => boolean;
  readonly derivationKeys: Keyring;
  readonly sealingKeys: Keyring;
  /** Key of the hash that replaces a supplied password in a fingerprint. */
  readonly fingerprintKey: Buffer;
}
