import { Argument, type Command } from "commander";

import type { Surroundings } from "../surroundings.ts";

/** `kapi completion <shell>` */
export function addCompletion(program: Command, surroundings: Surroundings): void {
  program
    .command("completion")
    .description("Print the completion script of a shell")
    .addArgument(new Argument("<shell>").choices(Object.keys(SCRIPTS)))
    .addHelpText(
      "after",
      "\nExamples:\n  source <(kapi completion bash)\n  kapi completion fish > ~/.config/fish/completions/kapi.fish",
    )
    .action((shell: string) => surroundings.out(SCRIPTS[shell]?.(treeOf(program)) ?? ""));
}

/** Words that may follow a command, by the words of the command: "accounts list" → its options. */
type Tree = ReadonlyMap<string, readonly string[]>;

const SCRIPTS: Readonly<Record<string, (tree: Tree) => string>> = { bash, zsh, fish };

function treeOf(program: Command): Tree {
  const tree = new Map<string, readonly string[]>();
  const add = (command: Command, words: readonly string[]): void => {
    const options = command.options.flatMap(({ long }) => long ?? []);
    const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    tree.set(words.join(" "), [...command.commands.map((child) => child.name()), ...choices, ...options, "--help"]);
    for (const child of command.commands) add(child, [...words, child.name()]);
  };
  add(program, []);
  return tree;
}

function bash(tree: Tree): string {
  const cases = [...tree].map(([words, next]) => `    "${words}") next="${next.join(" ")}" ;;\n`).join("");
  return `_kapi() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" next="" index word
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ "$word" != -* && " $(_kapi_next "$words") " == *" $word "* ]]; then words="\${words:+$words }$word"; fi
  done
  COMPREPLY=($(compgen -W "$(_kapi_next "$words")" -- "$current"))
}
_kapi_next() {
  local next=""
  case "$1" in
${cases}  esac
  echo "$next"
}
complete -F _kapi kapi
`;
}

/** zsh runs the script of bash. */
function zsh(tree: Tree): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(tree)}`;
}

function fish(tree: Tree): string {
  const lines = [...tree].flatMap(([words, next]) => {
    const condition =
      words === ""
        ? "__fish_use_subcommand"
        : words
            .split(" ")
            .map((word) => `__fish_seen_subcommand_from ${word}`)
            .join("; and ");
    return next.map((word) =>
      word.startsWith("--")
        ? `complete -c kapi -n '${condition}' -l ${word.slice(2)}`
        : `complete -c kapi -f -n '${condition}' -a ${word}`,
    );
  });
  return `${lines.join("\n")}\n`;
}
