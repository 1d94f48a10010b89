/** The user that a client certificate names, in Arktos' two forms, and the certificates that are refused. */
import t from 'tap';
import { createX509Authenticator, type X509AuthenticatorOptions } from '../../../src/identity/x509.ts';
import type { VerifiedCertificate } from '../../../src/lib/client-certificate.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const clock = createFakeClock(0);
const context = { source: '10.0.0.1' };
const HOUR = 3_600_000;

function certificateOf(subject: { cn?: string[]; o?: string[]; ou?: string[] }): VerifiedCertificate {
  const { cn = [], o = [], ou = [] } = subject;
  return {
    verified: true,
    commonNames: cn,
    organizations: o,
    organizationalUnits: ou,
    notAfter: HOUR,
    serialNumber: '0a',
    fingerprint: 'ff',
  };
}

function authenticator(options: Partial<X509AuthenticatorOptions> = {}) {
  return createX509Authenticator({
    usernamePrefix: 'x509:',
    groupsPrefix: 'x509:',
    systemTenant: 'system',
    allowSystemTenant: false,
    clock,
    ...options,
  });
}

async function identify(
  subject: Parameters<typeof certificateOf>[0],
  options?: Partial<X509AuthenticatorOptions>,
) {
  const certificate = certificateOf(subject);
  return authenticator(options).authenticate({ kind: 'certificate', certificate }, context);
}

t.test('the first colon of the common name ends the tenant', async (t) =>
  t.match(await identify({ cn: ['acme:bob:the builder'], ou: ['ignored'] }), {
    subject: { name: 'bob:the builder', groups: [] },
    tenantOrigin: { tenant: 'acme' },
  }),
);

t.test('a certificate that names no user or more than one is refused', async (t) => {
  const refused = {
    'two organizations, one of them a tenant': { cn: ['bob'], o: ['tenant:acme', 'dev'] },
    'two tenants': { cn: ['bob'], o: ['tenant:acme', 'tenant:globex'] },
    'neither form': { cn: ['bob'], o: ['dev'] },
    'another case': { cn: ['bob'], o: ['Tenant:acme'] },
    'no common name': { o: ['tenant:acme'] },
    'two common names': { cn: ['acme:bob', 'acme:eve'] },
    'an empty organization': { cn: ['bob'], o: ['tenant:'] },
    'an empty tenant': { cn: [':bob'] },
    'an empty user': { cn: ['acme:'] },
    'an empty unit': { cn: ['bob'], o: ['tenant:acme'], ou: [''] },
  };
  for (const [what, subject] of Object.entries(refused))
    await t.rejects(identify(subject), { code: 'CredentialInvalid' }, what);
});

t.test(
  'the system tenant is accepted only if the configuration allows it; the tenant "all" never is',
  async (t) => {
    const reserved = { code: 'TenantUnknown' };
    const allowed = { allowSystemTenant: true };
    for (const systemTenant of ['system', 'root'])
      for (const tenant of ['system', systemTenant]) {
        await t.rejects(identify({ cn: ['bob'], o: [`tenant:${tenant}`] }, { systemTenant }), reserved);
        await t.rejects(identify({ cn: [`${tenant}:bob`] }, { systemTenant }), reserved);
        const identity = await identify({ cn: [`${tenant}:bob`] }, { systemTenant, ...allowed });
        t.match(identity, { tenantOrigin: { tenant } });
      }
    await t.rejects(identify({ cn: ['all:bob'] }, allowed), reserved);
    await t.rejects(identify({ cn: ['bob'], o: ['tenant:all'] }, allowed), reserved);
  },
);

t.test('a name that would arrive as another name is refused', async (t) => {
  for (const odd of ['bob\nO=x', ' bob', '\ufeffbob']) {
    await t.rejects(identify({ cn: [odd], o: ['tenant:acme'] }), { code: 'IdentityUnusable' });
    await t.rejects(identify({ cn: ['acme:bob'], o: [odd] }), { code: 'IdentityUnusable' });
  }
});

t.test('a certificate that expired on an open connection is refused', async (t) => {
  const later = createFakeClock(0);
  const credential = { kind: 'certificate', certificate: certificateOf({ cn: ['acme:bob'] }) } as const;
  const { authenticate } = authenticator({ clock: later });
  t.ok(authenticate(credential, context));
  later.advance(HOUR);
  t.throws(() => authenticate(credential, context), { code: 'CredentialInvalid' });
});
