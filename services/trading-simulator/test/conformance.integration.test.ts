import { createTestEnvironment } from "@kapi/testkit";
import { describeTradingServerConformance } from "@kapi/trading-server/conformance";

import { configuredServer, startTradingServer } from "./support.ts";

describeTradingServerConformance("the simulated trading server", async () => {
  const environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
  const running = await startTradingServer(environment);
  const serverId = await configuredServer(running);
  const pathOf = (accountNumber: string): string => `/servers/${serverId}/accounts/${accountNumber}`;
  const place = async (accountNumber: string, order: object): Promise<string> => {
    const placed = await running.control("POST", `${pathOf(accountNumber)}/orders`, order);
    if (placed.status !== 201) throw new Error(`no order: ${JSON.stringify(placed.body)}`);
    return (placed.body as { order: { id: string } }).order.id;
  };
  return {
    value: {
      client: running.client,
      serverId,
      openPosition: async (accountNumber) => {
        await place(accountNumber, { symbol: "EURUSD", side: "buy", volume: 0.1 });
      },
      placeOrder: (accountNumber) =>
        place(accountNumber, { symbol: "EURUSD", side: "buy", orderType: "limit", volume: 0.1, price: 0.5 }),
      closePositions: async (accountNumber) => {
        const { body } = await running.control("GET", `${pathOf(accountNumber)}/positions`);
        for (const { id } of (body as { positions: { id: string }[] }).positions) {
          await running.control("POST", `${pathOf(accountNumber)}/positions/${id}/close`, {});
        }
      },
    },
    stop: async () => {
      await running.kill("SIGTERM");
      await environment.stop();
    },
  };
});
