import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";

const SALT_BYTES = 16;
const HASH_BYTES = 32;
/**
 * The cost parameter N of scrypt: a hash takes about 2 ms. N is low, because a creation has two
 * passwords, and a bulk of 100 accounts must not occupy Node's thread pool for seconds. Generated
 * passwords have 20 random characters, which cannot be guessed even with a low N.
 */
const SCRYPT_COST = 1_024;

/**
 * Returns the salted hash of a password, `salt.hash` in base64url. Passwords are stored only in
 * this form.
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  return `${salt.toString("base64url")}.${(await derive(password, salt)).toString("base64url")}`;
}

/** Whether `stored` is the hash of `password`. */
export async function verifyPassword(password: string, stored: string): Promise<boolean> {
  const [salt = "", hash = ""] = stored.split(".");
  const expected = Buffer.from(hash, "base64url");
  if (expected.length !== HASH_BYTES) return false;
  return timingSafeEqual(await derive(password, Buffer.from(salt, "base64url")), expected);
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, { N: SCRYPT_COST }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });
}
