/** Codes of authenticator apps: RFC 6238 with HMAC-SHA-1, 6 digits and 30 s. */
import { createHmac } from "node:crypto";

/** Length of a time step in seconds. Each step has its own code. */
export const TOTP_STEP_S = 30;
const DIGITS = 6;
/** Number of earlier and of later steps whose codes are accepted: clocks of phones differ. */
const TOLERATED_STEPS = 1;
const MS_PER_SECOND = 1_000;
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BITS_PER_CHARACTER = 5;
const BITS_PER_BYTE = 8;
/** RFC 4226, section 5.1: the counter has 8 bytes. */
const COUNTER_BYTES = 8;
/** RFC 4226, section 5.3: the lowest 4 bits of the last byte are the offset of 4 bytes. */
const OFFSET_MASK = 0x0f;
/** The lowest 31 bits of these 4 bytes give the code. */
const SIGN_MASK = 0x7f_ff_ff_ff;

/** The code of a time step. */
export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(COUNTER_BYTES);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & OFFSET_MASK;
  const number = (mac.readUInt32BE(offset) & SIGN_MASK) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, "0");
}

/**
 * The time step of a valid code; null for a wrong code, and for any code of `lastStep` or an
 * earlier step.
 */
export function acceptTotpCode(secret: Buffer, code: string, nowMs: number, lastStep: number): number | null {
  const now = totpStep(nowMs);
  for (let step = now - TOLERATED_STEPS; step <= now + TOLERATED_STEPS; step += 1) {
    if (step > lastStep && totpCode(secret, step) === code) return step;
  }
  return null;
}

/** The time step of a time. */
export function totpStep(nowMs: number): number {
  return Math.floor(nowMs / MS_PER_SECOND / TOTP_STEP_S);
}

/** A secret as authenticator apps read it (RFC 4648), without padding. */
export function toBase32(bytes: Buffer): string {
  let bits = "";
  for (const byte of bytes) bits += byte.toString(2).padStart(BITS_PER_BYTE, "0");
  const groups = bits.match(new RegExp(`.{1,${BITS_PER_CHARACTER}}`, "g")) ?? [];
  return groups.map((group) => BASE32.charAt(Number.parseInt(group.padEnd(BITS_PER_CHARACTER, "0"), 2))).join("");
}

/** The otpauth URI that the QR code of a secret contains. Apps show `issuer` and `account`. */
export function totpUri(secret: string, issuer: string, account: string): string {
  const label = `${encodeURIComponent(issuer)}:${encodeURIComponent(account)}`;
  const query = new URLSearchParams({ secret, issuer, algorithm: "SHA1", digits: String(DIGITS), period: "30" });
  return `otpauth://totp/${label}?${query.toString().replaceAll("+", "%20")}`;
}
