/**
 * An access token follows its owner: within a second it loses what its owner loses at Keystone, at their
 * issuer or in the configuration, and it regains that when its owner does.
 */
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { timestamp } from '../../src/lib/go-time.ts';
import { eventually } from '../support/eventually.ts';
import { createHttpsClient, posted } from '../support/https-client.ts';
import { startSigningIssuer } from '../support/oidc/signing-issuer.ts';
import { rule } from '../support/policy-rule.ts';
import { createAuthority } from '../support/tls/authority.ts';
import { madeToken, TOKENS } from '../support/token-client.ts';
import { startTokenStandIn, type TokenStandIn } from '../support/token-standin.ts';

const CONFIGMAPS = '/api/v1/namespaces/default/configmaps';
const SELF = '/apis/stonegate.dev/v1alpha1/selfidentity';
const IN_WEB = '/api/v1/namespaces/web/configmaps';

async function becomes(t: Test, site: TokenStandIn, secret: string, status: number, path = CONFIGMAPS) {
  await eventually(async () => (await site.ask(secret, path)).status === status);
  t.pass(`becomes ${status}`);
}

/** The reason that the audit log gives for the last 401. */
async function reason(site: TokenStandIn) {
  const refused = (await site.audited()).filter(({ responseStatus }) => responseStatus?.code === 401);
  return refused.at(-1)?.annotations?.['stonegate.dev/reason'] ?? '';
}

