/** People of an organization who use the console. */
import type { Demo } from "@kapi/local";
import type { Browser } from "playwright-core";
import { expect } from "vitest";

import type { RunningSystem } from "../e2e/system.ts";
import { type Account, ConsoleUser, type Cookies } from "./console-user.ts";

const PASSWORD = "correct horse battery";

export type Role = "owner" | "operator" | "finance" | "read_only";

/** The e-mail and password of the owner that every demo organization has. */
export function ownerOf({ consoleEmail, consolePassword }: Demo): Account {
  return { email: consoleEmail, password: consolePassword };
}

/** The cookies of the signed-in owner, for the users of a test file. */
export async function ownerSession(browser: Browser, demo: Demo): Promise<Cookies> {
  const owner = await ConsoleUser.at(browser, demo.consoleUrl);
  await owner.open("/");
  await owner.signIn(ownerOf(demo));
  await owner.button("Sign out").waitFor();
  const session = await owner.cookies();
  await owner.leave();
  return session;
}

/** Opens the page of an account as a person with the role: the owner, or a new person. */
export async function openAccountAs(
  user: ConsoleUser,
  system: RunningSystem,
  accountNumber: string,
  role: Role,
): Promise<void> {
  await user.open(`/accounts/${system.demo.serverId}/${accountNumber}`);
  await user.signIn(role === "owner" ? ownerOf(system.demo) : await createPerson(system, accountNumber, role));
  await user.heading(`Account ${accountNumber}`).waitFor();
  await user.settled();
  user.complaints.splice(0);
}

async function createPerson({ demo, stack }: RunningSystem, accountNumber: string, role: Role): Promise<Account> {
  const person = { email: `${role}-${accountNumber}@example.com`, password: PASSWORD };
  const response = await fetch(`${stack.url("console")}/internal/organizations/${demo.organizationId}/users`, {
    method: "POST",
    headers: { "x-service-token": stack.secrets.serviceTokens.operator, "content-type": "application/json" },
    body: JSON.stringify({ ...person, name: role, role }),
  });
  expect(response.status).toBe(201);
  return person;
}
