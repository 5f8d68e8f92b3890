import { Argument, type Command } from "commander";

import type { Surroundings } from "../surroundings.ts";

/** Adds `kapi completion <shell>` to the program. */
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

/**
 * Words that may follow, by the words before. After a command such as "accounts list": its
 * subcommands, the values of its arguments, and its options. After a command with an option, such
 * as "accounts list --status": the values of the option.
 */
type Tree = ReadonlyMap<string, readonly string[]>;

const SCRIPTS: Readonly<Record<string, (tree: Tree) => string>> = { bash, zsh, fish };

function treeOf(program: Command): Tree {
  const tree = new Map<string, readonly string[]>();
  const add = (command: Command, words: readonly string[]): void => {
    const options = command.options.flatMap(({ long }) => long ?? []);
    const choices = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []);
    tree.set(words.join(" "), [...command.commands.map((child) => child.name()), ...choices, ...options, "--help"]);
    for (const { long, argChoices } of command.options) {
      if (argChoices !== undefined) tree.set([...words, long].join(" "), argChoices);
    }
    for (const child of command.commands) add(child, [...words, child.name()]);
  };
  add(program, []);
  return tree;
}

function bash(tree: Tree): string {
  const cases = [...tree].map(([words, next]) => `    "${words}") echo "${next.join(" ")}" ;;\n`).join("");
  return `_kapi() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" words="" next index word
  for ((index = 1; index < COMP_CWORD; index++)); do
    word="\${COMP_WORDS[index]}"
    if [[ "$word" != -* && " $(_kapi_next "$words") " == *" $word "* ]]; then words="\${words:+$words }$word"; fi
  done
  next="$(_kapi_next "$words")"
  if [[ "$previous" == --* ]]; then
    word="$(_kapi_next "\${words:+$words }$previous")"
    next="\${word:-$next}"
  fi
  COMPREPLY=($(compgen -W "$next" -- "$current"))
}
_kapi_next() {
  case "$1" in
${cases}  esac
}
complete -F _kapi kapi
`;
}

/** zsh runs the script of bash. */
function zsh(tree: Tree): string {
  return `autoload -Uz compinit && compinit -C\nautoload -U +X bashcompinit && bashcompinit\n${bash(tree)}`;
}

function fish(tree: Tree): string {
  const cases = [...tree]
    .map(([words, next]) => `        case '${words}'\n            printf '%s\\n' ${next.join(" ")}\n`)
    .join("");
  return `function __kapi_next
    switch "$argv"
${cases}    end
end
function __kapi_complete
    set -l typed (commandline -opc)
    set -l words
    for word in $typed[2..]
        if not string match -q -- '-*' $word; and contains -- $word (__kapi_next $words)
            set -a words $word
        end
    end
    if string match -q -- '--*' $typed[-1]
        set -l values (__kapi_next $words $typed[-1])
        if test (count $values) -gt 0
            printf '%s\\n' $values
            return
        end
    end
    __kapi_next $words
end
complete -c kapi -f -a '(__kapi_complete)'
`;
}
