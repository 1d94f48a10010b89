/**
 * Users of a token file and of a basic-auth file, and requests without any credential, against the whole
 * program.
 */
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { hash } from '@node-rs/bcrypt';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { request2 } from '../support/server/listening.ts';
import { startStonegate } from '../support/stonegate.ts';

const SETTINGS = '/api/v1/namespaces/default/configmaps/settings';
const ANONYMOUS = { anonymous: { enabled: true, paths: ['/version'] } };

async function setUp(t: Test) {
  const folder = t.testdir({
    'tokens.csv': 'daves-token,dave,41,"developers,ops",,acme\n',
    'passwords.csv': `${await hash('erins password', 4)},erin,42,,globex\n`,
  });
  const stonegate = await startStonegate(t, {
    folder,
    configuration: {
      authentication: { tokenFile: { file: 'tokens.csv' }, basicAuthFile: { file: 'passwords.csv' } },
    },
  });
  const { seed } = stonegate.apiServer;
  for (const [tenant, user] of [
    ['acme', 'acme:token:dave'],
    ['globex', 'globex:basic:erin'],
  ] as const)
    seed.clusterRoleBinding('written', 'worker', [`user:${user}`], { tenant });
  return { ...stonegate, folder };
}

const basic = (userName: string, password: string) => ({
  headers: { authorization: `Basic ${Buffer.from(`${userName}:${password}`).toString('base64')}` },
});

t.test('users of the files reach their tenants as themselves', async (t) => {
  const { ask } = await setUp(t);
  const dave = await ask('daves-token', SETTINGS);
  t.match([dave.status, dave.json().data], [200, { owner: 'acme' }]);
  const erin = await ask(undefined, SETTINGS, basic('erin', 'erins password'));
  t.match([erin.status, erin.json().data], [200, { owner: 'globex' }]);
  t.equal((await ask(undefined, SETTINGS, basic('erin', 'guess'))).status, 401);
  t.equal((await ask('daves-tokeN', SETTINGS)).status, 401);
  const both = { headers: { ...basic('erin', 'erins password').headers, 'x-auth-token': 'daves-token' } };
  t.equal((await ask(undefined, SETTINGS, both)).status, 401, 'two credentials');
});

t.test(
  'a user whose line is removed is refused, and a bad file does not replace the last good one',
  async (t) => {
    const { ask, folder, app, logged } = await setUp(t);
    await writeFile(join(folder, 'tokens.csv'), 'daves-token,dave,41,acme\n');
    await app.reload();
    t.equal((await ask('daves-token', SETTINGS)).status, 200, 'the bad file is not used');
    t.match(logged.join(), /line 1: expected a tenant/);
    t.notMatch(logged.join(), /daves-token|dave,/);
    await writeFile(join(folder, 'tokens.csv'), 'franks-token,frank,43,,acme\n');
    await app.reload();
    await eventually(async () => (await ask('daves-token', SETTINGS)).status === 401);
  },
);

t.test('unknown clients that guess passwords leave threads for name lookups', async (t) => {
  const folder = t.testdir({
    'passwords.csv': `${await hash('erins password', 12)},erin,42,,globex\n`,
  });
  const stonegate = await startStonegate(t, {
    folder,
    configuration: {
      authentication: { basicAuthFile: { file: 'passwords.csv' } },
      limits: { unknownCredentials: { concurrent: 16, queue: 0 } },
    },
  });
  const session = connect(stonegate.url, { ca: stonegate.authority.cert });
  t.teardown(() => session.destroy());
  const guess = (password: string) =>
    request2(session, { ':path': SETTINGS, authorization: basic('erin', password).headers.authorization });
  const answers = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(guess));
  t.same(new Set(answers.map(({ status }) => status)), new Set([401, 429]));
});

t.test(
  'C074 a request without a credential reaches the API server as system:anonymous, and as no other user',
  async (t) => {
    const stonegate = await startStonegate(t, {
      mode: 'shared',
      configuration: { authentication: ANONYMOUS },
    });
    const { ask, apiServer, audited } = stonegate;
    const before = apiServer.requests.length;
    await ask(undefined, '/version');
    const [sent] = apiServer.requests.slice(before).filter(({ headers }) => 'impersonate-user' in headers);
    const identity = Object.entries(sent?.headers ?? {}).filter(([name]) => name.startsWith('impersonate'));
    t.strictSame(identity, [
      ['impersonate-user', 'system:anonymous'],
      ['impersonate-group', 'system:unauthenticated'],
    ]);
    t.equal((await ask(undefined, '/api')).status, 401, 'the path is not listed');
    t.equal((await ask('refused', '/version')).status, 401, 'a refused credential never becomes anonymous');
    t.equal((await ask(undefined, '/version', basic('a', 'b'))).status, 401);
    t.match(
      (await audited()).find(({ user }) => user.username === 'system:anonymous'),
      {
        user: { groups: ['system:unauthenticated'] },
        annotations: { 'stonegate.dev/authenticator': 'anonymous' },
      },
    );
  },
);
