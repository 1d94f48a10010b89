/**
 * Tokens as real providers issue them, mapped by the sample configurations.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { parseStonegate } from '../../../../src/app/configuration.ts';
import { createJWTAuthenticator } from '../../../../src/identity/jwt/jwt.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { directKeys } from '../../../support/oidc/jwt-configuration.ts';
import { startSigningIssuer } from '../../../support/oidc/signing-issuer.ts';

type Claims = Readonly<Record<string, unknown>> & { readonly iss: string };

const CONTEXT = { source: '192.0.2.1' };

function read(path: string) {
  return readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');
}

function sample(name: string) {
  const { configuration, problems } = parseStonegate(read(`config/samples/${name}.yaml`), '/etc/stonegate');
  if (configuration === undefined || problems.length > 0) throw new Error(JSON.stringify(problems));
  return configuration.authentication.jwt;
}

/** Signs the claims as the issuer that they name, and authenticates the token with the sample. */
async function login(name: string, claims: Claims) {
  const clock = createFakeClock();
  const issuer = await startSigningIssuer({ url: claims.iss, algorithm: 'RS256' });
  await issuer.down();
  const issuers = sample(name).map((configuration) => ({ configuration, keys: directKeys(issuer) }));
  const token = await issuer.sign({ nbf: Math.floor(clock.now() / 1_000), ...claims });
  return createJWTAuthenticator({ issuers, clock }).authenticate({ kind: 'bearer', token }, CONTEXT);
}

const ENTRA = {
  aud: '5b1f8a52-0b7e-4f0c-b8d9-6f1d2a3e4c55',
  iss: 'https://login.microsoftonline.com/8d5b2c0e-7d1c-4c1f-9a61-3f4f3c1c7a10/v2.0',
  aio: 'AWQAm/8TAAAA',
  groups: ['0f2a9a3e-7ad1-4c39-9f2e-2f4f1d1f0a11', 'b7d0f0a6-33b2-4f0d-8e50-7b3a3a0d5a22'],
  name: 'Alice Liddell',
  oid: 'e4c2a1de-5f0b-4a0c-9a7e-1b2c3d4e5f60',
  preferred_username: 'alice@acme.com',
  rh: '0.AXoA',
  sub: 'kZ1W8b0Jx4s3',
  tid: '8d5b2c0e-7d1c-4c1f-9a61-3f4f3c1c7a10',
  uti: 'mXcCkQ',
  ver: '2.0',
};

t.test('Entra ID: a user is named by their object id, with their groups', async (t) =>
  t.match(await login('azure-ad', ENTRA), {
    subject: { name: `entra-acme:${ENTRA.oid}` },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid: ENTRA.oid,
    groups: ENTRA.groups.map((group) => `entra-acme:${group}`),
    extra: { 'acme.example.com/login': ['alice@acme.com'] },
  }),
);

t.test('Entra ID: groups that overflowed are refused with a message that says so', async (t) => {
  const { groups: _, ...rest } = ENTRA;
  const overflow = {
    ...rest,
    _claim_names: { groups: 'src1' },
    _claim_sources: {
      src1: { endpoint: `https://graph.windows.net/${ENTRA.tid}/users/${ENTRA.oid}/getMemberObjects` },
    },
  };
  await t.rejects(login('azure-ad', overflow), {
    code: 'GroupsOverflow',
    message: /application roles/,
  });
  await t.rejects(login('azure-ad', { ...rest, hasgroups: true }), { code: 'GroupsOverflow' });
});

t.test('Entra ID: application roles do not overflow', async (t) => {
  const { groups: _, ...rest } = ENTRA;
  const bob = {
    ...rest,
    aud: 'c2a9e0d4-94f5-4c43-8d8a-18f0a7f5b6e7',
    iss: 'https://login.microsoftonline.com/f1c7b1de-42c8-4b39-8f7e-0a1d9a6f2b21/v2.0',
    tid: 'f1c7b1de-42c8-4b39-8f7e-0a1d9a6f2b21',
    roles: ['cluster.read'],
    _claim_names: { groups: 'src1' },
  };
  t.match(await login('azure-ad', bob), {
    tenantOrigin: { tenant: 'globex' },
    groups: ['entra-globex:cluster.read'],
  });
});

t.test('Entra ID: users of another directory, and version 1 tokens, are refused', async (t) => {
  for (const iss of [
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    `https://sts.windows.net/${ENTRA.tid}/`,
    'https://login.microsoftonline.com/{tenantid}/v2.0',
  ])
    t.equal(await login('azure-ad', { ...ENTRA, iss }), undefined);
});

