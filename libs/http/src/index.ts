export * from "./api-error.ts";
export * from "./dependency-error.ts";
export * from "./internal-auth.ts";
export * from "./internal-client.ts";
export * from "./listen.ts";
export * from "./owner-answers.ts";
export * from "./parse.ts";
export * from "./server.ts";
export type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
