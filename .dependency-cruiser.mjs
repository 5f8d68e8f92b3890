/**
 * Import rules: who may import whom. All services have the same layers in `services/<name>/src`:
 * main → service → inbound → operations → domain ← outbound. But export has no inbound. A library
 * never imports a service. The `swc` parser is needed: with TypeScript 7 alone no file would be
 * read, and every rule would pass.
 */
const SERVICE = "(^|/)services/([^/]+)/";
/** Code that plays an outside client, starts servers or measures may use any package directly. */
const OUTSIDE = "(^|/)(test|libs/servers)/|/bench/";

/** Tests, benchmarks, and the libraries that they share. */
const TESTS = ["\\.test\\.tsx?$", "(^|/)(test|bench)/", "(^|/)libs/(testkit|servers)/"];

/** The rule that only `places` may import an I/O package. Code of {@link OUTSIDE} may too. */
function onlyIn(packageName, ...places) {
  return {
    name: `only-${places[0].replaceAll(/[^a-z]+/g, "-")}-imports-${packageName}`,
    comment: `${packageName} does I/O: only ${places.join(" and ")} may import it`,
    severity: "error",
    from: { pathNot: [...places.map((place) => `(^|/)${place}/`), OUTSIDE] },
    to: { path: `node_modules/(@types/)?${packageName}/` },
  };
}

/** The rule that an I/O library imports no other libraries of kapi than `libraries`. */
function ioLibrary(name, ...libraries) {
  return {
    name: `${name}-has-no-domain`,
    comment: `libs/${name} does I/O: it may import only the libraries ${libraries.join(", ")}`,
    severity: "error",
    from: { path: `(^|/)libs/${name}/src/`, pathNot: "\\.test\\.ts$" },
    to: { path: "(^|/)libs/", pathNot: `(^|/)libs/(${[name, ...libraries].join("|")})/src/` },
  };
}

/** Inside a service, layer `from` must not import the layers `to`. */
function layerRule(from, to) {
  return {
    name: `${from}-not-to-${to.join("-or-")}`,
    comment: "main → service → inbound → operations → domain ← outbound",
    severity: "error",
    from: { path: `${SERVICE}src/${from}(/|\\.ts$)`, pathNot: "\\.test\\.ts$" },
    to: { path: `${SERVICE}src/(${to.join("|")})(/|\\.ts$)` },
  };
}

