import { existsSync } from "node:fs";
import http from "node:http";
import { homedir } from "node:os";
import path from "node:path";

const PING_TIMEOUT_MS = 2_000;

/**
 * Whether a Docker engine answers at `DOCKER_HOST`. If `DOCKER_HOST` is not set: at one of the
 * usual sockets. False if `DOCKER_HOST` is no URL.
 */
export async function dockerAnswers(env: Readonly<Record<string, string | undefined>>): Promise<boolean> {
  for (const address of engineAddresses(env)) {
    if (await ping(address)) return true;
  }
  return false;
}

type EngineAddress = { readonly socketPath: string } | { readonly host: string; readonly port: number };

function engineAddresses(env: Readonly<Record<string, string | undefined>>): EngineAddress[] {
  const given = env["DOCKER_HOST"];
  if (given !== undefined && given !== "") {
    if (!URL.canParse(given)) return [];
    const url = new URL(given);
    if (url.protocol === "unix:") return [{ socketPath: url.pathname }];
    // The probe uses plain HTTP, so an engine behind TLS or SSH is never used.
    return url.protocol === "tcp:" || url.protocol === "http:"
      ? [{ host: url.hostname, port: Number(url.port === "" ? 2375 : url.port) }]
      : [];
  }
  const sockets = ["/var/run/docker.sock", path.join(homedir(), ".docker/run/docker.sock")];
  if (env["XDG_RUNTIME_DIR"] !== undefined) sockets.push(path.join(env["XDG_RUNTIME_DIR"], "docker.sock"));
  return sockets.filter((socket) => existsSync(socket)).map((socketPath) => ({ socketPath }));
}

function ping(address: EngineAddress): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ ...address, path: "/_ping", timeout: PING_TIMEOUT_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}
