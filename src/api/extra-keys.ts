/**
 * Keys of a user's extra attributes: which may come from outside, and which Stonegate itself sets. Upper case is lost
 * on the way, since the API server lower-cases header names, and the domains of Kubernetes and of Stonegate are theirs
 * alone to speak in.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

export const EXTRA_KEY = /^[a-z0-9/._-]+$/;

/** What kube-apiserver accepts of an issuer's configuration, in lower case; sent escaped. */
export const SENDABLE_EXTRA_KEY = /^[a-z0-9/._~%!$&'()*+,;=:-]+$/;

/** The tenant, where user names alone do not say it. */
export const TENANT_KEY = 'stonegate.dev/tenant';

/** Whom a request was sent by, as one JSON value, where that is not whom it is made as. */
export const ORIGINAL_USER_KEY = 'stonegate.dev/original-user';

/**
 * Which credential a user has, as kube-apiserver says it: `JTI=` and the token's id.
 * https://pkg.go.dev/k8s.io/apiserver/pkg/authentication/user#CredentialIDKey
 */
export const CREDENTIAL_ID_KEY = 'authentication.kubernetes.io/credential-id';

/** With a slash behind the domain or without. */
export const RESERVED_EXTRA_KEY = /^(?:[^/]*\.)?(?:kubernetes\.io|k8s\.io|stonegate\.dev)(?:\/|$)/;
