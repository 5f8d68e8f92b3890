import { randomBytes } from "node:crypto";

import { type Keyring, sealPassword, UnknownKey } from "@kapi/kernel";
import { expect, it } from "vitest";

import type { ActiveUser } from "../domain/ports.ts";
import type { SecondFactorDependencies } from "./check-second-factor.ts";
import { confirmTwoFactor } from "./manage-second-factor.ts";

const newKeyring = (keyId: string): Keyring => ({ currentKeyId: keyId, keys: new Map([[keyId, randomBytes(32)]]) });

it("the code that turns on two-factor authentication counts as no failure if kapi cannot decrypt the secret", async () => {
  const user = { userId: "a user", email: "person@example.com" } as ActiveUser;
  const secret = sealPassword(newKeyring("former"), user.userId, "a secret");
  let failures = 0;
  const context = {
    sealingKeys: newKeyring("current"),
    secondFactors: { read: () => Promise.resolve({ secret, isConfirmed: false, lastStep: 0 }) },
    signInAttempts: {
      begin: () => {
        failures += 1;
        return Promise.resolve(0);
      },
      takeBack: () => {
        failures -= 1;
        return Promise.resolve();
      },
    },
  } as unknown as SecondFactorDependencies;
  await expect(confirmTwoFactor(context, user, "123456", "192.0.2.1")).rejects.toThrow(UnknownKey);
  expect(failures).toBe(0);
});
