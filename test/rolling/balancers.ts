/**
 * Runs all balancers of a cluster in a separate process, so that the work of a test does not delay
 * the traffic of the balancers. The argument has the processes behind each balancer. The first
 * message to the parent has the address of each balancer. The answer to each message from the
 * parent names the balancers that had a ready process and at some later time had none.
 */
import { Balancer, type Backend } from "./balancer.ts";

const plan = JSON.parse(process.argv[2] ?? "{}") as Readonly<Record<string, readonly Backend[]>>;
const balancers = new Map<string, Balancer>();
for (const [name, backends] of Object.entries(plan)) balancers.set(name, await Balancer.start(backends));
process.on("message", () => {
  process.send?.([...balancers].flatMap(([name, { failedChecks }]) => (failedChecks > 0 ? [name] : [])));
});
process.on("disconnect", () => process.exit(0));
process.send?.(Object.fromEntries(Array.from(balancers, ([name, { authority }]) => [name, authority])));
