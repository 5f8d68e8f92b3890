/**
 * The events of trading servers in a service: those of one account in order, repeats dropped, gaps
 * filled from the trading server's history, units of many accounts in one transaction. The service
 * gives the books ({@link EventBook}, {@link GapBook}); order, gathering and asking again are here.
 */
export * from "./account-feed.ts";
export * from "./booking-queue.ts";
export * from "./client-history.ts";
export * from "./gap-filler.ts";
export * from "./trading-events.ts";
