import { randomUUID } from "node:crypto";

import type { BodyKind } from "./interface-tables.ts";

/** Returns a valid body of this kind. Every `requestId` in the body is new. */
export function validBody(kind: BodyKind): Record<string, unknown> {
  const requestId = `request-${randomUUID()}`;
  switch (kind) {
    case "create":
      return { accountName: "Contract", initialBalance: 100, leverage: 100, requestId };
    case "bulk":
      return { accounts: [validBody("create"), validBody("create")] };
    case "update":
      return { accountName: "Renamed", leverage: 50, requestId };
    case "configuration":
      return { supportedLeverage: [1, 50, 100, 10_000], defaultLeverage: 100, currency: "USD" };
    case "request":
    case "password":
      return { requestId };
    case "export":
      return { from: "2020-01-01T00:00:00Z", to: "2100-01-01T00:00:00+01:00", limit: 100, requestId };
    case "rules":
      return { rules: [{ id: "max", type: "maxLoss", limit: { percent: 10 }, action: "notify" }], requestId };
    case "template":
      return {
        ...validBody("rules"),
        appliesTo: { status: ["active"], nameStartsWith: "No account has this name" },
        newAccounts: true,
      };
    case "funds":
      return { amount: 1.25, description: "Contract", requestId };
  }
}
