import type { Command } from "commander";

import type { Call, CommandTree } from "./cli.ts";
import { actionOf } from "./cli.ts";
import { examplesText } from "./examples.ts";
import { exitCodes } from "./exit-codes.ts";
import { usageFailure } from "./failure.ts";

/** What can be typed after one command. */
interface Node {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly Flag[];
  /** Words that the first operand may be. */
  readonly words: readonly string[];
}

interface Flag {
  readonly long: string;
  readonly summary: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

type Shell = "bash" | "zsh" | "fish";

const shells = ["bash", "zsh", "fish"] as const satisfies readonly Shell[];

const examples = [
  ['eval "$(leasehold completion bash)"', "in ~/.bashrc"],
  ['eval "$(leasehold completion zsh)"', "in ~/.zshrc, after compinit"],
  ["leasehold completion fish | source", "in ~/.config/fish/config.fish"],
] as const;

/** Adds `completion SHELL`. */
export function addCompletion(tree: CommandTree): void {
  tree.program
    .command("completion")
    .summary("print what makes a shell complete commands")
    .description("Prints a script that makes bash, zsh or fish complete commands and options.")
    .argument("<SHELL>", shells.join(", "))
    .addHelpText("after", examplesText(examples))
    .action(actionOf(tree, (call) => completion(tree, call)));
}

function completion({ program, cli }: CommandTree, { operands }: Call): Promise<number> {
  const shell = shells.find((known) => known === operands[0]);
  if (shell === undefined) {
    const got = JSON.stringify(operands[0]);
    throw usageFailure(`SHELL must be ${shells.join(", ")}; got ${got}`);
  }
  const nodes = readTree(program);
  cli.out.raw(scriptOf(shell, nodes));
  return Promise.resolve(exitCodes.done);
}

function scriptOf(shell: Shell, nodes: readonly Node[]): string {
  switch (shell) {
    case "bash":
      return bashScript(nodes);
    case "zsh":
      return zshScript(nodes);
    case "fish":
      return fishScript(nodes);
  }
}

function readTree(program: Command): readonly Node[] {
  const common = flagsOf(program).filter(({ long }) => long !== "--version");
  const commands = program.commands.map((command) => ({
    name: command.name(),
    summary: command.summary(),
    flags: [...flagsOf(command), ...common],
    words: command.name() === "completion" ? shells : [],
  }));
  const names = commands.map(({ name }) => name);
  const help = { name: "help", summary: "show help for a command", flags: [], words: names };
  return [...commands, help];
}

function flagsOf(command: Command): readonly Flag[] {
  const help = { long: "--help", summary: "show help", takesValue: false, choices: [] };
  const own = command.options.map((option) => ({
    long: option.long ?? option.flags,
    summary: option.description,
    takesValue: option.required,
    choices: option.argChoices ?? [],
  }));
  return command.parent === null ? own : [...own, help];
}

/** Values by command and flag, as patterns of a shell's `case`. */
function choiceCases(nodes: readonly Node[], line: (words: string) => string): string {
  return nodes
    .flatMap(({ name, flags }) => flags.map((flag) => ({ name, ...flag })))
    .filter(({ choices }) => choices.length > 0)
    .map(({ name, long, choices }) => `    ${name}:${long}) ${line(choices.join(" "))} ;;\n`)
    .join("");
}

/** Flags that take a value nobody can list; files are offered for it. */
function valueFlags(nodes: readonly Node[]): string {
  const flags = nodes.flatMap((node) => node.flags);
  const open = flags.filter(({ takesValue, choices }) => takesValue && choices.length === 0);
  return [...new Set(open.map(({ long }) => long))].join("|");
}

function bashScript(nodes: readonly Node[]): string {
  const names = nodes.map(({ name }) => name).join(" ");
  const valueCases = choiceCases(nodes, (words) => `words="${words}"`);
  const openFlags = valueFlags(nodes).replaceAll("|", "|*:");
  const cases = nodes.map(({ name, flags, words }) => {
    const offered = [...words, ...flags.map(({ long }) => long)].join(" ");
    return `    ${name}) words="${offered}" ;;\n`;
  });
  return `# bash completion of leasehold
_leasehold() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local command=\${COMP_WORDS[1]} words="" at
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ \${COMP_WORDS[at]} == -- ]]; then
      COMPREPLY=($(compgen -c -- "$word")); return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "${names} --help --version" -- "$word")); return
  fi
  case $command:$before in
${valueCases}    *:${openFlags}) return ;;
  esac
  [[ -n $words ]] || case $command in
${cases.join("")}  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _leasehold leasehold
`;
}

function zshScript(nodes: readonly Node[]): string {
  const commands = nodes.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`);
  const cases = nodes.map(({ name, flags, words }) => {
    const specs = flags.map((flag) => quoted(zshSpec(flag)));
    const operand = words.length === 0 ? "*::command:_normal" : `1:word:(${words.join(" ")})`;
    return `    ${name}) _arguments ${[...specs, quoted(operand)].join(" ")} ;;\n`;
  });
  return `#compdef leasehold
_leasehold() {
  local -a commands
  commands=(
${commands.join("")}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local name=$words[2]
  shift words; ((CURRENT--))
  case $name in
${cases.join("")}  esac
}
compdef _leasehold leasehold
`;
}

function zshSpec({ long, summary, takesValue, choices }: Flag): string {
  const text = summary.replaceAll(/[[\]:]/g, String.raw`\$&`);
  if (!takesValue) return `${long}[${text}]`;
  const values = choices.length === 0 ? "_files" : `(${choices.join(" ")})`;
  return `${long}[${text}]:value:${values}`;
}

function fishScript(nodes: readonly Node[]): string {
  const names = nodes.map(({ name, summary }) =>
    fishLine("__fish_use_subcommand", `-f -a ${name} -d ${quoted(summary)}`),
  );
  const rest = nodes.flatMap(({ name, flags, words }) => {
    const seen = `__fish_seen_subcommand_from ${name}`;
    const offered = words.length === 0 ? [] : [fishLine(seen, `-f -a ${quoted(words.join(" "))}`)];
    const options = flags.map(({ long, summary, takesValue, choices }) => {
      const value = choices.length === 0 ? " -r" : ` -x -a ${quoted(choices.join(" "))}`;
      const tail = `${takesValue ? value : ""} -d ${quoted(summary)}`;
      return fishLine(seen, `-l ${long.slice(2)}${tail}`);
    });
    return [...offered, ...options];
  });
  return `# fish completion of leasehold\n${[...names, ...rest].join("")}`;
}

function fishLine(condition: string, what: string): string {
  return `complete -c leasehold -n ${quoted(condition)} ${what}\n`;
}

/** A text in single quotes, as all three shells read it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
