/**
 * `npm run verify -- images`: builds every image, checks its content, starts the whole Compose
 * stack and runs the first path (`test/e2e/first-path.ts`) as an external client. Then it stops the
 * programs as an upgrade does, and repeats the start and the first path on the kept data. It needs
 * a Docker engine with Compose and the base images. Without an engine it prints that nothing was
 * tested, and exits with 1. `KEEP_IMAGES_STACK=on` leaves the stack running.
 */
import { spawnSync } from "node:child_process";
import path from "node:path";

import { freePort } from "@kapi/servers";

const ROOT = path.resolve(import.meta.dirname, "../..");
const PROJECT = "kapi-images-test";
const DOCKERFILE = "deploy/docker/Dockerfile";
const FILES = ["docker-compose.yml", "test/images/compose.yaml"];
const BUILD_TIMEOUT_MS = 1_800_000;
const UP_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 120_000;
/** Seconds between SIGTERM and SIGKILL of a container. */
const STOP_S = 30;
const LEVERAGES = "1,2,5,10,20,25,30,50,100,200,300,400,500,1000,2000,5000,10000";
const CREDITS = "1000000";
/** Programs that exit after their work. */
const JOBS = new Set(["secrets", "topics", "cli"]);
/** Images of the jobs: `secrets` runs in the image of `topics`. */
const JOB_IMAGES = ["topics", "cli"];
const SERVERS = new Set(["kafka", "redis", "postgres"]);
/** Exit code of a container that was killed with SIGKILL. */
const KILLED = 137;

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly text: string;
  readonly seconds: number;
}

interface Options {
  readonly timeoutMs?: number;
  readonly env?: NodeJS.ProcessEnv;
}

function run(command: string, args: readonly string[], options: Options = {}): Outcome {
  const beganMs = performance.now();
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: "utf8",
    timeout: options.timeoutMs ?? RUN_TIMEOUT_MS,
    env: options.env ?? environment,
    maxBuffer: 64 * 1_048_576,
  });
  const seconds = (performance.now() - beganMs) / 1_000;
  return { ok: status === 0, output: `${stdout}${stderr}`, text: stdout, seconds };
}

function compose(args: readonly string[], options: Options = {}): Outcome {
  return run("docker", ["compose", "-p", PROJECT, ...FILES.flatMap((file) => ["-f", file]), ...args], options);
}

let passes = 0;
let failures = 0;
function report(what: string, { ok, output, seconds }: Outcome): boolean {
  if (ok) passes += 1;
  else failures += 1;
  console.log(`  ${ok ? "✓" : "✗"} ${what}  ${seconds.toFixed(1)} s${ok ? "" : `\n${output}`}`);
  return ok;
}

/** Program that exits with 0 if the gateway answers, with any status. */
const REACH_GATEWAY =
  "fetch(process.env.GATEWAY_URL).then(() => process.exit(0), (error) => { console.error(error.cause); process.exit(1); })";

/** The outcome of a check that runs no command. */
function expectation(ok: boolean, output: string): Outcome {
  return { ok, output, text: "", seconds: 0 };
}

const [api, live, console_, tradingServer, postgres] = await Promise.all(Array.from({ length: 5 }, () => freePort()));
const environment: NodeJS.ProcessEnv = {
  ...process.env,
  KAPI_PORT: String(api),
  KAPI_LIVE_PORT: String(live),
  KAPI_CONSOLE_PORT: String(console_),
  KAPI_TRADING_SERVER_PORT: String(tradingServer),
  KAPI_POSTGRES_PORT: String(postgres),
};

function names(args: readonly string[]): string[] {
  return compose(args).text.trim().split("\n");
}

/** Checks the content of an image: no development tools, and no root user. */
function lookAtImage(program: string): void {
  const image = `kapi/${program}`;
  const user = run("docker", ["image", "inspect", "-f", "{{.Config.User}}", image]).text.trim();
  const size = Number(run("docker", ["image", "inspect", "-f", "{{.Size}}", image]).text);
  report(
    `${image}: runs as an unprivileged user (${Math.round(size / 1e6)} MB)`,
    expectation(user === "1000:1000", user),
  );
  const resolve =
    "for (const name of ['vitest', 'typescript', 'oxlint', 'vite']) try { require.resolve(name); console.log(name) } catch {}";
  const found = run("docker", ["run", "--rm", "--network", "none", "--entrypoint", "node", image, "-e", resolve]);
  report(`${image}: has no development tools`, { ...found, ok: found.ok && found.text === "" });
}

