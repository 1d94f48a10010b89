/**
 * Checks the language rules of CONTRIBUTING.md as far as a program can: rejected words, which are metaphors
 * or name no actor, and comment lines that are too long.
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

/** The same for what users and operators read; code and its comments may use them. */
const DOCUMENT_WORDS: Readonly<Record<string, string>> = {
  blanks: 'spaces',
  whom: 'a sentence with who, that, or the user as its subject',
  'this was not done': 'what failed: sign-in failed',
  beside: 'besides, next to, in addition to, together with',
  stands: 'is, is written, means, matches',
};
const REJECTED = patternOf(WORDS);
const REJECTED_IN_DOCUMENTS = patternOf({ ...WORDS, ...DOCUMENT_WORDS });
const DOCUMENTS =
  /^(?:README|SECURITY)\.md$|^docs\/(?:providers\/)?[^/]+\.md$|^docs\/reference\/(?:api|configuration|errors)\.md$/;

function patternOf(words: Readonly<Record<string, string>>): RegExp {
  return new RegExp(`(?<![\\w-])(?:${Object.keys(words).join('|')})(?![\\w-])`, 'gi');
}

const COLUMNS = 110;
const COMMENT = /^ *(?:\/\/|\*|\/\*\*)/;
/** A URL cannot be broken into lines. */
const ADDRESS_ALONE = /^ *(?:\/\/|\*) https:\/\/\S+$/;

/** Files that quote text of others unchanged. */
const QUOTED: readonly RegExp[] = [
  // Test cases of other projects.
  /^docs\/reference\/conformance\.md$/,
  /^test\/(?:conformance|contracts)\/(?:recorded|cases)/,
  // This table.
  /^test\/repository\/words\.test\.ts$/,
];

/**
 * Lines of the source with a rejected word that are output: Status messages, what commands print and
 * manifests. Users and scripts may depend on them, so they change only with a reason, and never together
 * with the wording of the code.
 */
const OUTPUT: Readonly<Record<string, readonly string[]>> = {
  'src/features/bindings/plan.ts': ["const [first = 'nobody', ...others]"],
  'src/features/bindings/grants.ts': [
    "'is users: what a person holds",
    "reason: 'people may ask what they may do'",
  ],
  'src/app/commands/rbac-manifests.ts': ['Ask what a person may do:'],
  // `people` is the name of a field, and of the option that sets it.
  'docs/who-can.md': ['people'],
  'docs/reference/api.md': ['people'],
  'test/unit/features/who-can/handle-who-can.test.ts': ['people'],
  'src/features/who-can/handle-who-can.ts': ['people'],
  'src/cli/who-can.ts': ['people'],
  'test/e2e/who-can-real-keystone.test.ts': ['people'],
  'test/unit/features/who-can/keystone-names.test.ts': ['people'],
  'test/unit/cli/who-can.test.ts': ['people'],
  'src/features/who-can/who-can-v1alpha1.ts': ['people'],
  'src/features/who-can/who-can.ts': ['people'],
  'src/features/who-can/keystone-names.ts': ['people'],
  'src/features/members/member-v1alpha1.ts': ['people'],
  'src/features/members/handle-members.ts': ['people'],
  'test/e2e/kubernetes-members.test.ts': ['people'],
  'src/proxy/request/body-yaml.ts': ["'a number cannot be kept exactly: send JSON'"],
  'src/features/portal/problem.ts': ["text: 'Sessions cannot be kept at the moment."],
};

/** `src/proxy`, `test/unit`, `docs`. */
function folderOf(file: string): string {
  const parts = file.split('/');
  return parts.length === 1
    ? '.'
    : parts.slice(0, ['src', 'test'].includes(parts[0] ?? '') ? 2 : 1).join('/');
}

function offencesIn(file: string): string[] {
  const rejected = DOCUMENTS.test(file) ? REJECTED_IN_DOCUMENTS : REJECTED;
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line, at) => {
      const output = OUTPUT[file]?.some((text) => line.includes(text)) ?? false;
      const found = output ? [] : [...line.matchAll(rejected)];
      const words = found.map(([word]) => `${file}:${at + 1}: ${word}`);
      const long =
        file.endsWith('.ts') && line.length > COLUMNS && COMMENT.test(line) && !ADDRESS_ALONE.test(line);
      return long ? [...words, `${file}:${at + 1}: a comment of ${line.length} columns`] : words;
    });
}

t.test('no file has rejected words or comment lines over 110 columns', async (t) => {
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
    t.same(offences.slice(0, 50), [], folder);
  }
});
