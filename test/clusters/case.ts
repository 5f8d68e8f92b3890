import type { TestStack } from "@kapi/local/test-stack";

import type { Violations } from "../live/violations.ts";
import type { OperationLog } from "./operation-log.ts";
import type { Waits } from "./waits.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

/** The input of the checks. */
export interface Case {
  readonly harness: ClusterHarness;
  readonly stack: TestStack;
  readonly operationLog: OperationLog;
  readonly violations: Violations;
  readonly waits: Waits;
  readonly say: (text: string) => void;
}

/** A transaction of an account, as the API shows it. */
export interface TransactionView {
  readonly id: string;
  readonly sequence: number;
  readonly type: string;
  readonly amount: number;
  readonly balanceBefore: number;
  readonly balanceAfter: number;
  readonly commandId: string | null;
  readonly dealId: string | null;
}

/** A command, as the API shows it. */
export interface CommandView {
  readonly id: string;
  readonly operation: string;
  readonly status: string;
  readonly errorCode: string | null;
  /** Null if the command is from a release that did not record who created a command. */
  readonly createdBy: { readonly type: string; readonly id: string } | null;
}
