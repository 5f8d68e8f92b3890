import { createTestEnvironment } from "@kapi/testkit";
import { describeTradingServerConformance } from "@kapi/trading-server/conformance";

import { configuredServer, startTradingServer } from "./support.ts";

describeTradingServerConformance("the simulated trading server", async () => {
  const environment = await createTestEnvironment({ needs: ["kafka", "postgres"] });
  const running = await startTradingServer(environment);
  const serverId = await configuredServer(running);
  return {
    value: {
      client: running.client,
      serverId,
      openPosition: async (accountNumber) => {
        const order = { symbol: "EURUSD", side: "buy", volume: 0.1 };
        const placed = await running.control("POST", `/servers/${serverId}/accounts/${accountNumber}/orders`, order);
        if (placed.status !== 201) throw new Error(`no position: ${JSON.stringify(placed.body)}`);
      },
    },
    stop: async () => {
      await running.kill("SIGTERM");
      await environment.stop();
    },
  };
});
