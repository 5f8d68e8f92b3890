/**
 * Books trading events in a service: in order per account, without duplicates, many accounts per
 * transaction. Gaps are filled from the trading server's history. The service implements
 * `EventRepository` and `GapRepository`.
 */
export * from "./account-feed.ts";
export * from "./booking-queue.ts";
export * from "./client-history.ts";
export * from "./gap-filler.ts";
export * from "./trading-events.ts";
