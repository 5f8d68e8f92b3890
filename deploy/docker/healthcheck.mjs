/**
 * Exits 0 when the process beside it is ready, 1 otherwise; for container engines that run a
 * program to find out.
 */
const TIMEOUT_MS = 3_000;
const port = process.env.HTTP_PORT ?? "8080";
try {
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  process.exit(ok ? 0 : 1);
} catch {
  process.exit(1);
}
