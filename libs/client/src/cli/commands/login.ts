import type { Command } from "commander";

import { connectionOf, type GlobalOptions, ProfileStore } from "../connection.ts";
import { address, withGlobalOptions, createKapi } from "../context.ts";
import { UsageError } from "../exit.ts";
import { Output } from "../output.ts";
import type { Connection, Surroundings } from "../surroundings.ts";

interface LoginOptions extends GlobalOptions {
  readonly baseUrl?: string;
  readonly liveUrl?: string;
  readonly keyStdin?: true;
}

/** `kapi.`, and the 16 characters of the key id. */
const SHOWN_KEY_CHARACTERS = "kapi.".length + 16;

/** Adds `kapi login`, `logout` and `status` to the program. */
export function addLogin(program: Command, surroundings: Surroundings): void {
  withGlobalOptions(
    program.command("login").description("Store an address and a key, if a first request with them succeeds"),
  )
    .option("--base-url <url>", "address of the API", address)
    .option("--live-url <url>", "address of the live stream")
    .option("--key-stdin", "read the key from standard input, so that no list of processes shows it")
    .action((options: LoginOptions) => login(surroundings, options));
  withGlobalOptions(
    program
      .command("logout")
      .description("Remove the stored profile: addresses, key, server, and the secret of kapi listen"),
  ).action((options: GlobalOptions) => {
    const isRemoved = new ProfileStore(surroundings).remove(options.profile);
    surroundings.out(isRemoved ? "Removed.\n" : "Nothing was stored.\n");
  });
  withGlobalOptions(
    program.command("status").alias("whoami").description("Show which kapi and key are used, and the credits"),
  ).action((options: GlobalOptions) => status(surroundings, options));
}

async function login(surroundings: Surroundings, options: LoginOptions): Promise<void> {
  const { ask, readLine } = surroundings;
  if (options.keyStdin === true && options.baseUrl === undefined) {
    throw new UsageError("--key-stdin needs --base-url: the key is the only line of standard input.");
  }
  const baseUrl = options.baseUrl ?? (await ask("Address of the API, such as https://api.example.com: "));
  const liveUrl =
    options.liveUrl ?? (options.keyStdin === true ? "" : await ask("Address of the live stream (empty: none): "));
  const key = (options.keyStdin === true ? await readLine() : await ask("Management key: ", { isSecret: true })).trim();
  const profile: Connection = {
    baseUrl,
    key,
    ...(liveUrl === "" ? {} : { liveUrl }),
    ...(options.server === undefined ? {} : { serverId: options.server }),
  };
  const wallet = await createKapi(surroundings, profile).credits.balance();
  const store = new ProfileStore(surroundings);
  const { webhookSecret } = store.read(options.profile) ?? {};
  store.write({ ...profile, ...(webhookSecret === undefined ? {} : { webhookSecret }) }, options.profile);
  const output = new Output(surroundings, options.json === true);
  const { organizationId, availableCredits } = wallet;
  output.print(
    { organizationId, availableCredits },
    () => `Signed in. ${availableCredits} ${availableCredits === 1 ? "credit" : "credits"}. Stored in ${store.file}.\n`,
  );
}

async function status(surroundings: Surroundings, options: GlobalOptions): Promise<void> {
  const { baseUrl, liveUrl = null, serverId = null, key } = await connectionOf(surroundings, options);
  const { organizationId, availableCredits } = await createKapi(surroundings, { key, baseUrl }).credits.balance();
  // The secret part of the key is never shown.
  const shown = {
    baseUrl,
    liveUrl,
    serverId,
    key: key.slice(0, SHOWN_KEY_CHARACTERS),
    organizationId,
    availableCredits,
  };
  const output = new Output(surroundings, options.json === true);
  output.print(shown, () => output.fields(shown));
}
