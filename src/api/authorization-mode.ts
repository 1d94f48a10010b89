/**
 * The modes of kube-apiserver's `--authorization-mode`, as the operator states them.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/
 */
export type AuthorizationMode = 'Node' | 'RBAC' | 'Webhook' | 'ABAC' | 'AlwaysAllow' | 'AlwaysDeny';

/** The operator's statement that no authorizer decides about users but RBAC. */
export function isRBACAlone(authorizers: readonly AuthorizationMode[]): boolean {
  return authorizers.includes('RBAC') && authorizers.every((mode) => mode === 'Node' || mode === 'RBAC');
}
