/**
 * Requests without any credential, where an operator lets them in: to all paths or to the listed ones. Never what a
 * refused credential falls back to.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#anonymous-authenticator-configuration
 */
import type { AnonymousConfiguration } from '../api/config-v1alpha1.ts';
import type { Identity } from '../api/identity.ts';

/** @returns the identity of nobody where a request to the path needs no credential */
export type AnonymousAccess = (path: string) => Identity | undefined;

const NOBODY: Identity = {
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
  if (paths.length === 0) return () => NOBODY;
  const allowed = new Set(paths);
  return (path) => (allowed.has(path) ? NOBODY : undefined);
}
