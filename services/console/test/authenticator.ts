import { totpCode, totpStep } from "../src/domain/totp.ts";

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * The code that an authenticator app shows for a secret in base32, `steps` time steps (of 30 s)
 * after the present one.
 */
export function appCode(secret: string, steps = 0): string {
  const bits = Array.from(secret, (character) => BASE32.indexOf(character).toString(2).padStart(5, "0")).join("");
  const bytes = bits.match(/.{8}/g) ?? [];
  return totpCode(Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2))), totpStep(Date.now()) + steps);
}
