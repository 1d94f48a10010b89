/**
 * Admits requests without a credential to all paths or to the configured ones. A refused credential never
 * becomes anonymous.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-authenticator-configuration
 */

import type { Identity } from '../tenancy/identity.ts';
import type { AnonymousConfiguration } from './authentication-configuration.ts';

/** @returns the anonymous identity if a request to the path needs no credential */
export type AnonymousAccess = (path: string) => Identity | undefined;

const ANONYMOUS: Identity = {
  authenticator: 'anonymous',
  subject: { kind: 'anonymous' },
  tenantOrigin: { from: 'nowhere' },
  uid: '',
  groups: [],
  extra: {},
  expiresAt: Number.POSITIVE_INFINITY,
  auditAnnotations: {},
};

export function createAnonymousAccess({ enabled, paths }: AnonymousConfiguration): AnonymousAccess {
  if (!enabled) return () => undefined;
  if (paths.length === 0) return () => ANONYMOUS;
  const allowed = new Set(paths);
  return (path) => (allowed.has(path) ? ANONYMOUS : undefined);
}