export default {
  forbidden: [
    {
      name: "no-circular",
      comment: "merge modules that import each other, or move what both need into a third module",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "not-to-unresolvable",
      comment: "the import names a file or package that does not exist",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: "lib-not-to-service",
      comment: "a library never imports a service",
      severity: "error",
      from: { path: "(^|/)libs/" },
      to: { path: "(^|/)services/" },
    },
    {
      name: "lib-not-to-deploy",
      comment: "a library never imports code that deploys or starts programs",
      severity: "error",
      from: { path: "(^|/)libs/" },
      to: { path: "(^|/)deploy/" },
    },
    {
      name: "service-not-to-service",
      comment: "services communicate over Kafka and internal HTTP only",
      severity: "error",
      from: { path: SERVICE },
      to: { path: SERVICE, pathNot: "(^|/)services/$2/" },
    },
    {
      name: "kernel-depends-on-nothing",
      comment: "the kernel imports only itself and node:crypto",
      severity: "error",
      from: { path: "(^|/)libs/kernel/src/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["(^|/)libs/kernel/src/", "^(node:)?crypto$"] },
    },
    {
      name: "contracts-depend-on-kernel-and-zod",
      comment: "wire shapes need nothing else",
      severity: "error",
      from: { path: "(^|/)libs/contracts/src/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["(^|/)libs/(contracts|kernel)/src/", "node_modules/zod/"] },
    },
    {
      name: "evidence-is-pure",
      comment: "evidence does no I/O: it imports only itself, the kernel, the contracts and node:crypto",
      severity: "error",
      from: { path: "(^|/)libs/evidence/src/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: ["(^|/)libs/(evidence|kernel|contracts)/src/", "^(node:)?crypto$"] },
    },
    {
      name: "client-is-alone",
      comment: "the client is published: it imports no other part of kapi",
      severity: "error",
      from: { path: "(^|/)libs/client/src/", pathNot: "\\.test\\.ts$" },
      to: { path: "(^|/)(libs|services|deploy)/", pathNot: "(^|/)libs/client/src/|node_modules/" },
    },
    {
      name: "domain-is-pure",
      comment: "a domain imports itself, the kernel, the contracts, the evidence library, node:crypto, and types",
      severity: "error",
      from: { path: `${SERVICE}src/domain/`, pathNot: "\\.test\\.ts$" },
      to: {
        pathNot: ["(^|/)services/$2/src/domain/", "(^|/)libs/(kernel|contracts|evidence)/src/", "^(node:)?crypto$"],
        dependencyTypesNot: ["type-only"],
      },
    },
    layerRule("operations", ["inbound", "outbound", "service", "main", "config"]),
    layerRule("outbound", ["inbound", "operations", "service", "main", "config"]),
    layerRule("inbound", ["outbound", "service", "main", "config"]),
    layerRule("service", ["main"]),
    layerRule("main", ["inbound", "operations", "outbound", "domain"]),
    {
      name: "console-is-a-page",
      comment: "the console's page imports its own code, Preact and uPlot, and only types of everything else",
      severity: "error",
      from: { path: `${SERVICE}page/src/`, pathNot: "\\.test\\.ts$" },
      to: {
        pathNot: ["(^|/)services/$2/page/src/", "node_modules/(preact|uplot)/"],
        dependencyTypesNot: ["type-only"],
      },
    },
    {
      name: "service-not-to-page",
      comment: "a service serves its page as files",
      severity: "error",
      from: { path: `${SERVICE}src/` },
      to: { path: "(^|/)services/[^/]+/page/" },
    },
    ioLibrary("http", "kernel", "runtime", "contracts"),
    ioLibrary("kafka", "kernel", "runtime", "contracts"),
    ioLibrary("postgres", "kernel", "runtime"),
    ioLibrary("redis", "kernel", "runtime"),
    onlyIn("pg", "libs/postgres"),
    onlyIn("kafkajs", "libs/kafka"),
    onlyIn("fastify", "libs/http"),
    onlyIn("@fastify/compress", "libs/http"),
    onlyIn("undici", "libs/http"),
    onlyIn("ioredis", "libs/redis"),
    onlyIn("ws", "services/metrics/src/(in|out)bound/ws", "libs/client/src/live"),
    onlyIn("request-filtering-agent", "services/webhooks/src/outbound/http"),
    onlyIn("nodemailer", "services/console/src/outbound/smtp"),
    onlyIn("openid-client", "services/console/src/outbound/http"),
    {
      name: "no-catch-all-names",
      comment: "a folder or file has a name that says what it does",
      severity: "error",
      from: {},
      to: { path: "/(common|util|utils|shared|helper|helpers)(/|\\.ts$)", pathNot: "node_modules/" },
    },
    {
      name: "production-not-to-tests",
      comment: "production code never imports tests, test helpers or deployment code",
      severity: "error",
      from: { path: "(^|/)(services|libs)/[^/]+/src/", pathNot: ["\\.test\\.ts$", "(^|/)libs/(testkit|servers)/"] },
      to: {
        path: ["(^|/)libs/(testkit|servers)/", "(^|/)deploy/", "(^|/)test/", "\\.test\\.ts$", "node_modules/vitest/"],
      },
    },
    {
      name: "src-is-not-for-tests-alone",
      comment: "code that only tests import belongs in libs/testkit or in the test folder of the package",
      severity: "error",
      from: { pathNot: TESTS },
      module: {
        path: "(^|/)(services|libs)/[^/]+/src/",
        // Not checked: programs, and the entry points of packages.
        pathNot: [...TESTS, "/src/((cli|testing)/)?(main|index|rebuild-history)\\.ts$"],
        numberOfDependentsLessThan: 1,
      },
    },
  ],
  options: {
    parser: "swc",
    tsPreCompilationDeps: true,
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(test/tidy/fixtures|page/dist|libs/client/dist)/" },
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
    moduleSystems: ["es6"],
  },
};
