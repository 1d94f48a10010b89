/**
 * The forms in which replicas of two versions share values during an upgrade. A form is recorded once under
 * its name and never changes: a value with another member, or with another meaning, needs a form with another
 * name, which the other version does not find.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { parseSealedEntry, type SealedEntry } from '../../src/cache/entry.ts';
import { type Session, sessionCodec } from '../../src/features/portal/portal-storage.ts';
import { keystoneTokenCodec } from '../../src/identity/keystone/keystone-authenticator.ts';
import type { DisabledScopes } from '../../src/identity/keystone/keystone-directory.ts';
import { assignmentsCodec, disabledScopesCodec } from '../../src/identity/keystone/role-lookup.ts';
import { type ReviewedUser, reviewedUserCodec } from '../../src/identity/token-review.ts';
import { isJSONObject } from '../../src/lib/json-object.ts';
import type { KeystoneToken, RoleAssignment } from '../../src/tenancy/keystone-v3.ts';
import { asJSON } from './recorded.ts';

const FOLDER = fileURLToPath(new URL('recorded/stored-forms', import.meta.url));

/** Makes every optional member required, so that a new one must be added to the samples. */
type Complete<T> = T extends (infer _)[] | readonly (infer _)[] | ReadonlySet<infer _>
  ? T
  : T extends object
    ? { readonly [K in keyof T]-?: Complete<Exclude<T[K], undefined>> }
    : T;

const domain = { id: 'd1', name: 'acme' };
const user = { id: 'u1', name: 'alice', domain };
const project = { id: 'p1', name: 'web', domain };
const role = { id: 'r1', name: 'member' };

const token: Complete<KeystoneToken> = {
  user,
  scope: { kind: 'project', project },
  roles: [role],
  federatedGroups: ['g1'],
  delegation: { kind: 'trust', id: 't1', trusteeUserID: 'u2', impersonation: true },
  methods: ['token', 'password'],
  auditIDs: ['a1', 'a0'],
  issuedAt: 1_767_225_600_000,
  expiresAt: 1_767_229_200_000,
};

const reviewed: Complete<ReviewedUser> = {
  user: {
    username: 'system:serviceaccount:a:b',
    uid: 'u1',
    groups: ['g1'],
    extra: { 'key.example/a': ['1'] },
  },
  expiresAt: 1_767_229_200_000,
  tenantClaim: 'acme',
};

const session: Complete<Session> = {
  identity: {
    authenticator: 'keystone',
    subject: {
      kind: 'keystone',
      userName: 'alice',
      userDomain: domain,
      scopeDomain: domain,
      delegation: { kind: 'application-credential', id: 'c1' },
    },
    tenantOrigin: { from: 'domain', domain },
    uid: 'u1',
    groups: ['keystone:project:p1'],
    extra: { 'key.example/a': ['1'] },
    scope: { kind: 'project', id: 'p1', name: 'web', roles: ['member'] },
    assignmentsOf: 'u1',
    signedInAt: 1_767_225_600_000,
    expiresAt: 1_767_229_200_000,
    auditAnnotations: { 'key.example/b': '2' },
  },
  issuer: 'https://a.example',
  projects: [{ id: 'p1', name: 'web' }],
  expiresAt: 1_767_229_200_000,
};

const assignments: readonly Complete<RoleAssignment>[] = [
  { user, role, scope: { kind: 'project', project } },
  { user, role, scope: { kind: 'domain', domain } },
  { user, role, scope: { kind: 'system' } },
];

const disabled: Complete<DisabledScopes> = { projectIDs: new Set(['p1']), domainIDs: new Set(['d1']) };

const entry: Complete<SealedEntry> = {
  value: '{}',
  storedAt: 1_767_225_600_000,
  credentialExpiresAt: 1_767_229_200_000,
  discardAt: 1_767_225_660_000,
  epochs: { 'user:u1': 0 },
};

interface Form {
  readonly name: string;
  readonly sample: unknown;
  readonly text: string;
  readonly decode: (text: string) => unknown;
}

interface Codec<V> {
  readonly name: string;
  encode(value: V): string;
  decode(text: string): V | undefined;
}

function formOf<V>({ name, encode, decode }: Codec<V>, sample: V): Form {
  return { name, sample, text: encode(sample), decode };
}

const FORMS: readonly Form[] = [
  formOf(keystoneTokenCodec, token),
  formOf(reviewedUserCodec, reviewed),
  formOf(assignmentsCodec, assignments),
  formOf(disabledScopesCodec, disabled),
  formOf(sessionCodec, session),
  // The name is the first byte of a sealed value.
  { name: 'sealed-1', sample: entry, text: JSON.stringify(entry), decode: parseSealedEntry },
];

/** The recorded text. An existing record is never overwritten. */
function recorded({ name, text }: Form): string {
  const file = `${FOLDER}/${name}.json`;
  if (process.env.RECORD_CONTRACTS === 'yes' && !existsSync(file)) {
    mkdirSync(FOLDER, { recursive: true });
    writeFileSync(file, asJSON(JSON.parse(text)));
  }
  return readFileSync(file, 'utf8');
}

/** Variants of the value: each has one more member in one of its objects. */
function* withOneMore(value: unknown): Generator<unknown> {
  if (Array.isArray(value)) {
    for (const [index, member] of value.entries())
      for (const changed of withOneMore(member)) yield value.with(index, changed);
  } else if (isJSONObject(value)) {
    yield { ...value, onlyFrom: ['192.0.2.1'] };
    for (const [name, member] of Object.entries(value))
      for (const changed of withOneMore(member)) yield { ...value, [name]: changed };
  }
}

/** Maps with arbitrary keys, which have no unknown members. */
const RECORDS = ['extra', 'epochs', 'auditAnnotations'];

for (const form of FORMS)
  t.test(`${form.name}: the form is as recorded`, async (t) => {
    const text = recorded(form);
    t.equal(asJSON(JSON.parse(form.text)), text, 'the form is as recorded; another form needs another name');
    t.same(
      form.decode(text),
      form.sample,
      'a value that another version has stored is decoded to the same value',
    );
    const changed = [...withOneMore(JSON.parse(text))].map((value) => JSON.stringify(value));
    t.same(
      changed.filter(
        (each) =>
          form.decode(each) !== undefined &&
          !RECORDS.some((name) => new RegExp(`"${name}":\\{[^}]*"onlyFrom"`).test(each)),
      ),
      [],
      'a value with a member that this version does not know counts as absent',
    );
  });