const GOOGLE = {
  iss: 'https://accounts.google.com',
  azp: '417982023811-stonegate.apps.googleusercontent.com',
  aud: '417982023811-stonegate.apps.googleusercontent.com',
  sub: '110169484474386276334',
  hd: 'acme.com',
  email: 'alice@acme.com',
  email_verified: true,
  at_hash: 'HK6E_P6Dh8Y93mRNtsDB1Q',
};

t.test('Google: a user of a Workspace domain is named by their address', async (t) =>
  t.match(await login('google', GOOGLE), {
    subject: { name: 'google:alice@acme.com' },
    tenantOrigin: { tenant: 'acme' },
    uid: GOOGLE.sub,
    groups: [],
  }),
);

t.test('Google: a private account has no tenant, whatever its address', async (t) => {
  const { hd: _, ...rest } = GOOGLE;
  await t.rejects(login('google', rest), { code: 'TenantUnknown', message: /"hd"/ });
  await t.rejects(login('google', { ...GOOGLE, hd: 'evil.com' }), { code: 'TenantUnknown' });
});

t.test('Google: the issuer may lack its scheme', async (t) =>
  t.ok(await login('google', { ...GOOGLE, iss: 'accounts.google.com' })),
);

const KEYCLOAK = {
  iss: 'https://keycloak.example.com/realms/staff',
  aud: ['kubernetes', 'account'],
  azp: 'kubernetes',
  sub: '9b1d7f0c-2a5e-4a3b-8f65-0c7e3a9d1b42',
  typ: 'Bearer',
  realm_access: { roles: ['offline_access', 'admin'] },
  resource_access: { account: { roles: ['manage-account'] } },
  scope: 'openid profile',
  preferred_username: 'carol',
  groups: ['/developers', '/developers/backend'],
  tenant: 'globex',
};

t.test('Keycloak: a user has their group paths, and the tenant of their attribute', async (t) =>
  t.match(await login('keycloak', KEYCLOAK), {
    subject: { name: 'staff:carol' },
    tenantOrigin: { tenant: 'globex' },
    groups: ['staff:/developers', 'staff:/developers/backend'],
  }),
);

const GITLAB = {
  iss: 'https://gitlab.example.com',
  aud: 'https://kubernetes.example.com',
  sub: 'project_path:acme-group/app:ref_type:branch:ref:main',
  namespace_path: 'acme-group',
  project_path: 'acme-group/app',
  job_id: '302',
  ref: 'main',
  ref_protected: 'true',
  jti: '235b3a54-b797-45c7-ae9a-f72d7bc6ef5b',
};

t.test('GitLab: a job of a protected branch acts for its group’s tenant', async (t) =>
  t.match(await login('ci', GITLAB), {
    subject: { name: `gitlab:${GITLAB.sub}` },
    tenantOrigin: { tenant: 'acme' },
  }),
);

t.test('GitLab: a job of any other branch, or group, is refused', async (t) => {
  await t.rejects(login('ci', { ...GITLAB, ref_protected: 'false' }), {
    code: 'CredentialInvalid',
  });
  await t.rejects(login('ci', { ...GITLAB, namespace_path: 'mallory' }), {
    code: 'TenantUnknown',
  });
});

t.test('GitHub Actions: a job acts for the tenant of its organization’s id, not of its name', async (t) => {
  const job = {
    iss: 'https://token.actions.githubusercontent.com',
    aud: 'https://kubernetes.example.com',
    sub: 'repo:acme/app:environment:production',
    repository_owner: 'acme',
    repository_owner_id: '9919',
    jti: 'a1b2c3',
  };
  t.match(await login('ci', job), {
    subject: { name: `github:${job.sub}` },
    tenantOrigin: { tenant: 'acme' },
  });
  await t.rejects(login('ci', { ...job, repository_owner_id: '1' }), { code: 'TenantUnknown' });
});

t.test('the documentation shows the samples as they are', async (t) => {
  for (const [page, name] of [
    ['entra-id', 'azure-ad'],
    ['google', 'google'],
    ['keycloak', 'keycloak'],
    ['ci', 'ci'],
  ] as const) {
    const [, shown] = /```yaml\n([\s\S]*?)```/.exec(read(`docs/providers/${page}.md`)) ?? [];
    t.ok(shown !== undefined && read(`config/samples/${name}.yaml`).endsWith(shown), page);
  }
});
