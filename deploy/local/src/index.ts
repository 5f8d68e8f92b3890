/** The exports for tests, and for the command line, which loads this package only if installed. */
export { LocalError } from "@kapi/servers";
export { type Demo, type DemoOptions, type DemoWithAccounts, createDemo, runningDemo } from "./demo/demo.ts";
export { createOrganization, type ReadyOrganization } from "./demo/operator.ts";
export { keptProgramEnvironment } from "./services/kept-environment.ts";
export { type Ending, ServiceProcess } from "./services/service-process.ts";
export { type Stack, type StackOptions, startStack } from "./stack.ts";
