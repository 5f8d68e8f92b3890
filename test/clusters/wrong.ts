import type { TestStack } from "@kapi/local/test-stack";

import type { OperationLog } from "./operation-log.ts";
import type { Settings } from "./settings.ts";
import type { ClusterHarness } from "./cluster-harness.ts";

/**
 * Puts one wrong expectation into the operation log, or causes one forbidden effect. The run must
 * then report a violation, which shows that the checks work.
 */
export async function goWrong(
  kind: Settings["wrong"],
  operationLog: OperationLog,
  harness: ClusterHarness,
  stack: TestStack,
): Promise<void> {
  const { receiver, checkers } = harness;
  const deposit = operationLog.accepted.find((operation) => operation.kind === "deposit");
  if (kind === "amount" && deposit !== undefined) deposit.amountMinor += 1;
  if (kind === "command" && deposit !== undefined) deposit.commandId = "00000000-0000-4000-8000-000000000000";
  if (kind === "delivery") {
    const [first] = receiver.received;
    const kept = receiver.received.filter(({ event }) => event.data.eventId !== first?.event.data.eventId);
    receiver.received.splice(0, receiver.received.length, ...kept);
  }
  if (kind === "charge" && operationLog.servedRead !== null) operationLog.failedReads.add(operationLog.servedRead);
  if (kind === "live")
    await Promise.all(checkers.filter(({ organization }) => organization === 0).map((one) => one.stop()));
  if (kind === "ending") {
    stack.process("export").kill("SIGTERM");
    await stack.process("export").ended();
  }
}
