/**
 * Problems of files that hold secrets end up in terminals, logs and tickets. However such a file is broken,
 * no problem quotes any part of a password or token from it.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import fc from 'fast-check';
import t from 'tap';
import { stringify } from 'yaml';
import { parseStonegate } from '../../src/app/configuration.ts';
import { mergeEntries } from '../../src/cli/kubeconfig/entries.ts';
import { readContext } from '../../src/cli/kubeconfig/read-context.ts';
import { readCloud } from '../../src/cli/login/clouds-yaml.ts';
import { formatProblem } from '../../src/config/problem.ts';
import { parseBasicAuthFile, parseTokenFile } from '../../src/config/static-users.ts';
import { TENANCY_FACTS } from '../../src/tenancy/facts.ts';

/** Parts of secrets that occur in no message of Stonegate. */
const PARTS = ['zqj', '7xk', 'ßÞ', '0451'];

function assertTellsNothing(said: string): void {
  for (const part of PARTS) assert.ok(!said.includes(part), said);
}

const textOf = (...pieces: string[]) =>
  fc.array(fc.constantFrom(...PARTS, ...pieces), { maxLength: 24 }).map((parts) => parts.join(''));

t.test(
  'no problem of a line of a user file quotes its secret, whatever is wrong with its columns',
  async () => {
    const content = textOf(
      ...[',', ',', ',', '"', '""', ' ', ':', '\n', '\r\n', '\t', 'alice', 'acme', 'all', 'system:'],
      ...['gAAAAA', '$6$', '{SHA}', '$2b$31$', '$scrypt$ln=9,r=9,p=9$'],
    );
    const rules = {
      usernamePrefix: '',
      groupsPrefix: '',
      facts: TENANCY_FACTS.arktos,
      tenantOfOthers: undefined,
    };
    fc.assert(
      fc.property(content, (text) => {
        for (const parse of [parseTokenFile, parseBasicAuthFile])
          assertTellsNothing(parse(Buffer.from(text), rules).problems.join('\n'));
      }),
      { numRuns: 2_000 },
    );
  },
);

/** Values that YAML may parse as something other than text. */
const yaml = textOf(
  ...['"', "'", ': ', ':', '- ', '{', '}', '[', ']', ',', '#', '&', '*', '!', '!!', '|', '>', '%', '@', '`'],
  ...['\n', '\n  ', '\n    ', '\t', '\\', '\\x', '---\n', '...\n', '? ', '<<: ', ' '],
);

/** @param read returns the problem, or throws it */
async function saidBy(read: () => unknown): Promise<string> {
  try {
    await read();
    return '';
  } catch (error) {
    return String(error);
  }
}

t.test('no problem of a clouds.yaml quotes its password', async (t) => {
  const folder = t.testdir({ 'clouds.yaml': '' });
  await fc.assert(
    fc.asyncProperty(yaml, async (password) => {
      const text = `clouds:\n  acme:\n    auth:\n      password: ${password}\n      username: alice\n`;
      await writeFile(`${folder}/clouds.yaml`, text);
      // The problem names the clouds, and their names contain no secret.
      const said = await saidBy(() => readCloud('acme', { env: { HOME: folder }, folder, siteFolders: [] }));
      assertTellsNothing(said.replace(/; there is .*/s, ''));
    }),
    { numRuns: 500 },
  );
});

t.test('no problem of a kubeconfig quotes its token', async (t) => {
  const folder = t.testdir({ config: '' });
  const entries = { clusters: [], users: [], contexts: [] };
  await fc.assert(
    fc.asyncProperty(yaml, async (token) => {
      const text = `users:\n- name: me\n  user:\n    token: ${token}\nclusters: []\n`;
      await writeFile(`${folder}/config`, text);
      const ask = async () => (await readContext([`${folder}/config`], 'me')).credential();
      assertTellsNothing(await saidBy(ask));
      assertTellsNothing(
        await saidBy(() => mergeEntries(text, entries, { force: false, use: undefined }, 'config')),
      );
    }),
    { numRuns: 500 },
  );
});

/** A configuration with a value at each place where an operator may write a secret instead of its source. */
function withSecrets(secret: unknown): object {
  const password = { userName: 'u', userDomainName: 'd', scope: { system: true }, password: secret };
  return {
    apiVersion: 'stonegate.dev/v1alpha1',
    kind: 'StonegateConfiguration',
    server: { tls: { certFile: 'c', keyFile: [secret] } },
    upstream: { server: 'https://u', credential: { tokenFile: [secret] } },
    tenancy: { mode: 'arktos' },
    authentication: {
      keystone: { url: 'https://k/v3', serviceCredential: { password } },
      basicAuthFile: secret,
    },
    cache: { redis: { url: secret }, sealingKeys: [secret] },
    portal: {
      publicURL: 'https://p',
      tls: { certFile: 'c', keyFile: 'k' },
      kubernetes: { server: 'https://s' },
      oidc: [{ name: 'a', issuer: 'https://i', clientID: 'a', displayName: 'a', clientSecret: secret }],
    },
  };
}

t.test('no problem quotes a secret that was written in place of its source', async () => {
  const secret = fc.oneof(
    textOf('!', ' ', '@', ':', '#').filter((text) => text !== ''),
    fc.constant(10_451),
    fc.constantFrom(...PARTS).map((key) => ({ [key]: null })),
  );
  fc.assert(
    fc.property(secret, (value) => {
      const { problems } = parseStonegate(stringify(withSecrets(value)), '/etc/stonegate');
      assert.ok(problems.length > 0);
      assertTellsNothing(problems.map(formatProblem).join('\n'));
    }),
  );
});

t.test('no problem of a configuration with invalid YAML quotes a secret', async () => {
  fc.assert(
    fc.property(yaml, (secret) => {
      const text = `cache:\n  sealingKeys:\n    - fromEnv: ${secret}\n`;
      const { problems } = parseStonegate(text, '/etc/stonegate');
      const unreadable = problems.filter(({ path }) => path === '');
      assertTellsNothing(unreadable.map(formatProblem).join('\n'));
    }),
    { numRuns: 500 },
  );
});
