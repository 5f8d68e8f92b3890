/**
 * The baseline of `bench -- history`: an internal route that makes one round trip to PostgreSQL,
 * `select 1`, and nothing else. Prints its address as JSON when it listens.
 */
import { createHttpServer, startListening } from "@kapi/http";
import { systemClock } from "@kapi/kernel";
import { startPool, statement } from "@kapi/postgres";
import { createLogger, Health } from "@kapi/runtime";

const SELECT_ONE = statement<{ one: number }>("bare-select", "select 1 as one");

const logger = createLogger({ service: "bare-select", level: "error" });
const { value: database } = await startPool({
  connectionString: process.env["POSTGRES_URL"] ?? "",
  schema: "account",
  applicationName: "bare-select",
  logger,
});
const app = createHttpServer({ logger, health: new Health(), clock: systemClock });
app.get("/one", async () => ({ rows: await database.query(SELECT_ONE, []) }));
const { value: address } = await startListening(app, { host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url: address.url })}\n`);
