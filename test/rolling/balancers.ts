/**
 * All balancers of a cluster, as a process of its own: what goes through them must not wait for
 * what a test does with it. Its argument names each one's processes; its first message tells their
 * addresses; asked for anything, it tells at which of them no process was ready at some moment.
 */
import { Balancer, type Backend } from "./balancer.ts";

const plan = JSON.parse(process.argv[2] ?? "{}") as Readonly<Record<string, readonly Backend[]>>;
const balancers = new Map<string, Balancer>();
for (const [name, backends] of Object.entries(plan)) balancers.set(name, await Balancer.start(backends));
process.on("message", () => {
  process.send?.([...balancers].flatMap(([name, { alone }]) => (alone > 0 ? [name] : [])));
});
process.on("disconnect", () => process.exit(0));
process.send?.(Object.fromEntries(Array.from(balancers, ([name, { authority }]) => [name, authority])));
