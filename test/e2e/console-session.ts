/** A signed-in client of the console's API, without a browser. */
import { ConsoleSession, CSRF_HEADER } from "@kapi/contracts";
import type { Demo } from "@kapi/local";

const DEADLINE_MS = 20_000;

export interface ConsoleAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Requests to the console's API with the session of one person. */
export class ConsoleClient {
  readonly #base: string;
  #headers: Readonly<Record<string, string>> = {};

  private constructor(demo: Pick<Demo, "consoleUrl">) {
    this.#base = `${demo.consoleUrl}api`;
  }

  /** Signs in as the demo's user. */
  static async signIn(demo: Pick<Demo, "consoleUrl" | "consoleEmail" | "consolePassword">): Promise<ConsoleClient> {
    const visitor = new ConsoleClient(demo);
    const response = await visitor.#fetch("POST", "/session", {
      email: demo.consoleEmail,
      password: demo.consolePassword,
    });
    if (!response.ok) throw new Error(`the sign-in answered ${response.status}`);
    const { csrfToken } = ConsoleSession.parse(await response.json());
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
    visitor.#headers = { cookie, [CSRF_HEADER]: csrfToken };
    return visitor;
  }

  /** The secrets of the session: the cookie's value and the CSRF token. */
  get proofs(): readonly string[] {
    return Object.values(this.#headers).map((value) => value.slice(value.indexOf("=") + 1));
  }

  async ask(method: string, path: string, body?: object): Promise<ConsoleAnswer> {
    const response = await this.#fetch(method, path, body);
    return { status: response.status, body: (await response.json()) as ConsoleAnswer["body"] };
  }

  #fetch(method: string, path: string, body?: object): Promise<Response> {
    return fetch(this.#base + path, {
      method,
      headers: {
        ...this.#headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
  }
}
