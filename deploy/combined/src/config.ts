import { z } from "zod";

/** The services that can share a process. A service is loaded only if the process runs it. */
export const SERVICES = {
  account: () => import("@kapi/service-account"),
  "command-status": () => import("@kapi/service-command-status"),
  console: () => import("@kapi/service-console"),
  export: () => import("@kapi/service-export"),
  finance: () => import("@kapi/service-finance"),
  gateway: () => import("@kapi/service-gateway"),
  metrics: () => import("@kapi/service-metrics"),
  organization: () => import("@kapi/service-organization"),
  risk: () => import("@kapi/service-risk"),
  "trading-simulator": () => import("@kapi/service-trading-simulator"),
  webhooks: () => import("@kapi/service-webhooks"),
} as const;
type ServiceName = keyof typeof SERVICES;

const ServiceNames = z.array(z.enum(Object.keys(SERVICES).filter((name): name is ServiceName => name in SERVICES)));

/** The settings of a process of several services, beside the settings of each service. */
export const CombinedSchema = z.object({
  /** Names of the services that the process runs, separated by commas. */
  SERVICES: z
    .string()
    .transform((text) => text.split(",").map((name) => name.trim()))
    .pipe(ServiceNames),
});
