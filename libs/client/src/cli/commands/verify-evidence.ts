import { readFileSync } from "node:fs";

import type { Command } from "commander";

import type { BreachEvidence, EvidenceDocument, EvidenceKeys } from "../../evidence/document.ts";
import { fetchEvidenceKeys, parseEvidenceKeys } from "../../evidence/keys.ts";
import { type EvidenceProblem, type EvidenceResult, verifyEvidence } from "../../evidence/verify.ts";
import { address } from "../context.ts";
import { Failure, UsageError } from "../exit.ts";
import { cellText, Output } from "../output.ts";
import type { Surroundings } from "../surroundings.ts";

/** Maximum number of contradictions that are printed; `--json` has all. */
const MAX_PRINTED = 10;

interface Options {
  readonly keys?: string;
  readonly url?: string;
  readonly json?: true;
}

/** Adds `kapi verify-evidence` to the program. */
export function addVerifyEvidence(program: Command, surroundings: Surroundings): void {
  program
    .command("verify-evidence")
    .description("Verify who signed evidence, that nothing was changed, and that its records show what it claims")
    .argument("<file>", "the document, as kapi sent it")
    .option("--keys <file>", "the public keys, a copy of /.well-known/kapi-evidence-keys.json: needs no network")
    .option("--url <url>", "fetch the keys from this kapi (default: KAPI_URL)", address)
    .option("--json", "print JSON, for programs")
    .action(async (file: string, options: Options) => {
      const output = new Output(surroundings, options.json === true);
      const document = readBytes(file);
      const result = verifyEvidence(document, await keysOf(options, surroundings));
      output.print(result, () => textOf(result, output));
      if (result.status !== "verified") throw new Failure(`${file} is not verified`);
    });
}

async function keysOf({ keys, url }: Options, { environment, signal }: Surroundings): Promise<EvidenceKeys> {
  if (keys !== undefined) {
    if (url !== undefined) throw new UsageError("Give either --keys or --url.");
    try {
      return parseEvidenceKeys(readBytes(keys).toString("utf8"));
    } catch (error) {
      if (error instanceof TypeError) throw new UsageError(`${keys}: ${error.message}`);
      throw error;
    }
  }
  const baseUrl = url ?? environment["KAPI_URL"];
  if (baseUrl === undefined) throw new UsageError("No keys are known: give --keys <file> or --url <address of kapi>.");
  try {
    return await fetchEvidenceKeys({ baseUrl, signal });
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

function readBytes(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function textOf(result: EvidenceResult, output: Output): string {
  if (result.status === "invalid") return `NOT VERIFIED: ${cellText(problemText(result.problem))}\n`;
  const { document } = result;
  const { keyId } = document.signature;
  const claim = output.fields({ ...scopeOf(document), ...(document.kind === "breach" ? breachOf(document) : {}) });
  if (result.status === "verified") {
    return `${claim}\nVERIFIED: signed with the key ${keyId}, unchanged, and the records show what it claims.\n`;
  }
  const { contradictions } = result;
  const lines = contradictions
    .slice(0, MAX_PRINTED)
    .map(({ where, message }) => `  ${cellText(`${where}: ${message}`)}\n`);
  const more = contradictions.length > MAX_PRINTED ? `  and ${contradictions.length - MAX_PRINTED} more\n` : "";
  const heading = `NOT VERIFIED: signed with the key ${keyId} and unchanged, but it contradicts itself:\n`;
  return `${claim}\n${heading}${lines.join("")}${more}`;
}

type Fields = Readonly<Record<string, string | number | null>>;

function scopeOf({ records, ...document }: EvidenceDocument): Fields {
  const valuations = records.filter(({ kind }) => kind === "valuation").length;
  const missing = document.missing.map(({ what, reason, from, to }) => {
    return `${what} (${reason})${from === null ? "" : ` from ${from}`}${to === null ? "" : ` to ${to}`}`;
  });
  return {
    account: document.accountNumber,
    server: document.serverId,
    organization: document.organizationId,
    interval: `${document.from} to ${document.to}`,
    records: `${valuations} valuations, ${records.length - valuations} samples`,
    missing: missing.length === 0 ? "nothing" : missing.join(", "),
    "signed at": document.createdAt,
  };
}

function breachOf({ rule, breach, currency }: BreachEvidence): Fields {
  const { reference, compared, side } = breach;
  const limit = rule.limit.unit === "percent" ? `${rule.limit.value} %` : `${rule.limit.value} ${currency}`;
  const parameters = Object.entries(rule.parameters).map(([name, value]) => `${name} ${value ?? "none"}`);
  return {
    rule: `${rule.id}, version ${rule.version}: ${rule.type}, limit ${[limit, ...parameters].join(", ")}`,
    reference: `${reference.value} ${currency}, of ${reference.at}`,
    threshold: `${compared} ${side === "atOrBelow" ? "at or below" : "at or above"} ${breach.threshold} ${currency}`,
    breached: `${breach.at}, ${compared} ${breach.value} ${currency}`,
    [side === "atOrBelow" ? "lowest" : "highest"]:
      `${breach.extremeAt}, ${compared} ${breach.extremeValue} ${currency}`,
    action: breach.commandId === null ? breach.action : `${breach.action}, command ${breach.commandId}`,
  };
}

function problemText(problem: EvidenceProblem): string {
  switch (problem.code) {
    case "malformed":
      return `this is not evidence: ${problem.message}.`;
    case "unknown_format":
      return `the format ${problem.format ?? "(none)"} is unknown: install a newer @kapi/client.`;
    case "header_changed":
      return "a member outside the records was changed, added or removed after the signature.";
    case "record_changed":
      return `records[${problem.index}] is the first record that was changed, removed, added or moved.`;
    case "record_count":
      return `it has ${problem.records} records, but ${problem.hashes} were signed.`;
    case "chain_changed":
      return "the last hash of the chain was changed.";
    case "unknown_key":
      return `no key has the id ${problem.keyId}: fetch the keys again; if the id is still unknown, another kapi signed it.`;
    case "retired_key":
      return `it says that it was made at ${problem.createdAt}, but the key ${problem.keyId} was retired at ${problem.retiredAt}.`;
    case "wrong_signature":
      return `the signature was not made with the key ${problem.keyId} for this document.`;
  }
}
