/**
 * The modes of kube-apiserver's `--authorization-mode`, as the operator states them.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/
 */
export type AuthorizationMode = 'Node' | 'RBAC' | 'Webhook' | 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny';

/**
 * Who decides about a list that the index would answer: RBAC alone; the API server, of which only a 403 is
 * replaced, since other authorizers may allow more and never deny; or, if others may deny too, never the
 * index.
 */
export type FilteringMode = 'rbacAlone' | 'othersMayAllow' | 'off';

export function filteringMode({
  authorizers,
  othersNeverDeny,
}: {
  readonly authorizers: readonly AuthorizationMode[];
  readonly othersNeverDeny: boolean;
}): FilteringMode {
  if (isRBACAlone(authorizers)) return 'rbacAlone';
  return othersNeverDeny ? 'othersMayAllow' : 'off';
}

/** The operator's statement that no authorizer decides about users but RBAC. */
export function isRBACAlone(authorizers: readonly AuthorizationMode[]): boolean {
  return authorizers.includes('RBAC') && authorizers.every((mode) => mode === 'Node' || mode === 'RBAC');
}
