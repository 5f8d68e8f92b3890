import { z } from "zod";

/** An organization's wallet (interface, "Credit wallet"). All amounts in credits. */
export const Wallet = z.object({
  id: z.uuid(),
  organizationId: z.uuid(),
  availableCredits: z.int(),
  reservedCredits: z.int(),
  lifetimePurchased: z.int(),
  lifetimeConsumed: z.int(),
  lowBalanceThreshold: z.int(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  lowBalance: z.boolean(),
});
export type Wallet = z.infer<typeof Wallet>;
