/** Sign-in, sessions, and what answers must not reveal. */
import { createHash, randomUUID } from "node:crypto";

import { ConsoleSession } from "@kapi/contracts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { signInEmailKey } from "../src/outbound/redis/sign-in-attempts.ts";
import { type Answer, type ConsoleHarness, PASSWORD, startConsoleHarness } from "./harness.ts";

const NEW_PASSWORD = "staple battery horse";
const WRONG = { error: "E-mail or password is wrong" };
const SIGN_IN = { error: "Sign in" };

let harness: ConsoleHarness;
beforeAll(async () => {
  harness = await startConsoleHarness();
});
afterAll(() => harness.stop());

/** An answer without the parts that differ between two equal requests. */
function visiblePart({ status, headers, text }: Answer): object {
  const differing = new Set(["x-request-id", "date", "keep-alive", "retry-after", "content-length"]);
  const kept = [...headers].filter(([name]) => !differing.has(name));
  return { status, headers: Object.fromEntries(kept), text: text.replace(/"requestId":"[^"]*"/, "") };
}

/**
 * Stores 100 failed sign-ins under an e-mail address. The time of the last failure is ten minutes
 * ahead, so that the wait stays above a minute during a test.
 */
async function failNow(email: string): Promise<void> {
  const hash = createHash("sha256").update(email).digest("hex");
  const ahead = Date.now() + 600_000;
  await harness.redis.commands.hset(signInEmailKey(hash), "failures", 100, "at", ahead);
}

describe("a session", () => {
  it("begins with the right password, in any letter case of the e-mail address, and ends with the sign-out", async () => {
    const person = await harness.person({ name: "<img src=x onerror=alert(1)>" });
    const browser = harness.browser();
    const answer = await browser.signIn(person.email.toUpperCase(), PASSWORD);
    expect(answer.status).toBe(200);
    expect(ConsoleSession.parse(answer.body)).toMatchObject({
      user: { id: person.userId, email: person.email, name: "<img src=x onerror=alert(1)>" },
      organization: { id: person.organizationId, name: "Test" },
      apiUrl: "http://127.0.0.1:8080",
    });
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(
      /^__Host-kapi_session=[A-Za-z0-9_-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect((await browser.ask("GET", "/session")).body).toEqual(answer.body);
    const { cookie: former } = browser;
    expect((await browser.ask("DELETE", "/session")).status).toBe(204);
    expect(browser.cookie).toBeNull();
    browser.cookie = former;
    expect(await browser.ask("GET", "/session")).toMatchObject({ status: 401, body: SIGN_IN });
  });

  it("is not taken from a cookie that a page of another host could have set", async () => {
    const person = await harness.person();
    const browser = harness.browser();
    await browser.signIn(person.email, PASSWORD);
    const { cookie } = browser;
    browser.cookie = null;
    const plain = { cookie: `kapi_session=${cookie}` };
    expect((await browser.ask("GET", "/session", undefined, plain)).status).toBe(401);
  });

  it("has a new id and a new CSRF token after every sign-in; the earlier session ends; the browser cannot choose the id", async () => {
    const person = await harness.person();
    const browser = harness.browser();
    browser.cookie = "A".repeat(43);
    await browser.signIn(person.email, PASSWORD);
    const { cookie: first, csrfToken: firstToken } = browser;
    expect(first).not.toBe("A".repeat(43));
    await browser.signIn(person.email, PASSWORD);
    expect(browser.cookie).not.toBe(first);
    expect(browser.csrfToken).not.toBe(firstToken);
    const old = harness.browser();
    old.cookie = first;
    expect((await old.ask("GET", "/session")).status).toBe(401);
    expect((await browser.ask("GET", "/session")).status).toBe(200);
  });

  it("is stored under its hash: Redis has neither the id nor the password", async () => {
    const person = await harness.person();
    const browser = await harness.signedIn(person);
    const { commands } = harness.redis;
    const keys = await commands.keys("console:*");
    expect(keys.length).toBeGreaterThan(0);
    const values = {
      hash: (key: string) => commands.hgetall(key),
      zset: (key: string) => commands.zrange(key, "0", "-1"),
      string: (key: string) => commands.get(key),
    };
    const everything = await Promise.all(
      keys.map(async (key) => [key, await values[(await commands.type(key)) as keyof typeof values](key)]),
    );
    expect(JSON.stringify(everything)).not.toContain(browser.cookie);
    expect(JSON.stringify(everything)).not.toContain(PASSWORD);
  });

  it("ends in other browsers when the password is changed; in the browser that changed the password, it gets a new id", async () => {
    const person = await harness.person();
    const [here, elsewhere] = [await harness.signedIn(person), await harness.signedIn(person)];
    const { cookie: former } = here;
    const body = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
    expect((await here.ask("PUT", "/session/password", body)).status).toBe(200);
    expect(here.cookie).not.toBe(former);
    expect((await here.ask("GET", "/session")).status).toBe(200);
    expect((await elsewhere.ask("GET", "/session")).status).toBe(401);
    elsewhere.cookie = former;
    expect((await elsewhere.ask("GET", "/session")).status).toBe(401);
    expect((await harness.browser().signIn(person.email, PASSWORD)).status).toBe(401);
    expect((await harness.browser().signIn(person.email, NEW_PASSWORD)).status).toBe(200);
  });

  it("is not enough to change the password: the current password is needed; a short new password is rejected", async () => {
    const browser = await harness.signedIn(await harness.person());
    const wrong = { currentPassword: "not my password", newPassword: NEW_PASSWORD };
    expect(await browser.ask("PUT", "/session/password", wrong)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["currentPassword"] }] },
    });
    const short = { currentPassword: PASSWORD, newPassword: "eleven char" };
    expect(await browser.ask("PUT", "/session/password", short)).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["newPassword"] }] },
    });
  });

  it("ends when the operator disables the user or gives them another password", async () => {
    const person = await harness.person();
    const browser = await harness.signedIn(person);
    const base = `/internal/users/${person.userId}`;
    const reset = await harness.client.request("PUT", `${base}/password`);
    const { password } = JSON.parse(reset.body.toString()) as { password: string };
    expect((await browser.ask("GET", "/session")).status).toBe(401);
    expect((await browser.signIn(person.email, password)).status).toBe(200);
    expect((await harness.client.request("DELETE", base)).status).toBe(200);
    expect((await browser.ask("GET", "/session")).status).toBe(401);
    expect(await browser.signIn(person.email, password)).toMatchObject({ status: 401, body: WRONG });
  });
});

