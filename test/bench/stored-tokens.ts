/**
 * The AccessToken objects of the benchmark. The namespace of a list says how many there are, and at which
 * port their owners' issuer is: `tokens-PORT-COUNT`.
 */
import { createHash } from 'node:crypto';
import { newSecret } from '../../src/identity/secret-token.ts';

/** Tokens of each owner. */
const OF_EACH = 20;
const SCOPES = Array.from({ length: 19 }, (_, at) => `namespace/team-${at}/edit`);
const LIST =
  /^GET \/apis\/tenancy\.stonegate\.dev\/v1alpha1\/tenants\/system\/namespaces\/tokens-(\d+)-(\d+)\/accesstokens\?(\S*)/;

export const namespaceOf = (issuer: string, count: number) => `tokens-${new URL(issuer).port}-${count}`;

/** With 20 scopes; the last one decides about the requests of the benchmark. */
export function secretOf(at: number) {
  return newSecret(
    'sgt_',
    { bytes: (size) => hash(`${at}`).subarray(0, size) },
    `t${String(at).padStart(7, '0')}`,
  );
}

/** @returns a page as JSON; undefined for another request */
export function pageOf(request: string): string | undefined {
  const [, port, count, query] = LIST.exec(request) ?? [];
  if (port === undefined || query === undefined || query.includes('watch=')) return undefined;
  const words = new URLSearchParams(query);
  const first = Number(words.get('continue') ?? 0);
  const end = Math.min(Number(count), first + Number(words.get('limit') ?? count));
  return JSON.stringify({
    kind: 'AccessTokenList',
    apiVersion: 'tenancy.stonegate.dev/v1alpha1',
    metadata: { resourceVersion: '1000000', ...(end < Number(count) && { continue: String(end) }) },
    items: Array.from({ length: end - first }, (_, at) =>
      storedToken(first + at, `http://127.0.0.1:${port}`),
    ),
  });
}

function storedToken(at: number, issuer: string) {
  const { id, digest } = secretOf(at);
  const owner = `oidc:user-${Math.floor(at / OF_EACH)}`;
  const identity = {
    authenticator: 'jwt',
    subject: { kind: 'claim', name: owner },
    tenantOrigin: { from: 'issuer', tenant: 'acme' },
    uid: '',
    groups: ['oidc:developers', 'oidc:operators', 'oidc:everybody'],
    extra: {},
    expiresAt: Number.MAX_SAFE_INTEGER,
    auditAnnotations: { 'stonegate.dev/issuer': issuer },
  };
  const now = Date.now();
  return {
    metadata: {
      name: id,
      uid: `00000000-0000-4000-8000-${String(at).padStart(12, '0')}`,
      resourceVersion: String(at + 1),
      creationTimestamp: time(now - 3_600_000),
    },
    spec: {
      scopes: [...SCOPES, 'namespace/default/read'],
      tenant: 'acme',
      owner,
      identity: JSON.stringify(identity),
      signedIn: time(now),
      expires: time(now + 86_400_000),
      secrets: [{ digest }],
    },
    status: { lastUsed: time(now) },
  };
}

const time = (milliseconds: number) => `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
const hash = (text: string) => createHash('sha256').update(text).digest();
