/** Values that the chart must reject. */

/** Invalid values, and the text that the error must contain. */
export const REFUSED: readonly { readonly what: string; readonly set: readonly string[]; readonly named: RegExp }[] = [
  { what: "no brokers", set: ["kafka.brokers="], named: /kafka\/brokers/ },
  { what: "a broker without a port", set: ["kafka.brokers=kafka"], named: /kafka\/brokers/ },
  { what: "no secret for PostgreSQL", set: ["postgres.existingSecret="], named: /postgres\/existingSecret/ },
  { what: "a certificate authority without encryption", set: ["kafka.tls.caSecret=ca"], named: /kafka\/tls\/caSecret/ },
  {
    what: "a client certificate without encryption",
    set: ["kafka.tls.clientSecret=client"],
    named: /kafka\/tls\/clientSecret/,
  },
  {
    what: "a SASL mechanism without a user and password",
    set: ["kafka.sasl.mechanism=PLAIN"],
    named: /kafka\/sasl\/existingSecret/,
  },
  {
    what: "a user and password without a SASL mechanism",
    set: ["kafka.sasl.existingSecret=user"],
    named: /kafka\/sasl\/existingSecret/,
  },
  {
    what: "a SASL mechanism that kapi does not support",
    set: ["kafka.sasl.mechanism=GSSAPI", "kafka.sasl.existingSecret=user"],
    named: /kafka\/sasl\/mechanism/,
  },
  { what: "no partitions", set: ["kafka.partitions=0"], named: /kafka\/partitions/ },
  {
    what: "the simulator under its name in 0.1.0",
    set: ["services.trading-server.enabled=true"],
    named: /services\/trading-server/,
  },
  { what: "an unknown value", set: ["replicas=3"], named: /replicas/ },
  {
    what: "an unknown program",
    set: ["services.gateway.program=gatway"],
    named: /services\/gateway\/program/,
  },
  { what: "a sample ratio of traces above one", set: ["telemetry.tracesSampleRatio=2"], named: /tracesSampleRatio/ },
  { what: "a runbook URL that is not an address", set: ["telemetry.alerts.runbookUrl=wiki"], named: /runbookUrl/ },
  {
    what: "a console without its trusted proxies",
    set: ["services.console.env.CONSOLE_PORT=console"],
    named: /CONSOLE_TRUSTED_PROXIES/,
  },
  {
    what: "a gateway behind an Ingress without its trusted proxies",
    set: ["ingress.enabled=true", "hosts.gateway=api.example.com"],
    named: /services\.gateway\.env:.*TRUSTED_PROXIES/,
  },
  {
    what: "a live stream behind a route without its trusted proxies",
    set: ["routes.enabled=true", 'routes.parentRefs=[{"name":"public"}]', "hosts.stream=live.example.com"],
    named: /services\.stream\.env:.*TRUSTED_PROXIES/,
  },
  {
    what: "a setting of the console in the values of organization",
    set: ["services.organization.env.CONSOLE_PORT=console"],
    named: /services\.console/,
  },
  {
    what: "an egress policy without name servers",
    set: ["networkPolicies.egress.dns.to=null"],
    named: /networkPolicies\/egress/,
  },
  {
    what: "an egress policy without the trading servers",
    set: ["networkPolicies.egress.tradingServers.to=[]"],
    named: /networkPolicies\.egress\.tradingServers\.to/,
  },
  {
    what: "an egress port of Kafka above 65535",
    set: ["networkPolicies.egress.kafka.ports={65536}"],
    named: /networkPolicies\/egress\/kafka\/ports/,
  },
  {
    what: "an egress port 0 of Redis",
    set: ["networkPolicies.egress.redis.ports={0}"],
    named: /networkPolicies\/egress\/redis\/ports/,
  },
  {
    what: "two services of the same program in one process",
    set: ["combined.enabled=true"],
    named: /services\.metrics and services\.stream have the same program/,
  },
  {
    what: "scaled windows processes",
    set: [
      "services.windows.enabled=true",
      "services.windows.scaling.by=cpu",
      "services.windows.scaling.minReplicas=2",
      "services.windows.scaling.maxReplicas=4",
      "services.windows.scaling.cpuUtilization=60",
    ],
    named: /services\.windows\.scaling/,
  },
  { what: "no secrets of kapi", set: ["secrets.existingSecret="], named: /secrets\/existingSecret/ },
  {
    what: "generated secrets beside existing ones",
    set: ["secrets.generate=true"],
    named: /secrets\.existingSecret and secrets\.generate/,
  },
  {
    what: "two monitors of the same processes",
    set: ["telemetry.serviceMonitor.enabled=true", "telemetry.podMonitor.enabled=true"],
    named: /telemetry\.serviceMonitor and telemetry\.podMonitor/,
  },
  { what: "an ingress without a host", set: ["ingress.enabled=true"], named: /hosts\.gateway/ },
  {
    what: "routes without a Gateway",
    set: ["routes.enabled=true", "hosts.gateway=api.example.com"],
    named: /routes\.parentRefs/,
  },
  {
    what: "a host for a console without a port for its page",
    set: ["ingress.enabled=true", "hosts.console=console.example.com"],
    named: /hosts\.console/,
  },
  {
    what: "scaling by sockets without the number of sockets per pod",
    set: ["services.stream.scaling.by=sockets"],
    named: /services\/stream\/scaling.*socketsPerPod/s,
  },
  { what: "an unknown kind of scaling", set: ["services.finance.scaling.by=moon"], named: /finance\/scaling\/by/ },
];
