import { AccountMetricsFrame } from "@kapi/contracts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { Sample } from "../sample.ts";
import { decodeLiveFrame, encodeLiveFrame } from "./live-frame.ts";

const SERVER = "5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f";
const WHOLE: Sample = {
  range: { sequence: 412, from: 1_001, to: 1_007 },
  values: {
    balanceMinor: 1_000_000,
    equityMinor: 1_012_345,
    marginMinor: 20_050,
    freeMarginMinor: 992_295,
    marginLevel: 5_049.1,
    openPositionCount: 3,
  },
  measuredAt: "2026-03-01T10:00:00.123Z",
  minimum: { equityMinor: 1_000_001, measuredAt: "2026-03-01T09:59:59.999Z" },
};
const NOTHING: Sample = {
  range: { sequence: 1, from: -1, to: 0 },
  values: {
    balanceMinor: 0,
    equityMinor: 0,
    marginMinor: 0,
    freeMarginMinor: -0,
    marginLevel: 0,
    openPositionCount: 0,
  },
  measuredAt: "0000-01-01T00:00:00.000Z",
  minimum: { equityMinor: -0, measuredAt: "0000-01-01T00:00:00.000Z" },
};
const EXTREMES: Sample = {
  range: { sequence: Number.MAX_SAFE_INTEGER, from: 1, to: Number.MAX_SAFE_INTEGER },
  values: {
    balanceMinor: Number.MIN_SAFE_INTEGER,
    equityMinor: Number.MAX_SAFE_INTEGER,
    marginMinor: -1,
    freeMarginMinor: 10,
    marginLevel: -1.5e300,
    openPositionCount: Number.MAX_SAFE_INTEGER,
  },
  measuredAt: "2026-12-31T23:59:59.1234567890123456Z",
  minimum: { equityMinor: 1, measuredAt: "2026-02-28T00:00:00Z" },
};

/** Frames that a release with another encoder wrote: the bytes must not change. */
const RECORDED: readonly (readonly [string, Sample, string])[] = [
  [
    "1000",
    WHOLE,
    '{"type":"account.metrics","eventId":"46a22ad1-9c30-56ef-a369-ff6e427351d1","serverId":"5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f","accountNumber":"1000","sequence":412,"measuredAt":"2026-03-01T10:00:00.123Z","balance":10000,"equity":10123.45,"margin":200.5,"freeMargin":9922.95,"marginLevel":5049.1,"openPositionCount":3,"intervalMinimumEquity":10000.01,"intervalMinimumMeasuredAt":"2026-03-01T09:59:59.999Z"}',
  ],
  [
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    NOTHING,
    '{"type":"account.metrics","eventId":"64196274-caa0-5df4-9c79-c9f5e4ea33a7","serverId":"5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f","accountNumber":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","sequence":1,"measuredAt":"0000-01-01T00:00:00.000Z","balance":0,"equity":0,"margin":0,"freeMargin":0,"marginLevel":0,"openPositionCount":0,"intervalMinimumEquity":0,"intervalMinimumMeasuredAt":"0000-01-01T00:00:00.000Z"}',
  ],
  [
    "ab_9-Z",
    EXTREMES,
    '{"type":"account.metrics","eventId":"228757f3-fae8-5ef9-9c99-83cdde657879","serverId":"5b0c8a0e-9d7f-4c5b-8f8e-1f2f3f4f5f6f","accountNumber":"ab_9-Z","sequence":9007199254740991,"measuredAt":"2026-12-31T23:59:59.1234567890123456Z","balance":-90071992547409.9,"equity":90071992547409.9,"margin":-0.01,"freeMargin":0.1,"marginLevel":-1.5e+300,"openPositionCount":9007199254740991,"intervalMinimumEquity":0.01,"intervalMinimumMeasuredAt":"2026-02-28T00:00:00Z"}',
  ],
];

describe("encodeLiveFrame", () => {
  it.each(RECORDED)("encodes the sample of account %s to the recorded bytes", (accountNumber, sample, bytes) => {
    const frame = encodeLiveFrame({ serverId: SERVER, accountNumber }, sample).toString("utf8");
    expect(frame).toBe(bytes);
    expect(JSON.stringify(AccountMetricsFrame.parse(JSON.parse(frame)))).toBe(frame);
  });
});

