import type { OperationContract } from "../operations.ts";
import { EXAMPLE_PARAMETERS } from "./examples.ts";

/** Placeholder for the base address in samples. The reference page inserts its own address. */
export const SAMPLE_BASE_URL = "https://kapi.example";
/** Placeholder for the caller's key in samples. */
const SAMPLE_AUTHORIZATION = "Management kapi.<key_id>.<secret>";

interface CodeSample {
  readonly lang: string;
  readonly label: string;
  readonly source: string;
}

/** Samples of a call, ready to copy: one for a terminal and one for a program. */
export function codeSamples(operation: OperationContract, query: string, body: unknown): CodeSample[] {
  const path = operation.path.replaceAll(
    /:(\w+)/g,
    (_whole, name: string) => EXAMPLE_PARAMETERS[name as keyof typeof EXAMPLE_PARAMETERS],
  );
  const url = `${SAMPLE_BASE_URL}${path}${query}`;
  return [
    { lang: "shell", label: "curl", source: curl(operation, url, body) },
    { lang: "typescript", label: "TypeScript", source: typescript(operation, url, body) },
  ];
}

function curl(operation: OperationContract, url: string, body: unknown): string {
  const lines = [
    operation.method === "GET" ? `curl "${url}"` : `curl -X ${operation.method} "${url}"`,
    `-H "Authorization: ${SAMPLE_AUTHORIZATION}"`,
  ];
  if (operation.idempotencyKey) lines.push('-H "Idempotency-Key: $(uuidgen)"');
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(body, null, 2)}'`);
  return lines.join(" \\\n  ");
}

function typescript(operation: OperationContract, url: string, body: unknown): string {
  const headers = [`    Authorization: "${SAMPLE_AUTHORIZATION}",`];
  if (operation.idempotencyKey) headers.push('    "Idempotency-Key": crypto.randomUUID(),');
  if (body !== undefined) headers.push('    "Content-Type": "application/json",');
  const lines = [
    `const response = await fetch("${url}", {`,
    ...(operation.method === "GET" ? [] : [`  method: "${operation.method}",`]),
    "  headers: {",
    ...headers,
    "  },",
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indented(JSON.stringify(body, null, 2))}),`]),
    "});",
    "if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);",
    "const answer: unknown = await response.json();",
  ];
  return `${lines.join("\n")}\n`;
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}
