/**
 * Identities whose Kubernetes user no tenancy mode names: whom the API server itself vouches for keeps the name it
 * knows them by, and nobody is `system:anonymous`, with the one group Kubernetes gives to them and nothing else.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-requests
 */
import type { UserInfo } from '../api/authentication-v1.ts';
import type { Identity, Subject } from '../api/identity.ts';

/** An identity whose name the tenancy mode builds. */
export type NamedIdentity = Identity & {
  readonly subject: Extract<Subject, { kind: 'keystone' | 'claim' }>;
};

const ANONYMOUS: UserInfo = {
  username: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

/**
 * @param named makes the user of whom the mode has to name
 * @throws what `named` throws
 */
export function userOrNamed(identity: Identity, named: (identity: NamedIdentity) => UserInfo): UserInfo {
  const { subject } = identity;
  switch (subject.kind) {
    case 'upstream':
      return subject.user;
    case 'anonymous':
      return ANONYMOUS;
    case 'keystone':
    case 'claim':
      return named({ ...identity, subject });
  }
}
