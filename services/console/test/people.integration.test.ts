/** Roles, invitations and sessions of the people of an organization. */
import { randomUUID } from "node:crypto";

import {
  AuditAnswer,
  type ConsolePeopleAnswer,
  type ConsoleSessionEntry,
  type InvitedPersonAnswer,
  MAX_ACTIVE_PEOPLE,
  MAX_OPEN_INVITATIONS,
} from "@kapi/contracts";
import { type Database, startPool, statement } from "@kapi/postgres";
import { createLogger, type Started } from "@kapi/runtime";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Browser, type ConsoleHarness, type ConsoleUser, PASSWORD, startConsoleHarness } from "./harness.ts";

let harness: ConsoleHarness;
let database: Started<Database>;
beforeAll(async () => {
  harness = await startConsoleHarness();
  database = await startPool({
    connectionString: harness.environment.postgresUrl,
    schema: "console",
    applicationName: "test",
    logger: createLogger({ service: "test", level: "silent" }),
  });
});
afterAll(async () => {
  await database.stop();
  await harness.stop();
});

const rolesOf = async (browser: Browser): Promise<Record<string, string>> => {
  const { people } = (await browser.ask("GET", "/people")).body as unknown as ConsolePeopleAnswer;
  return Object.fromEntries(people.filter(({ disabledAt }) => disabledAt === null).map(({ id, role }) => [id, role]));
};
const actionsOf = async ({ organizationId }: ConsoleUser): Promise<unknown[]> => {
  const { body } = await harness.client.request("GET", `/internal/audit?organizationId=${organizationId}&limit=100`);
  return AuditAnswer.parse(JSON.parse(body.toString())).entries;
};
const byNumber = (a: number, b: number): number => a - b;
const invite = async (browser: Browser, email: string, role = "read_only"): Promise<string> => {
  const invited = await browser.ask("POST", "/people/invitations", { email, name: "Invited", role });
  expect(invited.status).toBe(201);
  const { token } = invited.body as unknown as InvitedPersonAnswer;
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  return token ?? "";
};
/** Adds active people without a usable password: hashing many passwords would take long. */
const addPeople = async ({ organizationId }: ConsoleUser, count: number): Promise<void> => {
  const insert = statement<Record<string, never>>(
    "test_add_people",
    `insert into users (id, organization_id, organization_name, email, name, role, password_hash, created_at)
     select gen_random_uuid(), $1, 'Test', gen_random_uuid() || '@example.com', 'Person', 'read_only', '', now()
     from generate_series(1, $2)`,
  );
  await database.value.query(insert, [organizationId, count]);
};

