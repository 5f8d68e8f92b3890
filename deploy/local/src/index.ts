/** For tests, and for the command line, which uses this package only if it can be imported. */
export { LocalError } from "@kapi/servers";
export { type Demo, type DemoOptions, type DemoWithAccounts, createDemo, runningDemo } from "./demo/demo.ts";
export { createOrganization, type ReadyOrganization } from "./demo/operator.ts";
export { keptProgramEnvironment } from "./services/kept-environment.ts";
export { type Ending, ServiceProcess } from "./services/service-process.ts";
export { type Stack, type StackOptions, startStack } from "./stack.ts";
