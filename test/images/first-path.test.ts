import { describe } from "vitest";
import { z } from "zod";

import { describeFirstPath } from "../e2e/first-path.ts";

const target = z
  .object({ demo: z.string(), postgresUrl: z.url() })
  .parse({ demo: process.env["KAPI_DEMO"], postgresUrl: process.env["KAPI_POSTGRES_URL"] });
const demo = z
  .object({
    baseUrl: z.url(),
    wsBase: z.url(),
    managementKey: z.string(),
    organizationId: z.guid(),
    serverId: z.guid(),
    tradingServerUrl: z.url(),
    controlToken: z.string(),
  })
  .parse(JSON.parse(target.demo));

describe("the first path in containers", () => {
  describeFirstPath({ demo: () => demo, postgresUrl: () => target.postgresUrl });
});
