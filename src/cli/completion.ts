/**
 * `stonegate completion`: a script by which a shell completes commands, their options and enumerated values.
 * It is made from the tables by which the commands parse their options. Other values are file names.
 * https://www.gnu.org/software/bash/manual/html_node/Programmable-Completion.html
 * https://fishshell.com/docs/current/cmds/complete.html
 */
import {
  type AcceptedWords,
  type Commands,
  createCommand,
  FLAG,
  refuseWords,
  UsageError,
} from './command.ts';

const USAGE = `Usage: stonegate completion bash|zsh|fish

Prints the script by which the shell completes the commands of stonegate. Put
one of these lines into the file that the shell reads at its start:
  source <(stonegate completion bash)           ~/.bashrc
  source <(stonegate completion zsh)            ~/.zshrc
  stonegate completion fish | source            ~/.config/fish/config.fish

  --help  this text

Exit codes: 0 printed, 2 wrong usage.
`;

const SHELLS = ['bash', 'zsh', 'fish'] as const;

export const completion = createCommand(
  { usage: USAGE, options: {}, words: SHELLS },
  async ({ words: [name, ...more], io }, commands: Commands) => {
    refuseWords(more);
    const shell = SHELLS.find((known) => known === name);
    if (shell === undefined) throw new UsageError(`which shell? One of ${SHELLS.join(', ')}`);
    const described = await Promise.all(Object.keys(commands).map((command) => describe(command, commands)));
    io.stdout(shell === 'fish' ? fishScript(described) : bashScript(described, shell));
  },
);

interface Described {
  readonly name: string;
  readonly does: string;
  readonly words: readonly string[];
  readonly options: readonly DescribedOption[];
}

interface DescribedOption {
  readonly long: string;
  /** `--output`, and `-o` if there is a short form. */
  readonly spelled: readonly string[];
  readonly takesValue: boolean;
  readonly choices: readonly string[] | undefined;
}

async function describe(name: string, commands: Commands): Promise<Described> {
  const { does = '', load } = commands[name] ?? {};
  const command = await load?.();
  const accepted: AcceptedWords[] = [];
  const io = { stdout() {}, stderr() {}, describe: (words: AcceptedWords) => void accepted.push(words) };
  await command?.([], io);
  const words = accepted.flatMap(({ words = [] }) => words).filter((word) => /^[a-z-]+$/.test(word));
  // The first word of some commands decides which options they have.
  for (const word of words) await command?.([word], io);
  const options = [{ help: FLAG } as const, ...accepted.map(({ options }) => options)];
  return { name, does, words, options: describeOptions(Object.assign({}, ...options)) };
}

function describeOptions(options: AcceptedWords['options']): DescribedOption[] {
  return Object.entries(options)
    .filter(([, { choices }]) => choices?.length !== 0)
    .map(([long, { short, type, choices }]) => ({
      ...{ long, takesValue: type === 'string', choices },
      spelled: [`--${long}`, ...(short === undefined ? [] : [`-${short}`])],
    }));
}

/** zsh takes it too: `bashcompinit` of zsh runs completions of bash. */
function bashScript(commands: readonly Described[], shell: 'bash' | 'zsh'): string {
  return `${shell === 'zsh' ? ZSH_PRELUDE : ''}_stonegate() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="\${COMP_WORDS[1]}" first='' candidates='' values=''
  # The options of login follow "--".
  [[ " \${COMP_WORDS[*]:0:$COMP_CWORD} " == *' -- '* ]] && command=login
  case $command in
${commands.map(bashCase).join('')}  esac
  if ((COMP_CWORD == 1)); then candidates='${commands.map(({ name }) => name).join(' ')}'
  elif [[ -n $values ]]; then candidates=\${values/FILE/}
  elif ((COMP_CWORD == 2)) && [[ -n $first && $current != -* ]]; then candidates=$first
  fi
  COMPREPLY=($(compgen -W "$candidates" -- "$current"))
}
complete -o default -F _stonegate stonegate
`;
}

const ZSH_PRELUDE = `(( \${+functions[compdef]} )) || { autoload -Uz compinit && compinit; }
autoload -Uz bashcompinit && bashcompinit
`;

function bashCase({ name, words, options }: Described): string {
  const values = options.filter(({ takesValue }) => takesValue);
  const cases = [
    ...values.filter(({ choices }) => choices !== undefined),
    {
      spelled: values.flatMap(({ choices, spelled }) => (choices === undefined ? spelled : [])),
      choices: ['FILE'],
    },
  ]
    .filter(({ spelled }) => spelled.length > 0)
    .map(({ spelled, choices = [] }) => `${spelled.join('|')}) values='${choices.join(' ')}' ;; `);
  return `    ${name})
      first='${words.join(' ')}'
      candidates='${options.map(({ long }) => `--${long}`).join(' ')}'
      ${cases.length > 0 ? `case $previous in ${cases.join('')}esac ` : ''};;
`;
}

function fishScript(commands: readonly Described[]): string {
  const lines = commands.flatMap(({ name, does, words, options }) => {
    const seen = `__fish_seen_subcommand_from ${name}`;
    const second = `${seen}; and test (count (commandline -opc)) -eq 2`;
    return [
      `-n __fish_use_subcommand -a ${name} -d ${quote(does)}`,
      ...(words.length === 0 ? [] : [`-n ${quote(second)} -a ${quote(words.join(' '))}`]),
      ...options.map(({ long, spelled: [, short], takesValue, choices }) =>
        [
          `-n ${quote(seen)} -l ${long}`,
          ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
          ...(takesValue ? [choices === undefined ? '-rF' : `-x -a ${quote(choices.join(' '))}`] : []),
        ].join(' '),
      ),
    ];
  });
  return `complete -c stonegate -f\n${lines.map((line) => `complete -c stonegate ${line}\n`).join('')}`;
}

/** Quotes a text for fish. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}
