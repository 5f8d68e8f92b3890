import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

import { runOrThrow } from "@kapi/servers";

const OPENSSL_TIMEOUT_MS = 20_000;
const NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const DAYS = ["-days", "2"];

/** A certificate and its key, as PEM texts and as files. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  readonly certificateFile: string;
  readonly keyFile: string;
}

/** Issues certificates. */
export interface CertificateAuthority extends Certificate {
  /** Issues a certificate for `name`: the host name of a server, or the name of a client. */
  issue(name: string): Promise<Certificate>;
}

/**
 * Creates an authority with openssl. Its files and the files of its certificates are in `folder`;
 * their names begin with `name`.
 */
export async function createAuthority(folder: string, name: string): Promise<CertificateAuthority> {
  const authority = filesOf(folder, name);
  const { certificateFile, keyFile } = authority;
  await openssl(
    "req",
    "-x509",
    ...NEW_KEY,
    ...DAYS,
    "-subj",
    `/CN=${name}`,
    "-keyout",
    keyFile,
    "-out",
    certificateFile,
  );
  return {
    ...read(authority),
    issue: async (subject) => {
      const issued = filesOf(folder, `${name}-${subject}`);
      const [request, extensions] = [`${issued.keyFile}.request`, `${issued.keyFile}.extensions`];
      writeFileSync(extensions, `subjectAltName=DNS:${subject}\n`);
      await openssl("req", ...NEW_KEY, "-subj", `/CN=${subject}`, "-keyout", issued.keyFile, "-out", request);
      const signer = ["-CA", certificateFile, "-CAkey", keyFile, "-CAcreateserial"];
      const output = ["-extfile", extensions, "-out", issued.certificateFile];
      await openssl("x509", "-req", "-in", request, ...signer, ...DAYS, ...output);
      return read(issued);
    },
  };
}

interface Files {
  readonly certificateFile: string;
  readonly keyFile: string;
}

function filesOf(folder: string, name: string): Files {
  return { certificateFile: path.join(folder, `${name}.crt`), keyFile: path.join(folder, `${name}.key`) };
}

function read(files: Files): Certificate {
  const [certificate, key] = [files.certificateFile, files.keyFile].map((file) => readFileSync(file, "utf8"));
  return { certificate: certificate ?? "", key: key ?? "", ...files };
}

async function openssl(...args: readonly string[]): Promise<void> {
  await runOrThrow("openssl", args, { timeoutMs: OPENSSL_TIMEOUT_MS });
}
