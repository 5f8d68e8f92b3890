import { describe, expect, it } from "vitest";

import { acceptTotpCode, toBase32, totpCode, totpStep, totpUri } from "./totp.ts";

/** The secret of the test vectors of RFC 6238, appendix B. */
const SECRET = Buffer.from("12345678901234567890");

describe("a code of an authenticator app", () => {
  it("is the last 6 digits of the code in RFC 6238", () => {
    const vectors = [
      [59, "94287082"],
      [1_111_111_109, "07081804"],
      [1_111_111_111, "14050471"],
      [1_234_567_890, "89005924"],
      [2_000_000_000, "69279037"],
      [20_000_000_000, "65353130"],
    ] as const;
    for (const [seconds, code] of vectors) expect(totpCode(SECRET, totpStep(seconds * 1_000))).toBe(code.slice(-6));
  });

  it("is accepted one step early and one step late, and is rejected two steps early or late", () => {
    const nowMs = 1_700_000_000_000;
    const now = totpStep(nowMs);
    const accepted = [-2, -1, 0, 1, 2].map((by) => acceptTotpCode(SECRET, totpCode(SECRET, now + by), nowMs, 0));
    expect(accepted).toEqual([null, now - 1, now, now + 1, null]);
  });

  it("is accepted once: afterwards, the same code and earlier codes are rejected", () => {
    const nowMs = 1_700_000_000_000;
    const now = totpStep(nowMs);
    const step = acceptTotpCode(SECRET, totpCode(SECRET, now), nowMs, 0);
    expect(step).toBe(now);
    for (const by of [-1, 0]) expect(acceptTotpCode(SECRET, totpCode(SECRET, now + by), nowMs, now)).toBeNull();
    expect(acceptTotpCode(SECRET, totpCode(SECRET, now + 1), nowMs, now)).toBe(now + 1);
  });

  it("is rejected if a character is missing or wrong", () => {
    for (const code of ["", "0", "28708", "000000", "A87082"])
      expect(acceptTotpCode(SECRET, code, 59_000, 0)).toBeNull();
  });
});

describe("the secret of an authenticator app", () => {
  it("is shown in base32 as in RFC 4648", () => {
    const vectors = {
      "": "",
      f: "MY",
      fo: "MZXQ",
      foo: "MZXW6",
      foob: "MZXW6YQ",
      fooba: "MZXW6YTB",
      foobar: "MZXW6YTBOI",
    };
    for (const [text, encoded] of Object.entries(vectors)) expect(toBase32(Buffer.from(text))).toBe(encoded);
  });

  it("is in the otpauth URI of its QR code, which escapes special characters of names", () => {
    const uri = totpUri("MZXW6YQ", "kapi A&B", "one+two@example.com");
    expect(uri).toBe(
      "otpauth://totp/kapi%20A%26B:one%2Btwo%40example.com?secret=MZXW6YQ&issuer=kapi%20A%26B&algorithm=SHA1&digits=6&period=30",
    );
  });
});