it("encodeLiveFrame writes amounts as JSON.stringify does", () => {
  const few = fc.integer({ min: -1_000, max: 1_000 });
  fc.assert(
    fc.property(fc.oneof(few, fc.integer({ min: -1e15, max: 1e15 }), fc.maxSafeInteger()), (equityMinor) => {
      expect(frameWith({ equityMinor }).toString()).toContain(`"equity":${JSON.stringify(equityMinor / 100)},`);
    }),
    { numRuns: 5_000 },
  );
});

/** The frame of `WHOLE` with some values changed. */
function frameWith(values: Partial<Sample["values"]>, minimumMinor = WHOLE.minimum.equityMinor): Buffer {
  const minimum = { ...WHOLE.minimum, equityMinor: minimumMinor };
  const sample = { ...WHOLE, values: { ...WHOLE.values, ...values }, minimum };
  return encodeLiveFrame({ serverId: SERVER, accountNumber: "10000001" }, sample);
}

/** The frame with its fields in the opposite order, which only the slower JSON decoder accepts. */
function reversed(frame: Buffer): Buffer {
  const fields = Object.entries(JSON.parse(frame.toString()) as object);
  return Buffer.from(JSON.stringify(Object.fromEntries(fields.toReversed())));
}

describe("decodeLiveFrame", () => {
  it.each(RECORDED.slice(0, 2))("returns the sample of account %s", (_accountNumber, sample, bytes) => {
    const { values, measuredAt, minimum } = sample;
    const shown = { ...values, freeMarginMinor: values.freeMarginMinor + 0 };
    const content = {
      values: { ...shown, measuredAt, measuredAtMs: Date.parse(measuredAt) },
      minimum: { ...minimum, equityMinor: minimum.equityMinor + 0 },
    };
    expect(decodeLiveFrame(Buffer.from(bytes))).toEqual(content);
    expect(decodeLiveFrame(reversed(Buffer.from(bytes)))).toEqual(content);
  });

  it("returns the encoded values for amounts of up to 1e15 cents, in both field orders", () => {
    const cents = fc.integer({ min: -1e15, max: 1e15 });
    fc.assert(
      fc.property(cents, cents, cents, fc.double({ noNaN: true }), (equityMinor, balanceMinor, minimumMinor, level) => {
        fc.pre(Number.isFinite(level));
        const frame = frameWith({ equityMinor, balanceMinor, marginLevel: level }, minimumMinor);
        const content = decodeLiveFrame(frame);
        expect(content).toMatchObject({
          values: { equityMinor, balanceMinor },
          minimum: { equityMinor: minimumMinor },
        });
        expect(content).toEqual(decodeLiveFrame(reversed(frame)));
      }),
    );
  });

  it("decodes a damaged frame to the same content or failure as the schema does", () => {
    const valid = frameWith({}).toString();
    const content = valid.indexOf('"measuredAt"');
    const character = fc.constantFrom(...'0123456789-+.eTZ"{}[],: aZé\\\u0000'.split(""));
    fc.assert(
      fc.property(
        fc.integer({ min: content + 1, max: valid.length - 1 }),
        fc.nat(2),
        character,
        (at, removed, added) => {
          const damaged = valid.slice(0, at) + added + valid.slice(at + removed);
          const usual = decodeLiveFrame(Buffer.from(damaged));
          // A space after a comma makes the decoder parse the frame as JSON, with the schema.
          const spaced = decodeLiveFrame(Buffer.from(damaged.replaceAll(',"', ', "')));
          // Only reasons are compared: the text of a failure contains the position of the fault.
          expect("fault" in usual ? usual.reason : usual).toEqual("fault" in spaced ? spaced.reason : spaced);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  it("returns a failure for fractions of a cent and for other shapes, and never throws for a large amount", () => {
    const forged = frameWith({ equityMinor: 12_345 }).toString().replace('"equity":123.45', '"equity":123.456');
    expect(decodeLiveFrame(Buffer.from(forged))).toMatchObject({ reason: "not_cents" });
    expect(decodeLiveFrame(Buffer.from("{"))).toMatchObject({ reason: "not_json" });
    expect(decodeLiveFrame(Buffer.from("{}"))).toMatchObject({ reason: "malformed" });
    for (let equityMinor = Number.MAX_SAFE_INTEGER - 200; equityMinor <= Number.MAX_SAFE_INTEGER; equityMinor += 1) {
      expect(() => decodeLiveFrame(frameWith({ equityMinor }))).not.toThrow();
    }
  });
});
