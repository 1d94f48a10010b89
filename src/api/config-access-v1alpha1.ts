/**
 * The sections `access` and `authorization` of a StonegateConfiguration after loading.
 * `config/schema-access.ts` parses them.
 */
import type { AuthorizationMode } from './authorization-mode.ts';

/** A list of the namespaces in which a user may do one thing. */
export interface NamedSetConfiguration {
  readonly name: string;
  readonly verb: string;
  /** Empty for the core group. */
  readonly apiGroup: string;
  readonly resource: string;
  /** Empty for the resource itself. */
  readonly subresource: string;
}

/** What the RBAC index holds of one tenant or namespace. */
export interface IndexLimitConfiguration {
  readonly objects: number;
  readonly bytes: number;
}

/** The RBAC index and what is answered from it. */
export interface AccessConfiguration {
  readonly index: boolean;
  readonly indexLimits: {
    /** In arktos mode. */
    readonly perTenant: IndexLimitConfiguration;
    /** In shared mode. */
    readonly perNamespace: IndexLimitConfiguration;
  };
  /** Empty if the operator states nothing. */
  readonly authorizers: readonly AuthorizationMode[];
  /** One decision in this number is compared with a review; 0: none. */
  readonly verifyOneIn: number;
  readonly selfReviews: 'none' | 'namespaces' | 'all';
  /** Of an all-namespaces request that is sent namespace by namespace. */
  readonly maxNamespaces: { readonly list: number; readonly watch: number };
  readonly namedSets: readonly NamedSetConfiguration[];
}

export interface AuthorizationConfiguration {
  /** Whether a 403 becomes a 404 if the user may not know that the object exists. */
  readonly hideForbidden: boolean;
}