t.test(
  'a token loses and regains the rights of a role that its owner loses and regains at Keystone',
  async (t) => {
    const site = await startTokenStandIn(t);
    const { directory } = site.keystone;
    const erin = directory.user('acme', 'erin');
    const project = directory.project('acme', 'web');
    directory.assign(erin, 'member', { project });
    const { seed } = site.apiServer;
    seed.namespace('web', { tenant: 'acme' });
    seed.clusterRole('reader', [rule('*', 'configmaps')], {
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
  },
);

t.test(
  'D423 a token works only while the configuration has its owner’s tenant, issuer and roles',
  async (t) => {
    const issuer = await startSigningIssuer();
    t.teardown(() => issuer.down());
    const jwt = parse(`
      issuer: {url: ${issuer.url}, audiences: [kubernetes]}
      claimMappings:
        username: {claim: sub, prefix: 'oidc:'}
        groups: {claim: groups, prefix: 'oidc:'}
      tenant: {value: acme}`);
    const site = await startTokenStandIn(t);
    const { authentication } = site.base;
    const withIssuer = { authentication: { ...authentication, jwt: [jwt] } };
    await site.reconfigure(withIssuer);
    const sign = (groups: readonly string[]) =>
      issuer.sign({ sub: 'carol', aud: 'kubernetes', groups, jti: Math.random() });
    const { secret, name } = await site.make(await sign(['developers']), 'read');
    const ofAlice = await site.make(site.keystoneToken('alice'), 'read');
    await becomes(t, site, secret, 200);

    await t.test('its owner learns until when it works without another sign-in', async (t) => {
      const [iat, exp] = [Date.UTC(2026, 0, 1), Date.UTC(2100, 0, 1)].map((time) => time / 1_000);
      const lasting = await issuer.sign({ sub: 'dora', aud: 'kubernetes', groups: [], iat, exp });
      t.match(await site.post(lasting, { scopes: ['read'] }), { status: 403, body: /sign in again/ });
      const year = { ...withIssuer, tokens: { signInMaxAge: '720h', lifetimes: { read: '1000h' } } };
      await site.reconfigure(year);
      const recent = Math.floor(Date.now() / 1_000) - 3_600;
      const token = await issuer.sign({ sub: 'dora', aud: 'kubernetes', groups: [], iat: recent });
      const until = timestamp((recent + 720 * 3_600) * 1_000);
      t.match((await site.post(token, { scopes: ['read'], expirationSeconds: 3_500_000 })).json(), {
        status: { notes: [`Without another sign-in of yours it works until ${until}.`] },
      });
      await site.reconfigure(withIssuer);
    });

    await t.test('the groups are those of the last sign-in', async (t) => {
      await site.ask(await sign([]), CONFIGMAPS);
      await becomes(t, site, secret, 403);
      await site.ask(await sign(['developers']), CONFIGMAPS);
      await becomes(t, site, secret, 200);
    });

    await t.test('the issuer is removed', async (t) => {
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
      t.match(
        await site.ask(ofAlice.secret, CONFIGMAPS),
        { status: 200 },
        'a user of Keystone is looked up there instead',
      );
      await site.reconfigure(withIssuer);
      await becomes(t, site, secret, 200);
    });

    await t.test('the domain belongs to another tenant', async (t) => {
      await site.reconfigure({
        ...withIssuer,
        tenancy: { mode: 'arktos', domains: { acme: 'umbrella' } },
      });
      await becomes(t, site, ofAlice.secret, 401);
      t.match(await reason(site), /is not of the tenant acme any more/);
      await site.reconfigure(withIssuer);
      await becomes(t, site, ofAlice.secret, 200);
    });

    await t.test('roles are no longer looked up', async (t) => {
      const { serviceCredential: _, roleAssignments: __, ...keystone } = Object(authentication).keystone;
      await site.reconfigure({ authentication: { keystone, jwt: [jwt] } });
      await becomes(t, site, ofAlice.secret, 401);
      t.match(await reason(site), /roles of Keystone users are not looked up any more/);
      await site.reconfigure(withIssuer);
      await becomes(t, site, ofAlice.secret, 200);
    });
    t.match(await site.list(await sign(['developers'])), [
      { metadata: { name }, status: { state: 'active' } },
    ]);
  },
);

t.test('a token of a user of the token file has the groups of the line, and ends with it', async (t) => {
  const file = (groups: string) => `daves-token,dave,41,"${groups}",,acme\n`;
  const site = await startTokenStandIn(t, {
    configuration: { authentication: { tokenFile: { file: 'tokens.csv' } } },
    prepare: ({ apiServer: { seed }, configFile }) => {
      seed.clusterRoleBinding('staff', 'worker', ['group:token:developers'], { tenant: 'acme' });
      return writeFile(join(dirname(configFile), 'tokens.csv'), file('developers'));
    },
  });
  const write = async (content: string) => {
    await writeFile(join(dirname(site.configFile), 'tokens.csv'), content);
    await site.app.reload();
  };
  const { secret } = await site.make('daves-token', 'read');
  await becomes(t, site, secret, 200);
  await write(file('others'));
  t.equal((await site.ask(secret, CONFIGMAPS)).status, 403);
  await write(file('developers'));
  t.equal((await site.ask(secret, CONFIGMAPS)).status, 200);
  await write('');
  t.equal((await site.ask(secret, CONFIGMAPS)).status, 401);
  t.match(await reason(site), /is in the file of users no more/);
});

t.test('what users of one tenant do ends nothing of users of the same name in another', async (t) => {
  const issuing = await createAuthority('clients');
  const site = await startTokenStandIn(t, {
    configuration: { authentication: { clientCertificates: { caFile: 'clients-ca.crt' } } },
    async prepare({ apiServer: { seed }, configFile }) {
      await writeFile(join(dirname(configFile), 'clients-ca.crt'), issuing.cert);
      for (const tenant of ['acme', 'globex'])
        seed.clusterRoleBinding('admins', 'worker', [`user:${tenant}:x509:admin`], { tenant });
    },
  });
  const { port, ca } = site.destination;
  const clientOf = async (name: string, ...groups: string[]) => {
    const certificate = await issuing.client(name, groups);
    const client = createHttpsClient({ port, ca, certificate });
    t.teardown(client.close);
    return client;
  };
  const spec = { scopes: ['read'], expirationSeconds: 3_600 };
  const token = { apiVersion: 'stonegate.dev/v1alpha1', kind: 'AccessToken', spec };
  const tokenOf = async (name: string) =>
    madeToken(await (await clientOf(name, 'staff-acme')).ask(undefined, TOKENS, posted(token)));
  const storedOf = (name: string) => {
    const kind = { tenant: 'system', group: 'tenancy.stonegate.dev', resource: 'accesstokens' };
    return JSON.stringify(site.apiServer.cluster.store.get({ ...kind, namespace: 'stonegate', name }));
  };
  const { name, secret } = await tokenOf('acme:admin');
  const last = await tokenOf('acme:last');
  await becomes(t, site, secret, 200);
  t.equal((await (await clientOf('globex:admin', 'staff-globex')).ask(undefined, SELF)).status, 200);
  // Sign-ins are written in their order: that of globex's admin would be written before this one.
  await (await clientOf('acme:last', 'staff-acme', 'others')).ask(undefined, SELF);
  await eventually(() => storedOf(last.name).includes('others'));
  t.notMatch(storedOf(name), 'globex');
  await becomes(t, site, secret, 200);
});

t.test('D427 a lowered maximum lifetime blocks a token until it is raised', async (t) => {
  const site = await startTokenStandIn(t, { tokens: { lifetimes: { read: '48h' } } });
  const alice = site.keystoneToken('alice');
  const reply = await site.post(alice, { scopes: ['read'], expirationSeconds: 47 * 3_600 });
  const secret: string = JSON.parse(reply.body).status.token;
  await becomes(t, site, secret, 200);
  await site.reconfigure({ tokens: { lifetimes: { read: '1h' } } });
  await becomes(t, site, secret, 403);
  t.match((await site.ask(secret, CONFIGMAPS)).json(), { message: /lowered the maximum/ });
  t.match(await site.list(alice), [{ status: { state: 'blocked', reason: /lowered the maximum/ } }]);
  await site.reconfigure({});
  await becomes(t, site, secret, 200);
});
