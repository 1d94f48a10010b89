/**
 * An access token follows its owner: what happens to them at Keystone, at their issuer or in the
 * configuration happens to the token within a second, and is undone as they come back.
 */
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';
import { startTokenStandIn, type TokenStandIn } from '../support/token-standin.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const IN_WEB = '/api/v1/namespaces/web/configmaps';

async function becomes(
  t: Test,
  site: TokenStandIn,
  secret: string,
  status: number,
  path = CONFIGMAPS,
): Promise<void> {
  await eventually(async () => (await site.ask(secret, path)).status === status);
  t.pass(`becomes ${status}`);
}

/** Why the last request with the token was refused, as the audit log says it. */
async function reason(site: TokenStandIn): Promise<string> {
  const refused = (await site.audited()).filter(({ responseStatus }) => responseStatus?.code === 401);
  return refused.at(-1)?.annotations?.['stonegate.dev/reason'] ?? '';
}

t.test('a role that gives rights in a namespace is taken away at Keystone, and given back', async (t) => {
  const site = await startTokenStandIn(t);
  const { directory } = site.keystone;
  const erin = directory.user('acme', 'erin');
  const project = directory.project('acme', 'web');
  directory.assign(erin, 'member', { project });
  const { seed } = site.apiServer;
  seed.namespace('web', { tenant: 'acme' });
  seed.clusterRole('reader', [{ verbs: ['*'], apiGroups: [''], resources: ['configmaps'] }], {
    tenant: 'acme',
  });
  seed.roleBinding('members', 'reader', [`group:keystone:project:${project.id}:role:member`], {
    tenant: 'acme',
    namespace: 'web',
  });
  await site.reconfigure({
    bindings: { credential: { tokenFile: 'provisioner-token' }, namespaceFormat: '%n' },
  });
  const { secret } = await site.make(site.keystone.issue(erin), 'read');
  await becomes(t, site, secret, 200, IN_WEB);
  directory.unassign(erin, 'member', { project });
  await becomes(t, site, secret, 403, IN_WEB);
  directory.assign(erin, 'member', { project });
  await becomes(t, site, secret, 200, IN_WEB);
});

t.test('D423 the owner’s tenant, issuer and roles go from the configuration, and come back', async (t) => {
  const issuer = await startSigningIssuer();
  t.teardown(() => issuer.down());
  const jwt = {
    issuer: { url: issuer.url, audiences: ['kubernetes'] },
    claimMappings: {
      username: { claim: 'sub', prefix: 'oidc:' },
      groups: { claim: 'groups', prefix: 'oidc:' },
    },
    tenant: { value: 'acme' },
  };
  const site = await startTokenStandIn(t);
  const { authentication } = site.base;
  const withIssuer = { authentication: { ...authentication, jwt: [jwt] } };
  await site.reconfigure(withIssuer);
  const sign = (groups: readonly string[]) =>
    issuer.sign({ sub: 'carol', aud: 'kubernetes', groups, jti: Math.random() });
  const { secret, name } = await site.make(await sign(['developers']), 'read');
  const ofAlice = await site.make(site.keystoneToken('alice'), 'read');
  await becomes(t, site, secret, 200);

  await t.test('groups are those of the last sign-in', async (t) => {
    await site.ask(await sign([]), CONFIGMAPS);
    await becomes(t, site, secret, 403);
    await site.ask(await sign(['developers']), CONFIGMAPS);
    await becomes(t, site, secret, 200);
  });

  await t.test('the issuer goes', async (t) => {
    await site.reconfigure({ authentication: { ...authentication, jwt: [] } });
    await becomes(t, site, secret, 401);
    t.match(await reason(site), /the owner's source .* is not configured any more/);
    await site.reconfigure(withIssuer);
    await becomes(t, site, secret, 200);
  });

  await t.test('the last sign-in is too long ago', async (t) => {
    await site.reconfigure({ ...withIssuer, tokens: { signInMaxAge: '1ms' } });
    await becomes(t, site, secret, 401);
    t.match(await reason(site), /has not signed in for too long/);
    t.match(await site.ask(ofAlice.secret, CONFIGMAPS), { status: 200 }, 'Keystone is asked instead');
    await site.reconfigure(withIssuer);
    await becomes(t, site, secret, 200);
  });

  await t.test('the domain is another tenant’s', async (t) => {
    await site.reconfigure({
      ...withIssuer,
      tenancy: { mode: 'arktos', domains: { acme: 'umbrella' } },
    });
    await becomes(t, site, ofAlice.secret, 401);
    t.match(await reason(site), /is not of the tenant acme any more/);
    await site.reconfigure(withIssuer);
    await becomes(t, site, ofAlice.secret, 200);
  });

  await t.test('roles are not looked up any longer', async (t) => {
    const { serviceCredential: _, roleAssignments: __, ...keystone } = Object(authentication).keystone;
    await site.reconfigure({ authentication: { keystone, jwt: [jwt] } });
    await becomes(t, site, ofAlice.secret, 401);
    t.match(await reason(site), /roles of Keystone users are not looked up any more/);
    await site.reconfigure(withIssuer);
    await becomes(t, site, ofAlice.secret, 200);
  });
  t.match(await site.list(await sign(['developers'])), [{ metadata: { name }, status: { state: 'active' } }]);
});

t.test(
  'D426 D427 lifetimes: required, bounded, and a lowered maximum blocks until it is raised',
  async (t) => {
    const site = await startTokenStandIn(t, { tokens: { lifetimes: { read: '48h' } } });
    const alice = site.keystoneToken('alice');
    for (const expirationSeconds of [undefined, 0, -5, 48 * 3_600 + 1, 1e12])
      t.match(
        await site.post(alice, { scopes: ['read'], expirationSeconds }),
        { status: 422, body: /spec.expirationSeconds: expected 1 to 172800 \(2d\)/ },
        String(expirationSeconds),
      );
    t.match(await site.post(alice, { scopes: ['read', 'session'], expirationSeconds: 86_401 }), {
      status: 422,
      body: /expected 1 to 86400 /,
    });
    const reply = await site.post(alice, { scopes: ['read'], expirationSeconds: 47 * 3_600 });
    const secret: string = JSON.parse(reply.body).status.token;
    await becomes(t, site, secret, 200);
    await site.reconfigure({ tokens: { lifetimes: { read: '1h' } } });
    await becomes(t, site, secret, 403);
    t.match((await site.ask(secret, CONFIGMAPS)).json(), { message: /lowered the maximum/ });
    t.match(await site.list(alice), [{ status: { state: 'blocked', reason: /lowered the maximum/ } }]);
    await site.reconfigure({});
    await becomes(t, site, secret, 200);
  },
);
