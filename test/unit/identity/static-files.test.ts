import { hash } from '@node-rs/bcrypt';
import t from 'tap';
import { StatusError } from '../../../src/errors/status-error.ts';
import { createAnonymousAccess } from '../../../src/identity/anonymous.ts';
import type { StaticPassword, StaticUser } from '../../../src/identity/static-files.ts';
import {
  createBasicAuthFileAuthenticator,
  createTokenFileAuthenticator,
} from '../../../src/identity/static-files.ts';
import { systemRandom } from '../../../src/lib/random.ts';

const CONTEXT = { source: '192.0.2.1' };
const ALICE: StaticUser = {
  ...{ usernamePrefix: 'token:', groupsPrefix: 'token:', tenant: 'acme' },
  ...{ name: 'alice', uid: '1', groups: ['dev'] },
};

const PASSWORDS: readonly StaticPassword[] = [
  { login: 'plain', password: { kind: 'plain', password: 'open sesame' }, user: ALICE },
  {
    login: 'bcrypt',
    password: { kind: 'bcrypt', hash: await hash('x'.repeat(80), 4) },
    user: ALICE,
  },
  { login: 'short', password: { kind: 'bcrypt', hash: await hash('open sesame', 4) }, user: ALICE },
];

function basic(entries = PASSWORDS) {
  const asked: string[] = [];
  const authenticator = createBasicAuthFileAuthenticator({
    entries,
    random: systemRandom,
    gate: {
      async enter(source, work) {
        asked.push(source);
        if (asked.length > 20) throw new StatusError('CredentialRateExceeded', 'Too many requests');
        return work();
      },
    },
  });
  const logIn = async (userName: string, password: string) =>
    authenticator.authenticate({ kind: 'basic', userName, password }, CONTEXT);
  return { logIn, asked };
}

t.test('a token that is not in the file is left to another authenticator', async (t) => {
  const authenticator = createTokenFileAuthenticator({
    entries: [{ token: 'alices-token', user: ALICE }],
    random: systemRandom,
  });
  for (const token of ['alices-toke', 'alices-tokenx'])
    t.equal(
      await authenticator.authenticate({ kind: 'bearer', token }, CONTEXT),
      undefined,
      'it may belong to another authenticator',
    );
  t.equal(
    await authenticator.authenticate({ kind: 'x-auth-token', token: 'alices-token' }, CONTEXT),
    undefined,
    'X-Auth-Token is only for Keystone',
  );
});

t.test('a password is checked against plain text or a bcrypt hash', async (t) => {
  const { logIn } = basic();
  for (const name of ['plain', 'short']) {
    t.match(await logIn(name, 'open sesame'), { subject: { name: 'alice' } }, name);
    await t.rejects(logIn(name, 'open sesamE'), { code: 'CredentialInvalid' }, name);
  }
});

t.test('a password over 72 bytes is refused for bcrypt, which would ignore the rest', async (t) => {
  const { logIn } = basic();
  await t.rejects(logIn('bcrypt', 'x'.repeat(80)), { code: 'CredentialInvalid' });
  t.match(await logIn('bcrypt', 'x'.repeat(72)), { uid: '1' });
});

t.test('an unknown name is refused like a wrong password, after the same work', async (t) => {
  const { logIn, asked } = basic();
  await t.rejects(logIn('unknown', 'open sesame'), { code: 'CredentialInvalid', message: 'Unauthorized' });
  await t.rejects(logIn('plain', 'x'.repeat(2_000)), { code: 'CredentialInvalid' });
  t.equal(asked.length, 2);
  await t.rejects(basic([]).logIn('unknown', 'x'), { code: 'CredentialInvalid' }, 'also with an empty file');
});

t.test(
  'a known password is not hashed again, and guesses are counted against the rate of unknown credentials',
  async (t) => {
    const { logIn, asked } = basic();
    const [one, two] = await Promise.all([logIn('short', 'open sesame'), logIn('short', 'open sesame')]);
    t.equal(one, two);
    t.equal(await logIn('short', 'open sesame'), one, 'the identity is the same object');
    t.equal(asked.length, 1);
    for (let guess = 1; guess < 20; guess += 1) await t.rejects(logIn('short', `${guess}`));
    await t.rejects(logIn('short', 'one more'), { code: 'CredentialRateExceeded' });
    t.equal(await logIn('short', 'open sesame'), one);
  },
);

t.test('anonymous requests are accepted only on exactly the configured paths', async (t) => {
  const some = createAnonymousAccess({ enabled: true, paths: ['/healthz'] });
  for (const path of ['/healthz/', '/healthz/x', '/HEALTHZ']) t.equal(some(path), undefined, path);
  const all = createAnonymousAccess({ enabled: true, paths: [] });
  t.match(all('/api/v1/pods'), { subject: { kind: 'anonymous' } });
});