describe("an invitation", () => {
  it("works once: the person chooses a name and a password, and gets the role of the invitation", async () => {
    const owner = await harness.person();
    const browser = await harness.signedIn(owner);
    const email = `${randomUUID()}@example.com`;
    const token = await invite(browser, email.toUpperCase());
    const guest = harness.browser();
    expect((await guest.ask("POST", "/invitations/open", { token })).body).toEqual({
      email,
      name: "Invited",
      role: "read_only",
      organization: "Test",
    });
    const body = { token, name: "Chosen name", password: PASSWORD };
    const short = await guest.ask("POST", "/invitations/accept", { ...body, password: "eleven char" });
    expect(short).toMatchObject({ status: 400, body: { issues: [{ path: ["password"] }] } });
    const both = [harness.browser(), harness.browser()];
    const answers = await Promise.all(both.map((one) => one.ask("POST", "/invitations/accept", body)));
    expect(answers.map(({ status }) => status).toSorted(byNumber)).toEqual([200, 404]);
    expect(answers.find(({ status }) => status === 200)?.body).toMatchObject({
      user: { email, name: "Chosen name", role: "read_only" },
      permissions: ["self", "read"],
    });
    expect((await guest.ask("POST", "/invitations/open", { token })).status).toBe(404);
    expect((await harness.browser().signIn(email, PASSWORD)).status).toBe(200);
    const created = (await actionsOf(owner)).find((entry) => JSON.stringify(entry).includes("Chosen name"));
    expect(created).toMatchObject({ action: "user.created", details: { invitedBy: owner.userId, role: "read_only" } });
    expect(JSON.stringify(await actionsOf(owner))).not.toContain(token);
  });

  it("is invalid after it is replaced or cancelled, and other organizations cannot cancel it", async () => {
    const [owner, other] = [await harness.person(), await harness.person()];
    const browser = await harness.signedIn(owner);
    const email = `${randomUUID()}@example.com`;
    const first = await invite(browser, email);
    const second = await invite(browser, email, "operator");
    const open = async (token: string): Promise<number> =>
      (await harness.browser().ask("POST", "/invitations/open", { token })).status;
    expect([await open(first), await open(second)]).toEqual([404, 200]);
    const { invitations } = (await browser.ask("GET", "/people")).body as unknown as ConsolePeopleAnswer;
    expect(invitations).toMatchObject([{ email, role: "operator" }]);
    const path = `/people/invitations/${invitations[0]?.id ?? ""}`;
    expect((await (await harness.signedIn(other)).ask("DELETE", path)).status).toBe(404);
    expect((await browser.ask("DELETE", path)).status).toBe(204);
    expect(await open(second)).toBe(404);
  });

  it("can be replaced even at the limit of open invitations; an invitation of a further e-mail address is rejected", async () => {
    const owner = await harness.person();
    const browser = await harness.signedIn(owner);
    const emails = Array.from({ length: MAX_OPEN_INVITATIONS }, () => `${randomUUID()}@example.com`);
    for (const email of emails) await invite(browser, email);
    const body = { email: `${randomUUID()}@example.com`, name: "One more", role: "operator" };
    expect(await browser.ask("POST", "/people/invitations", body)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["email"] }] },
    });
    await invite(browser, emails[0] ?? "", "operator");
    const { invitations } = (await browser.ask("GET", "/people")).body as unknown as ConsolePeopleAnswer;
    expect(invitations).toHaveLength(MAX_OPEN_INVITATIONS);
  });

  it("is accepted only up to the limit of active people, also if two people accept at the same time", async () => {
    const owner = await harness.person();
    const browser = await harness.signedIn(owner);
    const emails = [1, 2].map(() => `${randomUUID()}@example.com`);
    const bodies: object[] = [];
    for (const email of emails) bodies.push({ token: await invite(browser, email), name: "Guest", password: PASSWORD });
    // One place is left.
    await addPeople(owner, MAX_ACTIVE_PEOPLE - 2);
    const accept = async (body: object): Promise<number> =>
      (await harness.browser().ask("POST", "/invitations/accept", body)).status;
    const statuses = await Promise.all(bodies.map(accept));
    expect(statuses.toSorted(byNumber)).toEqual([200, 400]);
    // The rejected invitation stays open.
    const [rejected = {}, joined] = statuses[0] === 400 ? [bodies[0], emails[1]] : [bodies[1], emails[0]];
    expect(await harness.browser().ask("POST", "/invitations/accept", rejected)).toMatchObject({
      status: 400,
      body: {
        issues: [{ path: ["email"], message: "exceeds the limit of 500 active people: an owner must disable some" }],
      },
    });
    const { people } = (await browser.ask("GET", "/people")).body as unknown as ConsolePeopleAnswer;
    const { id = "" } = people.find(({ email }) => email === joined) ?? {};
    expect((await browser.ask("POST", `/people/${id}/disable`)).status).toBe(204);
    expect(await accept(rejected)).toBe(200);
  });

  it("is refused for the e-mail address of any user, even of a user of another organization", async () => {
    const [owner, other] = [await harness.person(), await harness.person()];
    const browser = await harness.signedIn(owner);
    const body = { email: other.email, name: "Taken", role: "owner" };
    expect(await browser.ask("POST", "/people/invitations", body)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["email"] }] },
    });
  });
});

