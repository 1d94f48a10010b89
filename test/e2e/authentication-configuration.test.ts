/**
 * Stonegate uses the AuthenticationConfiguration of an API server unchanged, with tokens of an issuer over
 * TLS.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startTokenMaker } from '../support/oidc/token-maker.ts';
import { startStonegate } from '../support/stonegate.ts';
import { createAuthority } from '../support/tls/authority.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Changes {
  readonly username?: string;
  readonly userRule?: string;
}

function authenticationConfiguration(
  { issuer, authority }: { readonly issuer: string; readonly authority: string },
  {
    username = "claims.email_verified ? 'oidc:' + claims.email.split('@')[0].lowerAscii() : ''",
    userRule = "!user.username.startsWith('system:')",
  }: Changes = {},
) {
  return `apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: ${issuer}
    audiences: [other, kubernetes]
    audienceMatchPolicy: MatchAny
    certificateAuthority: ${JSON.stringify(authority)}
  claimValidationRules:
  - expression: claims.exp - claims.iat <= 86400.0
    message: tokens must not live for more than a day
  - claim: hd
    requiredValue: acme.example
  claimMappings:
    username:
      expression: ${JSON.stringify(username)}
    groups:
      expression: dyn(claims.?groups.orValue([])).map(group, "oidc:" + group)
    uid:
      expression: claims.sub
  userValidationRules:
  - expression: ${JSON.stringify(userRule)}
    message: this name is not allowed
`;
}

async function setUp(t: Test) {
  const folder = t.testdir();
  const authority = await createAuthority('Issuer test CA');
  const maker = await startTokenMaker(await authority.server('issuer'));
  t.teardown(() => maker.stop());
  const stonegate = await startStonegate(t, { folder });
  const { configure, app } = stonegate;
  const issuer = `${maker.origin}/users`;
  const write = (next?: Changes) =>
    writeFile(
      join(folder, 'authentication.yaml'),
      authenticationConfiguration({ issuer, authority: authority.cert }, next),
    );
  const tenant = { claim: 'hd', map: { 'acme.example': 'acme' } };
  await write();
  await configure({
    authentication: {
      jwt: [],
      configurationFile: 'authentication.yaml',
      tenants: { [issuer]: { ...tenant, usernamePrefix: 'oidc:', groupsPrefix: 'oidc:' } },
    },
  });
  await app.reload();
  const now = Math.floor(Date.now() / 1_000);
  const carol = maker.token({
    iss: issuer,
    aud: 'kubernetes',
    sub: 'carol',
    email: 'carol@acme.example',
    email_verified: true,
    hd: 'acme.example',
    groups: ['developers'],
    iat: now,
    exp: now + 600,
  });
  return { ...stonegate, carol, write };
}

t.test('the file is reloaded; an invalid one is reported with its line and changes nothing', async (t) => {
  const { app, ask, carol, write, logged } = await setUp(t);
  t.equal((await ask(carol, CONFIG_MAPS)).status, 200);
  await write({ username: 'claims.sub +' });
  await app.reload();
  t.match(
    logged.join(''),
    /authentication\.yaml: jwt\[0\]\.claimMappings\.username\.expression \(line \d+\)/,
  );
  t.equal((await ask(carol, CONFIG_MAPS)).status, 200);
  await write({ userRule: 'user.groups.size() > 1' });
  await app.reload();
  t.equal((await ask(carol, CONFIG_MAPS)).status, 401);
});
