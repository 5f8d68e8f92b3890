import { randomUUID } from "node:crypto";

import { systemClock } from "@kapi/kernel";
import { expect, it } from "vitest";

import type { ActiveUser, PeopleTransaction } from "../domain/ports.ts";
import { cancelInvitation, type InviteDependencies, invitePerson } from "./invite-people.ts";
import {
  changeRole,
  disablePerson,
  endSessionsOf,
  type PeopleDependencies,
  requireTwoFactor,
  resetTwoFactor,
} from "./manage-people.ts";

const owner = { userId: randomUUID(), organizationId: randomUUID(), twoFactor: true } as ActiveUser;
const by = { actor: { type: "user", id: owner.userId }, address: null } as const;
const change = { owner, userId: randomUUID(), by };
const wanted = { email: "invited@example.com", name: "Invited", role: "owner" } as const;

type Dependencies = PeopleDependencies & InviteDependencies;

const CHANGES: Readonly<Record<string, (dependencies: Dependencies) => Promise<unknown>>> = {
  changeRole: (dependencies) => changeRole(dependencies, change, "finance"),
  disablePerson: (dependencies) => disablePerson(dependencies, change),
  endSessionsOf: (dependencies) => endSessionsOf(dependencies, change),
  resetTwoFactor: (dependencies) => resetTwoFactor(dependencies, change),
  requireTwoFactor: (dependencies) => requireTwoFactor(dependencies, owner, true, by),
  invitePerson: (dependencies) => invitePerson(dependencies, owner, wanted, by),
  cancelInvitation: (dependencies) => cancelInvitation(dependencies, owner, randomUUID(), by),
};

it.each(Object.keys(CHANGES))(
  "%s changes nothing if the person who requests it is no longer an owner",
  async (name) => {
    // The transaction has no method except `lockOwners`, with which the owner is checked. So any
    // other call before this check fails the test.
    const users = { lockOwners: () => Promise.resolve([randomUUID()]) };
    const store = { transaction: (work: (tx: PeopleTransaction) => unknown) => work({ users } as never) };
    const dependencies = { store, clock: systemClock } as unknown as Dependencies;
    await expect(CHANGES[name]?.(dependencies)).rejects.toMatchObject({
      code: "MISSING_PERMISSION",
      message: "You are no longer an owner",
    });
  },
);