/** Creates an organization with a server and a key, as docs/start.md describes. */
function createDemo(): object {
  const kapi = (...args: string[]): Record<string, string> => {
    const ran = compose(["run", "--rm", "-T", "cli", "admin", ...args, "--json"]);
    if (!ran.ok) throw new Error(`kapi ${args.join(" ")}: ${ran.output}`);
    return JSON.parse(ran.text) as Record<string, string>;
  };
  const { organizationId = "" } = kapi("organization", "create", "--name", "Images", "--credits", CREDITS);
  const server = ["--url", "http://trading-simulator:8080", "--environment", "demo", "--name", "Kapi-Demo"];
  const more = ["--company", "Kapi Demo Markets", "--leverage", LEVERAGES, "--default-leverage", "100"];
  const { serverId } = kapi("server", "create", "--organization", organizationId, ...server, ...more);
  const { managementKey } = kapi("key", "create", "--organization", organizationId, "--all-scopes");
  const read = "process.stdout.write(require('fs').readFileSync('/run/secrets/control_token'))";
  const controlToken = compose(["exec", "-T", "trading-simulator", "node", "-e", read]).text;
  return {
    baseUrl: `http://127.0.0.1:${api}`,
    wsBase: `ws://127.0.0.1:${live}`,
    tradingServerUrl: `http://127.0.0.1:${tradingServer}`,
    organizationId,
    serverId,
    managementKey,
    controlToken,
  };
}

function firstPath(demo: object): Outcome {
  const env = {
    ...environment,
    KAPI_DEMO: JSON.stringify(demo),
    KAPI_POSTGRES_URL: `postgres://kapi:${process.env["POSTGRES_PASSWORD"] ?? "kapi"}@127.0.0.1:${postgres}/kapi`,
  };
  const args = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/images/vitest.config.ts"];
  return run(process.execPath, args, { env, timeoutMs: UP_TIMEOUT_MS });
}

/** Stops the programs. Each must exit by itself after SIGTERM. */
function stopPrograms(programs: readonly string[]): void {
  const stopped = compose(["stop", "-t", String(STOP_S), ...programs]);
  report("all programs are stopped", stopped);
  for (const program of programs) {
    const id = compose(["ps", "-aq", program]).text.trim();
    const code = Number(run("docker", ["inspect", "-f", "{{.State.ExitCode}}", id]).text);
    const how = code === KILLED ? `was killed after ${STOP_S} s` : `ended with ${code}`;
    report(`${program} ends by itself, with 0`, expectation(code === 0, how));
  }
}

if (!run("docker", ["info"]).ok || !run("docker", ["compose", "version"]).ok) {
  console.log("The images were not tested: no Docker engine with Compose answers here.");
  process.exit(1);
}
try {
  const everything = names(["--profile", "tools", "config", "--services"]);
  const programs = everything.filter((name) => !JOBS.has(name) && !SERVERS.has(name));
  const built = compose(["--profile", "tools", "build"], { timeoutMs: BUILD_TIMEOUT_MS });
  if (report(`${programs.length + JOB_IMAGES.length} images are built`, built)) {
    const args = ["--build-arg", "PROGRAM=deploy/combined", "--build-arg", "SERVICES=services", "-t", "kapi/combined"];
    const combined = run("docker", ["build", "-f", DOCKERFILE, ...args, "."], { timeoutMs: BUILD_TIMEOUT_MS });
    report("the image of all services in one process is built", combined);
    for (const image of [...programs, ...JOB_IMAGES, "combined"]) lookAtImage(image);
    if (report("the stack is up and healthy", compose(["up", "-d", "--wait"], { timeoutMs: UP_TIMEOUT_MS }))) {
      const reached = compose(["exec", "-T", "console", "node", "-e", REACH_GATEWAY]);
      report("the console reaches the gateway's port for actions of people", reached);
      const demo = createDemo();
      report("the first path succeeds for an external client", firstPath(demo));
      stopPrograms(programs);
      report("the stack is up again", compose(["up", "-d", "--wait"], { timeoutMs: UP_TIMEOUT_MS }));
      report("the first path succeeds on the kept data", firstPath(demo));
    }
  }
} finally {
  if (process.env["KEEP_IMAGES_STACK"] !== "on") compose(["--profile", "tools", "down", "-v", "--remove-orphans"]);
}
console.log(`${passes} passed, ${failures} failed`);
process.exit(failures === 0 ? 0 : 1);
