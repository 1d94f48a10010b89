/**
 * Policies of the operator's file `authorization.abacPolicyFile`, after loading. `features/cross-
 * tenant/abac-file.ts` parses its lines, which are `abac.authorization.kubernetes.io/v1beta1` with three
 * more fields. https://kubernetes.io/docs/reference/access-authn-authz/abac/#policy-file-format
 */
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';

export const ABAC_API_VERSION = 'abac.authorization.kubernetes.io/v1beta1';

export interface AbacPolicy {
  /** Unique in the file; a DNS-1123 label. */
  readonly name: string;
  /** Counted from 1. */
  readonly line: number;
  /** The tenant of the users. */
  readonly tenant: string;
  /** `user` or `group` is present; if both are, both must match. The name within the tenant, or `*`. */
  readonly user?: string;
  readonly group?: string;
  /** The tenant that they may enter. */
  readonly space: string;
  /** A name, or `*` for all and for what has no namespace. */
  readonly namespace: string;
  /** What the line's patterns select of what policies may grant: without `*`, not empty. */
  readonly rules: readonly PolicyRule[];
}
