/**
 * The stored form of a portal session. Another version of Stonegate may have written it, so a value of any
 * other shape counts as not found, and the user signs in again.
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, IdentityScope, Subject, TenantOrigin } from '../api/identity.ts';
import type { DomainReference } from '../api/keystone-v3.ts';
import {
  isExactly,
  isFiniteNumber,
  isListOf,
  isObjectOf,
  isOneOf,
  isOptional,
  isRecordOf,
  isText,
  parseShape,
} from '../lib/json-shape.ts';
import type { ProjectName, Session } from '../portal/ports.ts';

type SubjectOf<K extends Subject['kind']> = Extract<Subject, { readonly kind: K }>;
type OriginFrom<K extends TenantOrigin['from']> = Extract<TenantOrigin, { readonly from: K }>;

const isTexts = isListOf(isText);
const isReference = isObjectOf<DomainReference>({ id: isText, name: isText });
const isUser = isObjectOf<UserInfo>({
  username: isText,
  uid: isText,
  groups: isTexts,
  extra: isRecordOf(isTexts),
});

const isSubject = isOneOf<Subject>(
  isObjectOf<SubjectOf<'keystone'>>({
    kind: isExactly('keystone'),
    userName: isText,
    userDomain: isReference,
    scopeDomain: isReference,
    delegation: isOptional(
      isObjectOf<NonNullable<SubjectOf<'keystone'>['delegation']>>({
        kind: isExactly('application-credential', 'trust'),
        id: isText,
      }),
    ),
  }),
  isObjectOf<SubjectOf<'claim'>>({ kind: isExactly('claim'), name: isText }),
  isObjectOf<SubjectOf<'upstream'>>({ kind: isExactly('upstream'), user: isUser }),
  isObjectOf<SubjectOf<'anonymous'>>({ kind: isExactly('anonymous') }),
);

const isTenantOrigin = isOneOf<TenantOrigin>(
  isObjectOf<OriginFrom<'domain'>>({ from: isExactly('domain'), domain: isReference }),
  isObjectOf<OriginFrom<'issuer'>>({ from: isExactly('issuer'), tenant: isText }),
  isObjectOf<OriginFrom<'nowhere'>>({ from: isExactly('nowhere') }),
);

const isIdentity = isObjectOf<Identity>({
  authenticator: isText,
  subject: isSubject,
  tenantOrigin: isTenantOrigin,
  uid: isText,
  groups: isTexts,
  extra: isRecordOf(isTexts),
  scope: isOptional(
    isObjectOf<IdentityScope>({
      kind: isExactly('project', 'domain', 'system', 'unscoped'),
      id: isOptional(isText),
      name: isOptional(isText),
      roles: isTexts,
    }),
  ),
  assignmentsOf: isOptional(isText),
  expiresAt: isFiniteNumber,
  auditAnnotations: isRecordOf(isText),
});

const isSession = isObjectOf<Session>({
  identity: isIdentity,
  issuer: isOptional(isText),
  projects: isListOf(isObjectOf<ProjectName>({ id: isText, name: isText })),
  expiresAt: isFiniteNumber,
});

export const sessionCodec = {
  /** Another stored form needs another name. */
  name: 'portal-session-1',
  encode: (session: Session): string => JSON.stringify(session),
  /** @returns undefined if the text is not a session in this form */
  decode: (text: string): Session | undefined => parseShape(text, isSession),
};
