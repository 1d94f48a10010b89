/**
 * Whatever impersonation headers a client sends, no user impersonates a user outside their tenant or one of
 * the cluster’s own users, and every impersonated value was reviewed.
 */
import fc from 'fast-check';
import t from 'tap';
import { StatusError } from '../../src/errors/status-error.ts';
import type { AccessAttributes } from '../../src/kubernetes/access-reviewer.ts';
import type { UserInfo } from '../../src/kubernetes/authentication-v1.ts';
import type { TenantName } from '../../src/kubernetes/request-info.ts';
import type { HeaderField, HeaderList } from '../../src/lib/header-list.ts';
import { resolveImpersonatedUser } from '../../src/proxy/impersonation/act-as.ts';
import { withImpersonationHeaders } from '../../src/proxy/impersonation/impersonate.ts';
import { LastModes } from '../../src/proxy/impersonation/impersonation-modes.ts';
import { canonicalName, cleanClientHeaders } from '../../src/proxy/request/client-headers.ts';
import { readRequestInfo } from '../../src/proxy/request/request-info.ts';
import { createArktosMode } from '../../src/tenancy/arktos.ts';
import { createSharedMode } from '../../src/tenancy/shared.ts';
import type { TenancyMode } from '../../src/tenancy/tenancy-mode.ts';
import { toTenantName } from '../../src/tenancy/tenant-name.ts';
import { fakeExchange } from '../support/fake-exchange.ts';
import { keystoneIdentity } from '../support/identities.ts';

const PREFIXES = ['oidc:', 'corp:users:'];
const modes = [
  createArktosMode({ systemTenant: 'system', domains: {} }),
  createSharedMode({ domains: { 'Big: Corp': 'big', acme: 'other' }, reservedNamePrefixes: PREFIXES }),
];

const piece = fc.constantFrom(
  ...[
    'acme',
    'globex',
    'big',
    'Big%3A Corp',
    'system',
    'System',
    'stonegate',
    'serviceaccount',
    'ns',
    'oidc',
    'corp',
  ],
  ...[
    'all',
    ':',
    ':',
    ':',
    '%3A',
    '@',
    ' ',
    '\t',
    '\u0000',
    '\ufeff',
    '\u00a0',
    'é',
    '世',
    '\u212a',
    'authenticated',
  ],
);
const text = fc.oneof(
  fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
/** A field value as the listener receives it: the bytes of text, or any bytes. */
const value = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom('bob', 'staff') },
  text.map((given) => Buffer.from(given, 'utf8').toString('latin1')),
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
);
const spelling = fc.constantFrom(
  (name: string) => name,
  (name: string) => name,
  (name: string) => name.toUpperCase(),
  (name: string) => name.replace('-', '_'),
);
const field = fc
  .tuple(
    spelling,
    fc.constantFrom(
      ...[
        'user',
        'group',
        'group',
        'group',
        'uid',
        'extra-scopes',
        'extra-scopes',
        'extra-stonegate.dev%2fa',
      ],
      ...['extra-alpha.kubernetes.io%2fidentity%2froles', 'extra-', 'users', ''],
    ),
  )
  .map(([spelled, kind]) => spelled(`Impersonate-${kind}`));
const headers = fc.tuple(
  fc.constantFrom<HeaderField[]>([], [['Impersonate-User', 'bob']], [['Connection', 'Impersonate-User']]),
  fc.array(fc.tuple(field, value), { maxLength: 3 }),
);
const tenants = fc.constantFrom('acme', 'globex', 'big', 'oidc', 'other', 'system').map(toTenantName);

interface Acted {
  readonly user: UserInfo;
  readonly asked: readonly AccessAttributes[];
  readonly sent: HeaderList;
}

