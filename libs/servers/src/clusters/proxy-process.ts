/**
 * The program of the proxies' process; see proxies.ts. It exits when its parent process ends.
 */
import { raisePriority } from "../machine/processes.ts";
import { TcpProxy } from "../tcp-proxy.ts";
import type { ProxyAnswer, ProxyRequest } from "./proxies.ts";

const proxies = new Map<number, TcpProxy>();

async function carryOut(request: ProxyRequest): Promise<void> {
  if ("open" in request) {
    proxies.set(request.port, await TcpProxy.open(request.open, request.port));
    return;
  }
  const proxy = proxies.get(request.port);
  if (proxy === undefined) throw new Error("it was never opened");
  const { call, argument } = request;
  if (call === "delay") return proxy.delay(Number(argument));
  if (call === "retarget") {
    if (typeof argument !== "object") throw new Error("retarget needs an address");
    return proxy.retarget(argument);
  }
  await proxy[call]();
}

raisePriority();
process.on("message", (request: ProxyRequest) => {
  const answer = (error: string | null): void => {
    process.send?.({ id: request.id, error } satisfies ProxyAnswer);
  };
  carryOut(request).then(
    () => answer(null),
    (error: unknown) => answer(String(error)),
  );
});
process.on("disconnect", () => process.exit(0));
