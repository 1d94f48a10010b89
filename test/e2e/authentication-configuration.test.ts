/** An API server's AuthenticationConfiguration handed to Stonegate as it is, with people of a real OIDC provider. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { startStonegate } from '../support/stonegate.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Changes {
  readonly username?: string;
  readonly userRule?: string;
}

function authenticationConfiguration(
  { issuer, clientID }: { readonly issuer: string; readonly clientID: string },
  {
    username = "claims.email_verified ? 'oidc:' + claims.email.split('@')[0].lowerAscii() : ''",
    userRule = "!user.username.startsWith('system:')",
  }: Changes = {},
): string {
  return `apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
jwt:
- issuer:
    url: ${issuer}
    audiences: [other, ${clientID}]
    audienceMatchPolicy: MatchAny
  claimValidationRules:
  - expression: claims.exp - claims.iat <= 86400.0
    message: tokens must not live for more than a day
  - claim: hd
    requiredValue: acme.example
  claimMappings:
    username:
      expression: ${JSON.stringify(username)}
    groups:
      expression: claims.?groups.orValue([]).map(group, "oidc:" + group)
    uid:
      expression: claims.sub
  userValidationRules:
  - expression: ${JSON.stringify(userRule)}
    message: nobody may be called so
`;
}

async function setUp(t: Test, changes?: Changes) {
  const folder = t.testdir();
  const stonegate = await startStonegate({ folder });
  t.teardown(() => stonegate.close());
  const { provider, configure, app } = stonegate;
  const write = (next?: Changes) =>
    writeFile(join(folder, 'authentication.yaml'), authenticationConfiguration(provider, next));
  const tenant = { claim: 'hd', map: { 'acme.example': 'acme' } };
  await write(changes);
  await configure({
    authentication: {
      jwt: [],
      configurationFile: 'authentication.yaml',
      tenants: { [provider.issuer]: { ...tenant, usernamePrefix: 'oidc:', groupsPrefix: 'oidc:' } },
    },
  });
  await app.reload();
  return { ...stonegate, write };
}

t.test('people log in as the expressions name them, in the tenant that is given beside them', async (t) => {
  const { ask, provider, apiServer } = await setUp(t);
  const answer = await ask(await provider.idToken('carol'), CONFIG_MAPS);
  t.equal(answer.status, 200, 'the group by expression is bound');
  t.match(apiServer.requests.at(-1), {
    url: /^\/api\/v1\/tenants\/acme\/namespaces\/default\/configmaps/,
    headers: { 'impersonate-user': 'acme:oidc:carol', 'impersonate-uid': 'carol' },
  });
});

t.test('a rule that is not true is a 401, and its message stands in the log alone', async (t) => {
  const { ask, provider, logged } = await setUp(t, { userRule: "user.username != 'oidc:carol'" });
  const answer = await ask(await provider.idToken('carol'), CONFIG_MAPS);
  t.match(answer.json(), { code: 401, message: 'Unauthorized' });
  t.match(logged.join(''), /nobody may be called so/);
});

t.test('a name that the expression makes without the declared prefix is refused with 403', async (t) => {
  const { ask, provider, apiServer } = await setUp(t, {
    username: "claims.email_verified ? claims.email : ''",
  });
  const before = apiServer.requests.length;
  const answer = await ask(await provider.idToken('carol'), CONFIG_MAPS);
  t.match(answer.json(), { code: 403, message: /names that begin with "oidc:"/ });
  t.equal(apiServer.requests.length, before, 'nobody was asked');
});

t.test('the file is read anew; one that is wrong is told with its place and changes nothing', async (t) => {
  const { app, ask, provider, write, logged } = await setUp(t);
  const carol = await provider.idToken('carol');
  t.equal((await ask(carol, CONFIG_MAPS)).status, 200);
  await write({ username: 'claims.sub +' });
  await app.reload();
  t.match(logged.join(''), /authentication\.yaml: jwt\[0\]\.claimMappings\.username\.expression \(line 15\)/);
  t.equal((await ask(carol, CONFIG_MAPS)).status, 200);
  await write({ userRule: 'user.groups.size() > 1' });
  await app.reload();
  t.equal((await ask(carol, CONFIG_MAPS)).status, 401);
});
