import t from 'tap';
import { parseBasicAuthFile, parseTokenFile } from '../../../src/config/static-users.ts';
import { TENANCY_FACTS } from '../../../src/tenancy/facts.ts';

const RULES = {
  usernamePrefix: 'token:',
  groupsPrefix: 'token:',
  facts: TENANCY_FACTS.arktos,
  tenantOfOthers: undefined,
};

function problemOf(line: string, rules: Partial<typeof RULES> = {}) {
  const { entries, problems } = parseTokenFile(Buffer.from(`${line}\n`), { ...RULES, ...rules });
  return entries.length === 0 && problems.length === 1 ? (problems[0] ?? '') : 'accepted';
}

function tenantAndGroups(line: string, tenantOfOthers?: string) {
  const rules = { ...RULES, tenantOfOthers };
  const [entry] = parseTokenFile(Buffer.from(line), rules).entries;
  return entry && [entry.user.tenant, ...entry.user.groups];
}

t.test('the tenant is in the last column, even if the column before it is empty', async (t) => {
  t.same(tenantAndGroups('t1,alice,1,,acme'), ['acme']);
  t.same(tenantAndGroups('t1,alice,1,"dev,ops",,acme'), ['acme', 'dev', 'ops']);
  t.same(
    tenantAndGroups('t1,root,1,,system'),
    ['system'],
    'the system tenant is accepted if it is written out',
  );
});

t.test('a line without a tenant is refused, unless such lines belong to the system tenant', async (t) => {
  for (const line of ['t1,alice,1', 't1,alice,1,dev', 't1,alice,1,dev,other', 't1,alice,,acme'])
    t.match(problemOf(line), /^line 1: expected a tenant in the last column/, line);
  t.same(tenantAndGroups('t1,alice,1', 'system'), ['system']);
  t.same(tenantAndGroups('t1,alice,1,acme', 'system'), ['system', 'acme']);
});

t.test('a problem is reported with the number of its line, and the line is not quoted', async (t) => {
  const content = Buffer.from(
    ['﻿good-token,alice,1,,acme', 'a secret,bob,2,,acme', 'good-token,carol,3,,globex', 'x,y'].join('\r\n'),
  );
  const { entries, problems } = parseTokenFile(content, RULES);
  t.same(
    entries.map(({ token, user }) => [token, user.name, user.uid, user.tenant]),
    [['good-token', 'alice', '1', 'acme']],
  );
  t.match(problems, [/^line 2: /, /^line 3: .*a token of its own/, /^line 4: .*at least secret, user name/]);
  t.notMatch(problems.join(), /a secret|good-token|bob|carol|globex/);
  const [broken = ''] = parseTokenFile(Buffer.from('hidden,"alice,1\n'), RULES).problems;
  t.match(broken, /expected comma-separated values, found CSV_QUOTE_NOT_CLOSED by line 1/);
  t.notMatch(broken, /hidden/);
});

t.test('if an unquoted password has a comma, no part of it is shown as a user name', async (t) => {
  const line = 'open,sesame,alice,1,dev';
  const { problems } = parseBasicAuthFile(Buffer.from(line), RULES);
  t.equal(problems.length, 1);
  for (const part of ['open', 'sesame', 'alice', 'dev']) t.notMatch(problems.join(), part);
});

t.test('tokens, names, groups and tenants that could belong to another source are refused', async (t) => {
  t.match(problemOf('gAAAAABx,alice,1,,acme'), /look like one of Keystone/);
  t.match(problemOf('t1,alice,1,,Acme'), /DNS-1123/);
  t.match(problemOf('t1,alice,1,,all'), /other than "all"/);
  t.match(problemOf('t1, alice,1,,acme'), /spaces at their ends/);
  const bare = { usernamePrefix: '', groupsPrefix: '' };
  t.match(problemOf('t1,system:admin,1,,acme', bare), /do not begin with system:, .* reserved/);
  t.match(problemOf('t1,alice,1,system:masters,,acme', bare), /do not begin with system:, .* reserved/);
});

t.test('a password is plain text or a bcrypt hash; any other hash is refused', async (t) => {
  const bcrypt = `$2b$10$${'a'.repeat(53)}`;
  const kindOf = (password: string) => {
    const content = Buffer.from(`"${password}",alice,1,,acme\n`);
    const { entries, problems } = parseBasicAuthFile(content, RULES);
    return entries[0]?.password.kind ?? problems[0];
  };
  t.equal(kindOf('open sesame'), 'plain');
  t.equal(kindOf(bcrypt), 'bcrypt');
  for (const other of [
    '$6$salt$hash',
    '$argon2id$v=19$m=1$x$y',
    '{SHA}abc',
    '$2b$10$short',
    '$2b$31$'.concat('a'.repeat(53)),
  ])
    t.match(kindOf(other), /^line 1: expected a/, other);
  t.match(kindOf(''), /found none/);
});

t.test(
  'the same name in two tenants is refused for passwords, since only the name says who logs in',
  async (t) => {
    const { entries, problems } = parseBasicAuthFile(
      Buffer.from('a,alice,1,,acme\nb,alice,2,,globex\n'),
      RULES,
    );
    t.equal(entries.length, 1);
    t.match(problems, [/^line 2: .*the name alone says who logs in/]);
    t.match(parseBasicAuthFile(Buffer.from('a,al:ice,1,,acme\n'), RULES).problems, [/without ":"/]);
  },
);
