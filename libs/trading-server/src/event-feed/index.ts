/**
 * Trading events in a service: ordered per account, without duplicates, gaps filled from history,
 * many accounts per transaction. The service implements `EventRepository` and
 * `GapRepository`.
 */
export * from "./account-feed.ts";
export * from "./booking-queue.ts";
export * from "./client-history.ts";
export * from "./gap-filler.ts";
export * from "./trading-events.ts";
