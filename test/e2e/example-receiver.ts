/** Runs the unchanged `docs/examples/webhook-receiver.ts` as a separate process. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync, truncateSync } from "node:fs";
import path from "node:path";

import type { WebhookSecretAnswer } from "@kapi/contracts";
import { freePort } from "@kapi/servers";
import { eventually } from "@kapi/testkit";
import type { z } from "zod";

import type { Demo } from "./outside-client.ts";
import type { ReceivedEvent } from "./webhook-receiver.ts";

/**
 * Fewer bytes than any line with an event has. A line with a cursor can be shorter: then the end of
 * the line before it is cut off too.
 */
const CUT_BYTES = 20;
const PROGRAM = path.resolve(import.meta.dirname, "../../docs/examples/webhook-receiver.ts");

/** The receiver and its endpoint. It can be killed and started again with the same journal. */
export class ExampleReceiver {
  readonly url: string;
  readonly endpointId: string;
  readonly #journal: string;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  #child: ChildProcess | null = null;

  private constructor(url: string, endpointId: string, journal: string, environment: Record<string, string>) {
    this.url = url;
    this.endpointId = endpointId;
    this.#journal = journal;
    this.#environment = { ...process.env, ...environment };
  }

  /**
   * Registers an endpoint for the receiver with `add`, but does not start the receiver. Its journal
   * will be in `folder`.
   */
  static async prepare(
    folder: string,
    { baseUrl, managementKey }: Demo,
    add: (url: string) => Promise<z.infer<typeof WebhookSecretAnswer>>,
  ): Promise<ExampleReceiver> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/`;
    const { endpoint, secret } = await add(url);
    const journal = path.join(folder, "journal.jsonl");
    const environment = { WEBHOOK_SECRET: secret, KAPI_URL: baseUrl, KAPI_KEY: managementKey };
    return new ExampleReceiver(url, endpoint.id, journal, { ...environment, PORT: String(port), JOURNAL: journal });
  }

  /**
   * Starts the receiver, and waits until it listens. The first start also waits until the journal
   * exists: then the receiver knows its position in the feed.
   */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [PROGRAM], { env: this.#environment, stdio: ["ignore", "ignore", "pipe"] });
    this.#child = child;
    let printed = "";
    child.stderr.on("data", (chunk: Buffer) => (printed += chunk.toString()));
    await eventually(() => printed.includes("listening") && existsSync(this.#journal));
  }

  /** Kills the receiver with SIGKILL, so that it cannot clean up. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  /** Cuts off the end of the journal's last line, as a crash while the line is written does. */
  cutLastLine(): void {
    truncateSync(this.#journal, statSync(this.#journal).size - CUT_BYTES);
  }

  /** The kinds of the processed events of an account, in order. */
  typesOf(accountNumber: string): string[] {
    const lines = readFileSync(this.#journal, "utf8").split("\n");
    const events = lines.map(eventOf);
    return events.flatMap((event) => (event?.data.accountNumber === accountNumber ? [event.type] : []));
  }
}

/** The event of a line; undefined if the line has none, or is not complete. */
function eventOf(line: string): ReceivedEvent | undefined {
  try {
    return (JSON.parse(line) as { event?: ReceivedEvent }).event;
  } catch {
    return undefined;
  }
}
