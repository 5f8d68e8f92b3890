/** The messages between stream processes and windows processes of metrics. */
import { z } from "zod";

import { AccountNumber, Guid } from "../values.ts";

/** Maximum number of accounts in one message of a stream process. */
export const MAX_ACCOUNTS_PER_MESSAGE = 500;

/** The number that a stream process gives an account on one connection. */
const Channel = z.int().min(0).max(0xffff_ffff);
export const FollowRequest = z.object({
  channel: Channel,
  serverId: Guid,
  accountNumber: AccountNumber,
  /** The last sequence that the stream process has of the account; 0 if none. */
  afterSequence: z.int().min(0),
  /** Every sample up to `afterSequence` is before this position of `metrics.samples`. */
  position: z.int().min(0),
});
export type FollowRequest = z.infer<typeof FollowRequest>;
/** What a stream process sends. */
export const StreamMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("follow"), accounts: z.array(FollowRequest).max(MAX_ACCOUNTS_PER_MESSAGE) }),
  z.object({ type: z.literal("unfollow"), channels: z.array(Channel).max(MAX_ACCOUNTS_PER_MESSAGE) }),
]);
export type StreamMessage = z.infer<typeof StreamMessage>;

/** The partitions that a windows process holds. */
export const WindowsHolding = z.object({
  /** Number of all partitions of `metrics.samples`. */
  partitions: z.int().min(1),
  /** Stream processes follow the accounts of these partitions at this process. */
  own: z.array(z.int().min(0)),
  /**
   * Own partitions of another process. This process holds them in case the other process is
   * unavailable.
   */
  replica: z.array(z.int().min(0)),
});
export type WindowsHolding = z.infer<typeof WindowsHolding>;
