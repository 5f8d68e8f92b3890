/**
 * Whether a change took a wallet from above its threshold to the threshold or below (decisions,
 * 7.3).
 */
export function crossedThreshold(change: { before: number; after: number; threshold: number }): boolean {
  return change.before > change.threshold && change.after <= change.threshold;
}