/** @returns undefined if the request is refused or has no impersonation headers */
async function act(mode: TenancyMode, tenant: TenantName, sent: HeaderField[]): Promise<Acted | undefined> {
  const asked: AccessAttributes[] = [];
  const caller = { username: 'the-caller', uid: '', groups: ['the-callers'], extra: { 'the-key': ['x'] } };
  const identity = keystoneIdentity('alice');
  try {
    const user = await resolveImpersonatedUser(
      {
        exchange: fakeExchange({ headers: sent }),
        auditID: 'a',
        receivedAt: 0,
        sourceIPs: ['192.0.2.7'],
        info: readRequestInfo('GET', '/api/v1/pods', { hasTenantsInPaths: false }),
        identity,
        proven: identity,
        sender: { kind: 'stonegate' },
        tenant,
        named: caller,
        user: caller,
      },
      {
        mode,
        extraKeys: new Set(['scopes']),
        constrained: false,
        lastModes: new LastModes(),
        limiter: undefined,
        reviewer: {
          async review(_user, attributes) {
            asked.push(attributes);
            return { allowed: true };
          },
          reviewSelf: () => Promise.reject(new Error('no user has a token of their own')),
        },
      },
    );
    if (user === undefined) return undefined;
    const cleaned = cleanClientHeaders(sent, { impersonationHandled: true });
    const options = { maxHeaderBytes: 1 << 20, auditID: 'a', clientAddress: '192.0.2.7' };
    return { user, asked, sent: withImpersonationHeaders(cleaned, user, options) };
  } catch (error) {
    if (error instanceof StatusError && error.code !== 'InvariantBroken') return undefined;
    throw error;
  }
}

/** The prefix of the tenant's user names. */
function prefixOf(mode: TenancyMode, tenant: string): string {
  if (mode.name === 'shared')
    return tenant === 'big' ? 'Big%3A Corp:' : tenant === 'other' ? 'acme:' : `${tenant}:`;
  return tenant === 'system' ? 'system:stonegate:' : `${tenant}:`;
}

for (const mode of modes) {
  t.test(`${mode.name}: no user impersonates a user of another tenant`, async (t) => {
    let carriedOut = 0;
    await fc.assert(
      fc.asyncProperty(tenants, value, async (tenant, name) => {
        const acted = await act(mode, tenant, [['Impersonate-User', name]]);
        if (acted === undefined) return true;
        carriedOut += 1;
        const { username } = acted.user;
        if (mode.name === 'shared' && /^system:serviceaccount:[a-z0-9-]+:[a-z0-9.-]+$/.test(username))
          return true;
        const issuers = mode.name === 'shared' && PREFIXES.some((prefix) => username.startsWith(prefix));
        const own = username.slice(prefixOf(mode, tenant).length);
        return username.startsWith(prefixOf(mode, tenant)) && !own.startsWith('system:') && !issuers;
      }),
      { numRuns: 5_000 },
    );
    t.ok(carriedOut > 500, 'enough requests are served');
  });

  t.test(
    `${mode.name}: the request carries only values that were reviewed or that Stonegate adds`,
    async (t) => {
      let carriedOut = 0;
      await fc.assert(
        fc.asyncProperty(tenants, headers, async (tenant, given) => {
          const acted = await act(mode, tenant, given.flat());
          if (acted === undefined) return true;
          carriedOut += 1;
          const { user, asked, sent } = acted;
          const reviewed = new Set(
            asked.map((question) => 'resourceAttributes' in question && question.resourceAttributes.name),
          );
          const ours = new Set(['system:authenticated', `stonegate:tenant:${tenant}`]);
          const accounts = user.username.startsWith('system:serviceaccount:')
            ? ['system:serviceaccounts', `system:serviceaccounts:${user.username.split(':')[2]}`]
            : [];
          const groups = user.groups.filter((group) => !ours.has(group) && !accounts.includes(group));
          const {
            scopes = [],
            'stonegate.dev/original-user': original,
            'stonegate.dev/tenant': mark,
            ...more
          } = user.extra;
          const impersonation = sent.filter(([name]) => canonicalName(name).startsWith('impersonate'));
          return (
            [...groups, ...scopes, ...(user.uid === '' ? [] : [user.uid])].every((one) =>
              reviewed.has(one),
            ) &&
            groups.every((group) => !/^(?:system|keystone|stonegate):/.test(group)) &&
            original?.length === 1 &&
            JSON.parse(original[0] ?? '').username === 'the-caller' &&
            (mark === undefined || mark.join() === tenant) &&
            Object.keys(more).length === 0 &&
            !user.groups.includes('the-callers') &&
            impersonation.filter(([name]) => name === 'Impersonate-User').length === 1
          );
        }),
        { numRuns: 5_000 },
      );
      t.ok(carriedOut > 200, 'enough requests are served');
    },
  );
}
