export * from "./background.ts";
export * from "./clients.ts";
export * from "./database.ts";
export * from "./directory.ts";
export * from "./http.ts";
export * from "./kafka.ts";
export * from "./redis.ts";
export * from "./trading-servers.ts";
