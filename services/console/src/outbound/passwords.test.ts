import { expect, it } from "vitest";

import { PasswordsBusy } from "../domain/ports.ts";
import { createPasswords } from "./passwords.ts";

const PASSWORD = "correct horse battery";

it("only the right password matches an argon2id hash, and no password matches a missing hash", async () => {
  const passwords = await createPasswords();
  const [hash, again] = [await passwords.hash(PASSWORD), await passwords.hash(PASSWORD)];
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(again).not.toBe(hash);
  expect(await passwords.matches(PASSWORD, hash)).toBe(true);
  expect(await passwords.matches(`${PASSWORD}.`, hash)).toBe(false);
  expect(await passwords.matches(PASSWORD, null)).toBe(false);
});

it("password checks above the limit of waiting checks are rejected with PasswordsBusy; earlier checks complete", async () => {
  const passwords = await createPasswords(3);
  const asked = await Promise.allSettled(Array.from({ length: 7 }, () => passwords.matches(PASSWORD, null)));
  const refused = asked.filter((one) => one.status === "rejected");
  // Of 7 checks, two run at once and three wait: a check without a stored hash takes a turn too.
  expect(refused.map((one) => one.reason instanceof PasswordsBusy)).toEqual([true, true]);
});
