import { expect, it } from "vitest";

import type { ActiveUser } from "../domain/ports.ts";
import { requireFactors } from "./change-password.ts";
import type { SecondFactorDependencies } from "./check-second-factor.ts";

it("if a person with a second factor sends no code, the error says that a code is required", async () => {
  const user = { email: "person@example.com", twoFactor: true } as ActiveUser;
  const context = {
    signInAttempts: { begin: () => Promise.resolve(0), takeBack: () => Promise.resolve() },
    users: { byEmail: () => Promise.resolve(user) },
    passwords: { matches: () => Promise.resolve(true) },
  } as unknown as SecondFactorDependencies;
  const checked = requireFactors(context, user, { currentPassword: "the password" }, "192.0.2.1");
  await expect(checked).rejects.toMatchObject({
    issues: [{ path: ["code"], message: "is required: enter a code of your authenticator app, or a recovery code" }],
  });
});
