/** Each sub-command of `npm run bench`, `scenario` and `verify` has a file, and is documented. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
const USAGE_EXIT_CODE = 2;

interface Group {
  readonly commands: Readonly<Record<string, { readonly node: readonly string[]; readonly help: string }>>;
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}

function run(args: readonly string[]): { status: number | null; out: string; err: string } {
  const command = [path.join(ROOT, "test/commands.mjs"), ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: "utf8" });
  return { status, out: stdout, err: stderr };
}

const groups = Object.entries(JSON.parse(read("test/commands.json")) as Record<string, Group>);

describe.each(groups)("npm run %s", (group, { commands }) => {
  const names = Object.keys(commands);

  it("is a script of package.json", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    expect(scripts[group]).toBe(`node test/commands.mjs ${group}`);
  });

  it("has a file and a row in docs/testing.md for each sub-command", () => {
    const page = read("docs/testing.md");
    for (const [name, { node }] of Object.entries(commands)) {
      const files = node.filter((argument) => argument.includes("/") && !argument.startsWith("node_modules/"));
      expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
      expect(page).toMatch(new RegExp(`^\\| \`${name}\` +\\|`, "m"));
    }
  });

  it("names the same parts of a sub-command in its help and in docs/testing.md", () => {
    const page = read("docs/testing.md");
    for (const [name, { help }] of Object.entries(commands)) {
      const parts = /parts: (.+)$/.exec(help)?.[1];
      if (parts !== undefined) expect(page).toContain(`\`npm run ${group} -- ${name} ${parts}\``);
    }
  });

  it.each([[[]], [["--help"]]])("lists every sub-command if the arguments are %j", (args) => {
    const { status, out } = run([group, ...args]);
    expect(status).toBe(0);
    for (const name of names) expect(out).toMatch(new RegExp(`^ {2}${name} {2,}\\S`, "m"));
  });

  it("exits with 2 for an unknown sub-command, and lists the known ones", () => {
    const { status, out, err } = run([group, "nope"]);
    expect({ status, out }).toEqual({ status: USAGE_EXIT_CODE, out: "" });
    expect(err).toContain('Unknown sub-command "nope"');
    for (const name of names) expect(err).toContain(`  ${name} `);
  });
});
