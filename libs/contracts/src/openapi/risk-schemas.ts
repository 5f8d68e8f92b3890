import {
  BreachEvidence,
  EvidenceBreach,
  EvidenceChain,
  EvidenceLimit,
  EvidencePart,
  EvidencePosition,
  EvidenceReference,
  EvidenceRule,
  EvidenceSide,
  EvidenceSignature,
  EvidenceUnit,
  IntervalEvidence,
  MissingEvidence,
  MissingReason,
  SampleEvidence,
  ValuationEvidence,
} from "../http/evidence.ts";
import type { z } from "zod";

import {
  RiskTemplate,
  RiskTemplateAccounts,
  RiskTemplateAnswer,
  RiskTemplatesAnswer,
  RiskTemplateSelection,
} from "../http/risk-templates.ts";
import { BreachEvidenceState, RiskBreach, RiskLimit } from "../http/risk.ts";

/** The schemas of breaches, risk templates and evidence, by name in the document. */
export const RISK_SCHEMAS = {
  RiskBreach,
  BreachEvidenceState,
  BreachEvidence,
  IntervalEvidence,
  ValuationEvidence,
  SampleEvidence,
  EvidenceLimit,
  EvidenceUnit,
  EvidenceReference,
  EvidenceSide,
  EvidencePart,
  MissingReason,
  EvidenceRule,
  EvidenceBreach,
  EvidencePosition,
  MissingEvidence,
  EvidenceChain,
  EvidenceSignature,
  RiskTemplate,
  RiskTemplateAccounts,
  RiskTemplateAnswer,
  RiskTemplatesAnswer,
};

/**
 * JSON Schema of checks that are functions in zod. Amounts and percentages get no `multipleOf`:
 * these schemas also describe answers, and for many validators 0.07 is no multiple of 0.01.
 */
export const RISK_SCHEMA_RULES: readonly (readonly [z.ZodType, Readonly<Record<string, unknown>>])[] = [
  [RiskTemplateSelection.shape.status, { uniqueItems: true }],
  [RiskTemplateSelection, { minProperties: 1 }],
  [RiskLimit, { minProperties: 1 }],
];
