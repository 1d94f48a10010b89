/**
 * Access rules of `stonegate.dev/v1alpha1`: everything that a user may do, by namespace, for services that
 * show data of the cluster. docs/access-rules.md says how a service evaluates them.
 */
import type { UserInfo } from './authentication-v1.ts';
import type { ObjectMeta } from './meta-v1.ts';

export const SELF_ACCESS_RULES_PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';

/** As a `PolicyRule` of RBAC: `*` stands for all, `*` + `/scale` for the subresource of every resource. */
export interface AccessRule {
  /** Absent in rules for one verb. */
  readonly verbs?: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Absent: all objects. */
  readonly resourceNames?: readonly string[];
}

/**
 * The rules that count for a request: `everywhere`, and one of the other three. Each list has one order, so
 * that equal access is equal JSON.
 */
export interface AccessRules {
  /** For every request, with or without a namespace. */
  readonly everywhere: readonly AccessRule[];
  /** For requests that name no namespace. */
  readonly cluster: readonly AccessRule[];
  /** For these namespaces. No name is in two entries. */
  readonly namespaces: readonly NamespaceRules[];
  /** For every namespace that no entry of `namespaces` names. */
  readonly otherNamespaces: readonly AccessRule[];
}

export interface NamespaceRules {
  readonly names: readonly string[];
  readonly rules: readonly AccessRule[];
}

export interface AccessRulesStatus extends AccessRules {
  /** `*`: each rule has its verbs. */
  readonly verb: string;
  /** The tenant whose objects the rules are about; absent if the API server has no tenants. */
  readonly tenant?: string;
  /** Of the API server's storage: the rules hold what was written up to it. */
  readonly revision: string;
  /** Whether the user may have more or other access than the rules say. */
  readonly incomplete: boolean;
  readonly incompleteReason?: string;
  /** RFC 3339. Ask again by then. */
  readonly validUntil: string;
  /** Named sets of the configuration: the namespaces in which one verb is allowed. */
  readonly sets: Readonly<Record<string, readonly string[]>>;
}

export interface SelfAccessRules {
  readonly kind: 'SelfAccessRules';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: AccessRulesStatus;
}

/** What is asked for; each of them narrows the rules. */
export interface RulesSelection {
  /** `*`: all. */
  readonly verb: string;
  readonly apiGroup?: string;
  /** With its subresource, if it has one: `pods/log`. */
  readonly resource?: string;
  readonly namespace?: string;
}

export interface AccessRulesReview {
  readonly kind: 'AccessRulesReview';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  /** The subject is not repeated: it may be a token. */
  readonly spec: RulesSelection;
  readonly status: AccessRulesStatus & {
    readonly user: Pick<UserInfo, 'username'> & Partial<Pick<UserInfo, 'uid'>>;
  };
}
