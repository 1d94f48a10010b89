/**
 * Stonegate's own API group `stonegate.dev/v1alpha1`: SelfIdentity (who the caller is) and Explanation (what
 * would happen to a request). No field of a response holds a credential.
 */
import type { UserInfo } from '../../kubernetes/authentication-v1.ts';
import type { ObjectMeta } from '../../kubernetes/meta-v1.ts';
import type { IdentityScope } from '../../tenancy/identity.ts';

/** `kubectl get --raw` shows it; `stonegate whoami` and the portal read it. */
export const SELF_IDENTITY_PATH = '/apis/stonegate.dev/v1alpha1/selfidentity';

export interface SelfIdentity {
  readonly kind: 'SelfIdentity';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: {
    readonly user: UserInfo;
    readonly tenant: string;
    /** The authenticator that accepted the credential: `keystone`, `jwt`, `x509`, … */
    readonly authenticator: string;
    /** The scope of the credential; absent if its source has no scopes. */
    readonly scope?: {
      readonly kind: 'project' | 'domain' | 'system' | 'unscoped';
      readonly id?: string;
      readonly name?: string;
      /** The project's namespace; absent if Stonegate makes none. */
      readonly namespace?: string;
    };
    /** Role names on that scope. */
    readonly roles: readonly string[];
    /** RFC 3339. */
    readonly expirationTimestamp: string;
  };
}

/**
 * An administrator posts an ExplanationRequest to a running Stonegate; `stonegate explain` computes the same
 * Explanation from a configuration file.
 */
export const EXPLANATIONS_PATH = '/apis/stonegate.dev/v1alpha1/explanations';

/** The request to be explained. */
export interface ExplainedRequest {
  readonly method: string;
  /** Path and query, as a client would send them. */
  readonly path: string;
  /** Header fields beside the credential. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** The protocol to upgrade to, lower-cased: `websocket`, `spdy/3.1`. */
  readonly upgrade?: string;
}

export interface ExplanationRequest {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly spec: {
    readonly request: ExplainedRequest;
    /** Absent: a request without a credential. Secret; never repeated in the response. */
    readonly token?: string;
  };
}

/**
 * The stages in the order of the lifecycle; `accessReview` is the API server's RBAC, reviewed only if all
 * others passed.
 */
export const STAGES = [
  'parseRequestInfo',
  'authenticate',
  'resolveTenant',
  'actAs',
  'authorize',
  'admit',
  'limit',
  'rewrite',
  'impersonate',
  'deliver',
  'accessReview',
] as const;
export type StageName = (typeof STAGES)[number];

export type Decision = 'passed' | 'refused' | 'notReached' | 'unknown';

export interface ExplainedStage {
  readonly name: StageName;
  readonly decision: Decision;
  readonly reason: string;
  /** The members of the stage, in order: authenticators, authorizers, admission plugins. */
  readonly parts?: readonly ExplainedPart[];
}

export interface ExplainedPart {
  readonly name: string;
  /** `passedOn`: this member does not handle the request. */
  readonly decision: 'accepted' | 'passedOn' | 'refused';
  readonly reason: string;
}

export interface Refusal {
  readonly stage: StageName;
  readonly code: string;
  readonly httpStatus: number;
  /** The message sent to the client. */
  readonly message: string;
  /** The cause, which only the operator may see. */
  readonly cause?: string;
}

export interface Explanation {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  /** Headers are omitted: they may hold secrets. */
  readonly spec: { readonly request: Omit<ExplainedRequest, 'headers'> };
  readonly status: {
    readonly outcome: 'forwarded' | 'tunnelled' | 'answered' | 'refused';
    readonly refusal?: Refusal;
    readonly stages: readonly ExplainedStage[];
    /** The kind of the credential, without the credential. */
    readonly credential: string;
    readonly requestInfo?: Readonly<Record<string, string | boolean>>;
    readonly identity?: {
      readonly authenticator: string;
      readonly uid: string;
      readonly groups: readonly string[];
      readonly scope?: IdentityScope;
      /** RFC 3339. */
      readonly expirationTimestamp: string;
      readonly facts: Readonly<Record<string, string>>;
    };
    readonly tenant?: string;
    /** The user as impersonated. */
    readonly user?: UserInfo;
    /** The user who sends the request, if it is another user. */
    readonly impersonator?: UserInfo;
    /** The path as sent to the API server; absent if the request would not be sent. */
    readonly upstreamPath?: string;
    /**
     * With values if Stonegate sets them (identity headers included); only names for the client's other
     * fields.
     */
    readonly headers?: readonly { readonly name: string; readonly value?: string }[];
    /** What does not exist, and why the index does not count: sentences without a full stop. */
    readonly warnings?: readonly string[];
  };
}
