import t from 'tap';
import type { UpstreamRights } from '../../../src/kubernetes/upstream-ports.ts';
import { mayImpersonateUsers, PolledUpstreamRights } from '../../../src/kubernetes/upstream-rights.ts';
import { type LogFields, silentLogger } from '../../../src/lib/logger.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { fakeFetcher } from '../../support/outgoing.ts';

const KEY = 'authentication.kubernetes.io/credential-id';
const CONSTRAINED =
  'requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"stonegate:probe"}, Extra:map[string][]string(nil)} without impersonating a user name';
const LEGACY = 'requested [{Group  stonegate:probe    }] without impersonating a user';

interface Server {
  /** Granted rights, as `verb resource/subresource`. */
  rights: readonly string[];
  /** Message of the refusal of the probe. */
  words: string;
  isDown: boolean;
}

function setUp(changes: Partial<Server> = {}, known?: Pick<UpstreamRights, 'withheld' | 'constrained'>) {
  const server: Server = { rights: [], words: LEGACY, isDown: false, ...changes };
  const clock = createFakeClock(0);
  const logged: { level: string; fields: LogFields; message: string }[] = [];
  const log = (level: string) => (fields: LogFields, message: string) =>
    logged.push({ level, fields, message });
  const fetcher = fakeFetcher(({ method, body = '' }) => {
    if (server.isDown) return new Error('down');
    if (method === 'GET') return { status: 400, body: { message: server.words } };
    const { verb, resource, subresource } = JSON.parse(String(body)).spec.resourceAttributes;
    const right = [verb, [resource, subresource].filter(Boolean).join('/')].join(' ');
    const status = { allowed: server.rights.includes(right) };
    return { status: 201, body: { kind: 'SelfSubjectAccessReview', status } };
  });
  const rights = new PolledUpstreamRights({
    fetcher,
    optionalKeys: [KEY],
    mayBeConstrained: true,
    ...(known && { known }),
    clock,
    logger: { ...silentLogger, warn: log('warn'), info: log('info') },
  });
  t.teardown(() => rights.stop());
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    server,
    rights,
    logged,
    fetcher,
    async start() {
      rights.start();
      await settled();
    },
    async advance(milliseconds: number) {
      clock.advance(milliseconds);
      await settled();
    },
    async refuse() {
      rights.refused();
      await settled();
    },
    rounds: () => fetcher.asked.filter(({ method }) => method === 'GET').length,
  };
}

const GRANTED = [`impersonate userextras/${KEY}`, 'impersonate users'];

t.test('an extra key is omitted until the API server has said that it may be impersonated', async (t) => {
  const { rights, start } = setUp({ rights: GRANTED });
  t.same([...rights.withheld], [KEY]);
  await start();
  t.same([...rights.withheld], []);
});

t.test('cached rights count until the API server has responded', async (t) => {
  const known = { withheld: new Set<string>(), constrained: true };
  const { server, rights, start, advance } = setUp({ isDown: true }, known);
  t.same([[...rights.withheld], rights.constrained], [[], true]);
  await start();
  t.same([[...rights.withheld], rights.constrained], [[], true]);
  server.isDown = false;
  await advance(60_000);
  t.same([[...rights.withheld], rights.constrained], [[KEY], false]);
});

t.test('without the right to a key, the key stays omitted, and the log says so once', async (t) => {
  const { rights, start, advance, logged } = setUp();
  await start();
  await advance(60_000);
  t.same([...rights.withheld], [KEY]);
  t.match(logged, [{ level: 'warn', fields: { omitted: [KEY] }, message: /manifests rbac/ }]);
  t.equal(logged.length, 1);
});

t.test('a newly granted right is noticed within a minute, a withdrawn one within an hour', async (t) => {
  const { server, rights, start, advance, logged } = setUp();
  await start();
  server.rights = GRANTED;
  await advance(60_000);
  t.same([...rights.withheld], []);
  server.rights = [];
  await advance(3_600_000);
  t.same([...rights.withheld], [KEY]);
  t.same(
    logged.map(({ level }) => level),
    ['warn', 'info', 'warn'],
  );
});

t.test(
  'after a refusal, rights are checked at once, and under a flood of refusals every ten seconds',
  async (t) => {
    const { server, rights, start, advance, refuse, rounds } = setUp({ rights: GRANTED });
    await start();
    await advance(600_000);
    server.rights = [];
    await refuse();
    t.same([...rights.withheld], [KEY]);
    const before = rounds();
    for (let i = 0; i < 100; i += 1) await refuse();
    t.equal(rounds(), before);
    await advance(10_000);
    t.equal(rounds(), before + 1);
  },
);

t.test('cached rights stay while the API server is unavailable', async (t) => {
  const { server, rights, start, advance, logged } = setUp({ rights: GRANTED, words: CONSTRAINED });
  await start();
  server.isDown = true;
  await advance(3_600_000);
  t.same([...rights.withheld], []);
  t.equal(rights.constrained, true);
  t.match(logged, [{ level: 'info' }, { level: 'warn', message: /could not ask/ }]);
});

t.test('constrained impersonation is recognized by the message of a refusal', async (t) => {
  for (const [words, expected] of [
    [CONSTRAINED, true],
    [LEGACY, false],
    ['something else', false],
  ] as const) {
    const { rights, start } = setUp({ words });
    await start();
    t.equal(rights.constrained, expected, words);
  }
});

t.test('the constrained right to the key counts only with the constrained right to users', async (t) => {
  const key = `impersonate:user-info userextras/${KEY}`;
  for (const [granted, expected] of [
    [[key, 'impersonate:user-info users'], []],
    [[key, 'impersonate users'], [KEY]],
    [[GRANTED[0] ?? '', 'impersonate:user-info users'], [KEY]],
  ] as const) {
    const { rights, start } = setUp({ rights: granted, words: CONSTRAINED });
    await start();
    t.same([...rights.withheld], expected, granted.join(', '));
  }
});

t.test('a constrained right does not count at an API server without constrained impersonation', async (t) => {
  const { rights, start } = setUp({
    rights: [`impersonate:user-info userextras/${KEY}`, 'impersonate:user-info users'],
  });
  await start();
  t.same([...rights.withheld], [KEY]);
});

t.test('the check whether users can be impersonated needs the rights to users and to groups', async (t) => {
  const { signal } = new AbortController();
  const asked = async (changes: Partial<Server>, mayBeConstrained = true) => {
    const { fetcher } = setUp(changes);
    return mayImpersonateUsers(fetcher, mayBeConstrained, signal);
  };
  t.ok(await asked({ rights: ['impersonate users', 'impersonate groups'] }));
  t.notOk(await asked({ rights: ['impersonate users'] }), 'without groups');
  t.notOk(await asked({}), 'without any right');
  const constrained = ['impersonate:user-info users', 'impersonate:user-info groups'];
  t.ok(await asked({ rights: constrained, words: CONSTRAINED }));
  t.notOk(
    await asked({ rights: constrained, words: LEGACY }),
    'at an API server that does not know this verb',
  );
  t.notOk(await asked({ rights: constrained, words: CONSTRAINED }, false), 'on Arktos');
  await t.rejects(asked({ isDown: true }));
});