describe("signing in", () => {
  it("gives the same answer for an unknown user, a wrong password and a disabled user", async () => {
    const [person, disabled] = [await harness.person(), await harness.person()];
    await harness.client.request("DELETE", `/internal/users/${disabled.userId}`);
    const wrong = await harness.browser().signIn(person.email, "not the password");
    const unknown = await harness.browser().signIn("nobody@example.com", "not the password");
    const ended = await harness.browser().signIn(disabled.email, PASSWORD);
    expect(wrong).toMatchObject({ status: 401, body: WRONG });
    expect(visiblePart(unknown)).toEqual(visiblePart(wrong));
    expect(visiblePart(ended)).toEqual(visiblePart(wrong));
  });

  it("must wait after five wrong passwords, even with the right password; the answers for known and unknown users are the same", async () => {
    const person = await harness.person();
    const refused: object[] = [];
    for (const email of [person.email, `${randomUUID()}@example.com`]) {
      const statuses: number[] = [];
      for (let attempt = 0; attempt < 5; attempt += 1) {
        statuses.push((await harness.browser().signIn(email, "wrong password")).status);
      }
      // Makes the wait long: a short wait could be over on a slow machine.
      await failNow(email);
      for (let attempt = 0; attempt < 5; attempt += 1) {
        const answer = await harness.browser().signIn(email, "wrong password");
        statuses.push(answer.status);
        refused.push(visiblePart(answer));
      }
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429, 429, 429]);
    }
    for (const answer of refused) expect(answer).toEqual(refused[0]);
    const right = await harness.browser().signIn(person.email, PASSWORD);
    expect(right.status).toBe(429);
    expect(Number(right.headers.get("retry-after"))).toBeGreaterThan(60);
  });

  it("with thirty wrong passwords at the same time is limited to five attempts", async () => {
    const { email } = await harness.person();
    const attempts = Array.from({ length: 30 }, () => harness.browser().signIn(email, "wrong password"));
    const statuses = (await Promise.all(attempts)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(25);
  });

  it("must wait after 20 failures from one network address, whatever the e-mail addresses and X-Forwarded-For; other network addresses need not wait", async () => {
    const [person, address] = [await harness.person(), "198.51.100.7"];
    for (let attempt = 0; attempt < 20; attempt += 1) {
      await harness.browser(`203.0.113.${attempt}, ${address}`).signIn(`${randomUUID()}@example.com`, "wrong password");
    }
    expect((await harness.browser(address).signIn(person.email, PASSWORD)).status).toBe(429);
    expect((await harness.browser().signIn(person.email, PASSWORD)).status).toBe(200);
  });

  it("rejects an invalid sign-in and names the invalid fields; rejects requests from another site", async () => {
    const browser = harness.browser();
    expect(await browser.ask("POST", "/session", { email: "", password: 5 })).toMatchObject({
      status: 400,
      body: { issues: [{ path: ["email"] }, { path: ["password"] }] },
    });
    const person = await harness.person();
    const body = { email: person.email, password: PASSWORD };
    for (const headers of [
      { origin: "https://elsewhere.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      expect((await browser.ask("POST", "/session", body, headers as Record<string, string>)).status).toBe(403);
    }
    expect(
      (await browser.ask("POST", "/session", body, { origin: harness.url, "sec-fetch-site": "same-origin" })).status,
    ).toBe(200);
  });
});

describe("a request that changes data", () => {
  it("needs the CSRF token of its own session, and must not come from another site", async () => {
    const [browser, other] = [
      await harness.signedIn(await harness.person()),
      await harness.signedIn(await harness.person()),
    ];
    const change = { lowBalanceThreshold: 5 };
    const own = browser.csrfToken;
    for (const token of [null, other.csrfToken, "", `${own}x`]) {
      browser.csrfToken = token;
      expect((await browser.ask("PUT", "/credits/threshold", change)).status).toBe(403);
      expect((await browser.ask("DELETE", "/session")).status).toBe(403);
    }
    browser.csrfToken = own;
    const elsewhere = { origin: "https://elsewhere.example" };
    expect((await browser.ask("PUT", "/credits/threshold", change, elsewhere)).status).toBe(403);
    expect((await browser.ask("PUT", "/credits/threshold", change, { origin: harness.url })).status).toBe(200);
  });

  it("without a session is 401, also if its body is invalid", async () => {
    const answer = await harness.browser().ask("PUT", "/credits/threshold", { lowBalanceThreshold: "much" });
    expect(answer).toMatchObject({ status: 401, body: SIGN_IN });
  });
});

describe("the console's listener", () => {
  const HEADERS = {
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
  };

  it("has no internal routes, even with the operator's token, and accepts no management key", async () => {
    const token = { "x-service-token": harness.secrets.serviceTokens.operator };
    const browser = harness.browser();
    for (const path of ["/internal/organizations", "/readyz", "/console/../internal/organizations"]) {
      expect((await browser.open("GET", path, undefined, token)).status).toBe(404);
    }
    expect((await browser.open("POST", "/internal/organizations", { name: "x", credits: 1 }, token)).status).toBe(404);
    const { organizationId } = await harness.person();
    const body = { scopes: ["credits:read"] };
    const made = await harness.client.request("POST", `/internal/organizations/${organizationId}/keys`, body);
    const { managementKey } = JSON.parse(made.body.toString()) as { managementKey: string };
    const key = { authorization: `Management ${managementKey}`, ...token };
    expect(await browser.ask("GET", "/credits", undefined, key)).toMatchObject({ status: 401, body: SIGN_IN });
  });

  it("sends strict headers with every answer, and lets caches store only files with a hash in their name", async () => {
    const browser = await harness.signedIn(await harness.person());
    const paths = [
      "/console/",
      "/console/api/session",
      "/console/api/nothing",
      "/livez",
      "/console/assets/index-0a1b2c.js",
    ];
    for (const path of paths) {
      const { headers } = await browser.open("GET", path);
      expect(Object.fromEntries([...headers].filter(([name]) => name in HEADERS))).toEqual(HEADERS);
      const isHashed = path.includes("/assets/");
      expect(headers.get("cache-control")).toBe(isHashed ? "public, max-age=31536000, immutable" : "no-store");
    }
  });

  it("sends files compressed with the best method that the browser accepts; each encoding of a file has an ETag of its own", async () => {
    const browser = harness.browser();
    const script = "/console/assets/index-0a1b2c.js";
    const etags = [];
    for (const [accepted, encoding] of [
      ["gzip, deflate, br", "br"],
      ["gzip, br;q=0", "gzip"],
      ["identity", null],
    ] as const) {
      const { status, headers } = await browser.open("GET", script, undefined, { "accept-encoding": accepted });
      expect([status, headers.get("content-encoding"), headers.get("vary")]).toEqual([
        200,
        encoding,
        "accept-encoding",
      ]);
      const etag = headers.get("etag") ?? "";
      etags.push(etag);
      // A proxy may make the tag weak.
      for (const tag of [etag, `W/${etag}`]) {
        const again = { "accept-encoding": accepted, "if-none-match": tag };
        expect((await browser.open("GET", script, undefined, again)).status).toBe(304);
      }
    }
    expect(new Set(etags).size).toBe(3);
  });

  it("returns the page for every path of the page, even with a dot in the path; returns 404 for unknown files and API routes", async () => {
    const browser = harness.browser();
    const pages = [
      "/console/",
      "/console/keys",
      "/console/servers/1/accounts",
      "/console/risk-templates/1/std.v2",
      "/console/risk-templates/1/x.js",
      // No path reaches a file outside the folder of the page.
      "/console/..%2findex.html",
    ];
    for (const path of pages) {
      const page = await browser.open("GET", path);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    }
    for (const path of ["/", "/console"]) {
      expect((await browser.open("GET", path)).headers.get("location")).toBe("/console/");
    }
    const outside = [
      "/console/api",
      "/console/api/nothing",
      "/console/assets/index-of-an-earlier-release.js",
      "/console/assets/std.v2",
      "/console/%2e%2e/x.ts",
    ];
    for (const path of outside) expect((await browser.open("GET", path)).status).toBe(404);
  });
});
