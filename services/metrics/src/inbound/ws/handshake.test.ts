import type { IncomingMessage } from "node:http";

import { type AdmissionRequest, ChargeUnknown, type Directory, keyCaller, type RefundRequest } from "@kapi/admission";
import { LIVE_METRICS_PATH } from "@kapi/contracts";
import { ApiError } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { keyEntry } from "@kapi/testkit";
import { expect, it } from "vitest";

import { admitHandshake } from "./handshake.ts";

const { entry, managementKey } = keyEntry({});
const ADDRESS = "203.0.113.7";
const HEADERS = {
  authorization: `Management ${managementKey}`,
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};

/** Sends a handshake whose admission fails with `error`; returns its refunds and charge ids. */
async function refundsAfter(error: ApiError): Promise<{ refunds: RefundRequest[]; chargeIds: string[] }> {
  const refunds: RefundRequest[] = [];
  const chargeIds: string[] = [];
  const context = {
    directory: { key: () => entry, prices: () => ({ liveConnection: 1, read: 1 }) } as unknown as Directory,
    admission: {
      admit: ({ chargeId, address }: AdmissionRequest) => {
        expect(address).toBe(ADDRESS);
        chargeIds.push(chargeId);
        return Promise.reject(error);
      },
    },
    refunds: { add: (request: RefundRequest) => void refunds.push(request) },
    clock: systemClock,
    clientAddress: () => ADDRESS,
    keyKnown: () => undefined,
    acquireSlot: () => undefined,
  };
  const asked = { method: "GET", url: LIVE_METRICS_PATH, headers: HEADERS, socket: { remoteAddress: ADDRESS } };
  const request = asked as unknown as IncomingMessage;
  await expect(admitHandshake(context, request, "request")).rejects.toBe(error);
  return { refunds, chargeIds };
}

it("a handshake is refunded if it is unknown whether it was charged, but not if it is rejected", async () => {
  const unknown = await refundsAfter(new ChargeUnknown(new Error("the reply is lost")));
  const [chargeId] = unknown.chargeIds;
  expect(unknown.refunds).toEqual([
    { caller: keyCaller(entry), operation: "liveMetrics", requestId: "request", chargeId },
  ]);
  expect((await refundsAfter(new ApiError("INSUFFICIENT_CREDITS"))).refunds).toEqual([]);
});

it("a key that is used from a network that it does not allow is rejected like an unknown key, but is in the request log", async () => {
  const limited = { ...entry, allowedNetworks: ["198.51.100.0/24"] };
  const known: string[] = [];
  const context = {
    directory: { key: () => limited } as unknown as Directory,
    admission: { admit: () => Promise.reject(new Error("not reached")) },
    refunds: { add: () => undefined },
    clock: systemClock,
    clientAddress: () => ADDRESS,
    keyKnown: ({ keyId }: { readonly keyId: string }) => void known.push(keyId),
    acquireSlot: () => undefined,
  };
  const request = { method: "GET", url: LIVE_METRICS_PATH, headers: HEADERS } as unknown as IncomingMessage;
  await expect(admitHandshake(context, request, "request")).rejects.toMatchObject({ code: "AUTHENTICATION_REQUIRED" });
  expect(known).toEqual([entry.keyId]);
});

it.each([
  ["", false],
  ["a b", false],
  ["a, a", false],
  ["a,", false],
  [", a", false],
  ["a/b", false],
  ["a\u00a0", false],
  ["a", true],
  ["kapi.v1 ,\tb", true],
])("a handshake is charged only if `ws` accepts its subprotocols: %j, charged: %s", async (protocols, charged) => {
  const admitted = new Error("admitted");
  const context = {
    directory: { key: () => entry, prices: () => ({ liveConnection: 1, read: 1 }) } as unknown as Directory,
    admission: { admit: () => Promise.reject(admitted) },
    refunds: { add: () => undefined },
    clock: systemClock,
    clientAddress: () => ADDRESS,
    keyKnown: () => undefined,
    acquireSlot: () => undefined,
  };
  const headers = { ...HEADERS, "sec-websocket-protocol": protocols };
  const request = { method: "GET", url: LIVE_METRICS_PATH, headers } as unknown as IncomingMessage;
  const outcome = expect(admitHandshake(context, request, "request")).rejects;
  await (charged ? outcome.toBe(admitted) : outcome.toMatchObject({ code: "VALIDATION_FAILED", status: 400 }));
});
