export { outboxAge } from "./age.ts";
export { registerAuditOutboxRoutes, recordForAudit } from "./audit-outbox.ts";
export { toLines } from "./lines.ts";
export type { OutboxMessage, OutboxTransaction } from "./message.ts";
export { type Outbox, type OutboxOptions, startOutbox } from "./outbox.ts";
export { ROW_PER_MESSAGE, ROW_PER_TRANSACTION } from "./rows.ts";
export { transactionWithOutbox } from "./transaction.ts";
