/** Health check of container engines: exits 0 if the process of this container is ready, else 1. */
const TIMEOUT_MS = 3_000;
const port = process.env.HTTP_PORT ?? "8080";
try {
  const { ok } = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  process.exit(ok ? 0 : 1);
} catch {
  process.exit(1);
}
