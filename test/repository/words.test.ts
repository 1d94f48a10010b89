/**
 * Holds the language rules of CONTRIBUTING.md as far as a machine can: words that are metaphors or name no actor, and
 * comment lines that are too long.
 */
import { globSync, readFileSync } from 'node:fs';
import t from 'tap';

/** Rejected words as patterns, each with what to write instead. */
const WORDS: Readonly<Record<string, string>> = {
  'nobody|somebody|whoever|whomever': 'the actor: the client, the user, the operator, the process, no user',
  'people|persons?|strangers?': 'users, clients, operators, attackers',
  errands: 'pending requests',
  errand: 'pending request',
  departures: 'connection pools',
  patience: 'timeout',
  'landscapes?': 'testbed',
  'surroundings|madeOf': 'runtime dependencies, fingerprint',
  'wish(?:es)?': 'what is requested, or desired',
  heeded: 'handled',
  'goodbye|farewell': 'GOAWAY',
  'seats?': 'permit of a limiter',
  tally: 'summary',
  'passages?': 'request context',
  remembered: 'cached, stored, memoized',
  kept: 'stored, cached, idle, unchanged',
  leaving: 'cancellation',
};
const REJECTED = new RegExp(`(?<![\\w-])(?:${Object.keys(WORDS).join('|')})(?![\\w-])`, 'gi');

const COLUMNS = 110;
const COMMENT = /^ *(?:\/\/|\*|\/\*\*)/;

/** Text of others, which is quoted as it is. */
const QUOTED: readonly RegExp[] = [
  // Cases of other projects.
  /^docs\/conformance\.md$/,
  /^test\/(?:conformance|contracts)\/(?:recorded|cases)/,
  // This table.
  /^test\/repository\/words\.test\.ts$/,
];

/**
 * What is still to be rewritten, by folder: the number of words and of long comment lines that it may have. Numbers only
 * go down.
 */
const LEFT: Readonly<Record<string, number>> = {
  'test/unit': 407,
  'src/main.ts': 1,
  'src/upstream': 86,
  'src/tenancy': 72,
  'src/portal': 1,
  'src/pipeline': 211,
  'src/observability': 42,
  'src/lib': 88,
  'src/http1': 37,
  'src/flowcontrol': 29,
  'src/errors': 3,
  'src/config': 128,
  'src/clients': 130,
  'src/cli': 186,
  'src/cache': 95,
  'src/bindings': 227,
  'src/authorization': 66,
  'src/authentication': 129,
  'src/audit': 7,
  'src/app': 63,
  'src/admission': 34,
};

/** `src/pipeline`, `test/unit`, `docs`. */
function folderOf(file: string): string {
  const parts = file.split('/');
  return parts.length === 1
    ? '.'
    : parts.slice(0, ['src', 'test'].includes(parts[0] ?? '') ? 2 : 1).join('/');
}

function offencesIn(file: string): string[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      const words = [...line.matchAll(REJECTED)].map(([word]) => `${file}:${at + 1}: ${word}`);
      const long = file.endsWith('.ts') && line.length > COLUMNS && COMMENT.test(line);
      return long ? [...words, `${file}:${at + 1}: a comment of ${line.length} columns`] : words;
    });
}

t.test('no rejected words and no comment lines over 110 columns, but for those that are left', async (t) => {
  const files = globSync([
    '{src,test,demo,scripts}/**/*.ts',
    'docs/**/*.md',
    '{README,SECURITY,CONTRIBUTING}.md',
  ]).filter((file) => !QUOTED.some((pattern) => pattern.test(file)));
  t.ok(files.length > 0);
  const found = new Map<string, string[]>();
  for (const file of files) {
    const folder = folderOf(file);
    found.set(folder, [...(found.get(folder) ?? []), ...offencesIn(file)]);
  }
  for (const [folder, offences] of found) {
    const left = LEFT[folder] ?? 0;
    t.ok(offences.length <= left, `${folder}: ${offences.length} of ${left} that are left`, {
      found: offences.slice(0, 50),
    });
  }
});
