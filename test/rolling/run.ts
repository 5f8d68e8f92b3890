/**
 * `npm run scenario -- rolling`: restarts the processes of a kapi one after another, under 200
 * mutations a second and 200 live sockets. Every service except the trading simulator has two
 * processes behind one address. Violations are printed. The exit code is 1 after a violation, or if
 * a request got Retry-After because a service, Redis or Kafka answered the gateway too late.
 * `ROLLING_SEED` determines the random choices. `ROLLING_MUTATIONS` and `ROLLING_SOCKETS` determine
 * the load.
 */
import startServers from "../../libs/testkit/src/global-setup.ts";
import { runScenario } from "./scenario.ts";

const SEED = Number(process.env["ROLLING_SEED"] ?? Date.now() % 1_000_000);
const LOAD = {
  accounts: 100,
  sockets: Number(process.env["ROLLING_SOCKETS"] ?? 200),
  mutations: Number(process.env["ROLLING_MUTATIONS"] ?? 200),
  reads: 20,
};

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

say(`ROLLING_SEED=${SEED} ${JSON.stringify(LOAD)}`);
const stopServers = await startServers();
try {
  const { violations, complaints, restarts, traffic, late, live } = await runScenario({
    ...LOAD,
    seed: SEED,
    report: say,
  });
  for (const complaint of complaints) say(complaint);
  say("\nprocess             stop ms  start ms");
  for (const { name, stopMs, startMs } of restarts) {
    say(`${name.padEnd(18)} ${String(stopMs).padStart(8)} ${String(startMs).padStart(9)}`);
  }
  say(`
requests     ${traffic.mutations} mutations, the slowest accepted after ${Math.round(traffic.slowestMs)} ms, ${traffic.exports} exports, ${traffic.reads} reads
             ${traffic.waited} reads answered with Retry-After while the trading server was unavailable
connections  ${traffic.lost} lost; their requests were sent again
too slow     ${late} requests got Retry-After because a service, Redis or Kafka answered the gateway too late; they were sent again
sockets      ${live.connections} connections, ${live.closed} closed with 1012, ${live.samples} samples, ${live.behind} replay notices whose last sample is older than the client's last sample
violations   ${violations}`);
  process.exitCode = violations === 0 && late === 0 ? 0 : 1;
} finally {
  await stopServers();
}
