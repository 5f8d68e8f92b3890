/**
 * Names of functions and constants (decisions, 18). Each kind of function has one form of name, so
 * that the name says what the function returns.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

import {
  type FunctionDeclaration,
  type ModuleItem,
  parseSync,
  type TsType,
  type TsTypeAnnotation,
  type VariableDeclaration,
} from "@swc/core";

import { filesBelow } from "./files.ts";

const SOURCE = /\/src\/.*\.ts$/;
/** The library with the hooks and parsers of every HTTP server, and no routes of a service. */
const HTTP_LIBRARY = /^libs\/http\//;
const STARTS = /^start[A-Z]/;
const FACTORY_VERBS = /^(make|new)[A-Z]/;
const ROUTES = /^register\w*Routes$/;
const CONSTANT = /^[A-Z][A-Z0-9_]*$/;

/** Names below `root` that break a rule, one sentence each. */
export function nameFaults(root: string): string[] {
  return filesBelow(root)
    .filter((file) => SOURCE.test(file) && !file.endsWith(".test.ts"))
    .flatMap((file) => faultsOf(file, readFileSync(path.join(root, file), "utf8")));
}

function faultsOf(file: string, text: string): string[] {
  return parseSync(text, { syntax: "typescript" })
    .body.flatMap((item) => {
      const declared = declarationOf(item);
      if (declared?.type === "FunctionDeclaration") return functionFaults(file, declared);
      return declared?.type === "VariableDeclaration" ? constantFaults(declared) : [];
    })
    .map((fault) => `${file}: ${fault}`);
}

function declarationOf(item: ModuleItem): FunctionDeclaration | VariableDeclaration | null {
  const declared = item.type === "ExportDeclaration" ? item.declaration : item;
  return declared.type === "FunctionDeclaration" || declared.type === "VariableDeclaration" ? declared : null;
}

function functionFaults(file: string, declared: FunctionDeclaration): string[] {
  const name = declared.identifier.value;
  const returned = declared.returnType?.typeAnnotation;
  const first = declared.params[0]?.pat;
  // The types of swc lack the annotation of a parameter.
  const { typeAnnotation } = (first ?? {}) as { readonly typeAnnotation?: TsTypeAnnotation };
  const firstType = nameOf(typeAnnotation?.typeAnnotation);
  const faults: string[] = [];
  if (isStarted(returned) && !STARTS.test(name)) faults.push(`${name} returns Started: name it start…`);
  if (FACTORY_VERBS.test(name)) faults.push(`${name}: name a factory create…`);
  if (firstType === "FastifyInstance" && isVoid(returned) && !ROUTES.test(name) && !HTTP_LIBRARY.test(file))
    faults.push(`${name} adds routes: name it register…Routes`);
  return faults;
}

/** An SQL statement in a variable of a module must have a name in capitals. */
function constantFaults({ declarations }: VariableDeclaration): string[] {
  return declarations.flatMap(({ id, init }) => {
    if (id.type !== "Identifier" || init?.type !== "CallExpression") return [];
    const isStatement = init.callee.type === "Identifier" && init.callee.value === "statement";
    return isStatement && !CONSTANT.test(id.value) ? [`${id.value} is a statement: write it in capitals`] : [];
  });
}

function isStarted(type: TsType | undefined): boolean {
  if (nameOf(type) === "Started") return true;
  return type?.type === "TsTypeReference" && nameOf(type) === "Promise" && isStarted(type.typeParams?.params[0]);
}

function isVoid(type: TsType | undefined): boolean {
  return type?.type === "TsKeywordType" && type.kind === "void";
}

function nameOf(type: TsType | undefined): string | null {
  return type?.type === "TsTypeReference" && type.typeName.type === "Identifier" ? type.typeName.value : null;
}
