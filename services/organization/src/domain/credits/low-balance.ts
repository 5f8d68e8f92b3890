/**
 * Whether a wallet has just come down to its threshold: above it before, at it or below now
 * (decisions, 7.3).
 */
export function crossedThreshold(change: { before: number; after: number; threshold: number }): boolean {
  return change.before > change.threshold && change.after <= change.threshold;
}
