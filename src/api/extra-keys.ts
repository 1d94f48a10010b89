/**
 * Keys of a user's extra attributes that may come from outside. Upper case is lost on the way, since the API server
 * lower-cases header names, and the domains of Kubernetes and of Stonegate are theirs alone to speak in.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */

export const EXTRA_KEY = /^[a-z0-9/._-]+$/;

/** With a slash behind the domain or without. */
export const RESERVED_EXTRA_KEY = /^(?:[^/]*\.)?(?:kubernetes\.io|k8s\.io|stonegate\.dev)(?:\/|$)/;
