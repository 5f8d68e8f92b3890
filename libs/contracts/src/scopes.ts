import { z } from "zod";

/**
 * The scopes that a management key can carry (interface, "Authentication", 3); the last four are
 * for webhooks (decisions, 11) and risk (decisions, 15).
 */
export const SCOPES = [
  "credits:read",
  "accounts:read",
  "accounts:create",
  "accounts:update",
  "finance:deposit",
  "finance:withdraw",
  "metrics:read",
  "webhooks:read",
  "webhooks:manage",
  "risk:read",
  "risk:manage",
] as const;

export const Scope = z.enum(SCOPES);
export type Scope = z.infer<typeof Scope>;
