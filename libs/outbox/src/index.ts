export { outboxAge } from "./age.ts";
export { toLines } from "./lines.ts";
export type { OutboxMessage, OutboxTransaction } from "./message.ts";
export { type OutboxOptions, startOutbox } from "./outbox.ts";