describe("a role", () => {
  it("that an owner changes applies from the next request of the person; the change ends no session", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "read_only");
    const [browser, theirs] = [await harness.signedIn(owner), await harness.signedIn(colleague)];
    const change = { lowBalanceThreshold: 5 };
    expect((await theirs.ask("PUT", "/credits/threshold", change)).status).toBe(403);
    const path = `/people/${colleague.userId}/role`;
    expect((await browser.ask("PUT", path, { role: "finance" })).status).toBe(204);
    expect((await theirs.ask("PUT", "/credits/threshold", change)).status).toBe(200);
    expect((await theirs.ask("GET", "/audit")).status).toBe(403);
    expect(await actionsOf(owner)).toContainEqual(
      expect.objectContaining({
        action: "user.role_changed",
        actor: { type: "user", id: owner.userId, name: owner.email },
        subject: { type: "user", id: colleague.userId },
        details: { from: "read_only", to: "finance" },
      }),
    );
  });

  it("cannot be changed by the person, or by an owner of another organization; neither may disable the person or reset the second factor", async () => {
    const [owner, other] = [await harness.person(), await harness.person()];
    const colleague = await harness.colleague(owner, "owner");
    const browser = await harness.signedIn(owner);
    const own = await browser.ask("PUT", `/people/${owner.userId}/role`, { role: "finance" });
    expect(own).toMatchObject({ status: 400, body: { issues: [{ path: ["role"] }] } });
    for (const action of ["disable", "reset-two-factor"])
      expect((await browser.ask("POST", `/people/${owner.userId}/${action}`)).status).toBe(400);
    const strange = await harness.signedIn(other);
    expect((await strange.ask("PUT", `/people/${colleague.userId}/role`, { role: "finance" })).status).toBe(404);
    for (const action of ["disable", "end-sessions", "reset-two-factor"])
      expect((await strange.ask("POST", `/people/${colleague.userId}/${action}`)).status).toBe(404);
    expect((await browser.ask("GET", "/session")).status).toBe(200);
  });

  it("of owner stays with one of two owners who demote or disable each other at once", async () => {
    for (const how of ["role", "disable"] as const) {
      for (let round = 0; round < 8; round += 1) {
        const one = await harness.person();
        const other = await harness.colleague(one, "owner");
        const [first, second] = [await harness.signedIn(one), await harness.signedIn(other)];
        const demote = async (browser: Browser, { userId }: ConsoleUser): Promise<number> => {
          const answer =
            how === "role"
              ? await browser.ask("PUT", `/people/${userId}/role`, { role: "read_only" })
              : await browser.ask("POST", `/people/${userId}/disable`);
          return answer.status;
        };
        const statuses = await Promise.all([demote(first, other), demote(second, one)]);
        expect(statuses.filter((status) => status === 204)).toHaveLength(1);
        const survivor = statuses[0] === 204 ? first : second;
        expect(Object.values(await rolesOf(survivor)).filter((role) => role === "owner")).toHaveLength(1);
      }
    }
  });

  it("can be changed by the operator too, but the last owner stays an owner", async () => {
    const owner = await harness.person();
    const set = async (userId: string, role: string): Promise<number> =>
      (await harness.client.request("PUT", `/internal/users/${userId}/role`, { role })).status;
    expect(await set(owner.userId, "finance")).toBe(400);
    const colleague = await harness.colleague(owner, "finance");
    expect(await set(colleague.userId, "owner")).toBe(200);
    expect(await set(owner.userId, "finance")).toBe(200);
    expect(await set(randomUUID(), "finance")).toBe(404);
    expect((await (await harness.signedIn(owner)).ask("GET", "/session")).body).toMatchObject({
      user: { role: "finance" },
    });
  });

  it("is changed by the operator also in an organization whose only owner was disabled", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "read_only");
    expect((await harness.client.request("DELETE", `/internal/users/${owner.userId}`)).status).toBe(200);
    const path = `/internal/users/${colleague.userId}/role`;
    for (const role of ["finance", "owner"])
      expect((await harness.client.request("PUT", path, { role })).status).toBe(200);
    expect(await rolesOf(await harness.signedIn(colleague))).toEqual({ [colleague.userId]: "owner" });
  });
});

describe("a person", () => {
  it("who is disabled is signed out, and cannot sign in", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "operator");
    const [browser, theirs] = [await harness.signedIn(owner), await harness.signedIn(colleague)];
    expect((await browser.ask("POST", `/people/${colleague.userId}/disable`)).status).toBe(204);
    expect((await theirs.ask("GET", "/session")).status).toBe(401);
    expect((await theirs.signIn(colleague.email, PASSWORD)).status).toBe(401);
    expect((await browser.ask("POST", `/people/${colleague.userId}/disable`)).status).toBe(404);
  });

  it("sees their own sessions, and can end one session, or all sessions except the current one", async () => {
    const owner = await harness.person();
    const [here, there, elsewhere] = [
      harness.browser("198.51.100.20"),
      harness.browser("198.51.100.21"),
      harness.browser(),
    ];
    for (const browser of [here, there, elsewhere]) await browser.signIn(owner.email, PASSWORD);
    const list = async (): Promise<ConsoleSessionEntry[]> =>
      (await here.ask("GET", "/sessions")).body["sessions"] as ConsoleSessionEntry[];
    const sessions = await list();
    expect(sessions).toHaveLength(3);
    expect(sessions[0]).toMatchObject({ current: true, address: "198.51.100.20", userAgent: "node" });
    const sessionThere = sessions.find(({ address }) => address === "198.51.100.21");
    const stranger = await harness.signedIn(await harness.person());
    expect((await stranger.ask("DELETE", `/sessions/${sessionThere?.id ?? ""}`)).status).toBe(404);
    expect((await here.ask("DELETE", `/sessions/${sessionThere?.id ?? ""}`)).status).toBe(204);
    expect((await there.ask("GET", "/session")).status).toBe(401);
    expect(await list()).toHaveLength(2);
    expect((await here.ask("POST", "/sessions/end-others")).status).toBe(200);
    expect((await elsewhere.ask("GET", "/session")).status).toBe(401);
    expect(await list()).toMatchObject([{ current: true }]);
  });

  it("is signed out if an owner ends the sessions of this person", async () => {
    const owner = await harness.person();
    const colleague = await harness.colleague(owner, "operator");
    const [browser, theirs] = [await harness.signedIn(owner), await harness.signedIn(colleague)];
    expect((await browser.ask("POST", `/people/${colleague.userId}/end-sessions`)).status).toBe(204);
    expect((await theirs.ask("GET", "/session")).status).toBe(401);
    expect((await theirs.signIn(colleague.email, PASSWORD)).status).toBe(200);
  });
});
