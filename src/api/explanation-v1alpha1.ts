/**
 * `stonegate.dev/v1alpha1` Explanation: what would become of a request, stage by stage. An administrator posts an
 * ExplanationRequest to a running Stonegate; `stonegate explain` makes the same answer from a configuration file. No
 * field of the answer holds a credential.
 */
import type { UserInfo } from './authentication-v1.ts';
import type { IdentityScope } from './identity.ts';
import type { ObjectMeta } from './meta-v1.ts';

export const EXPLANATIONS_PATH = '/apis/stonegate.dev/v1alpha1/explanations';

/** The request to be explained. */
export interface ExplainedRequest {
  readonly method: string;
  /** Path and query as a client would send them. */
  readonly path: string;
  /** Beside the credential. */
  readonly headers?: readonly (readonly [name: string, value: string])[];
  /** The protocol to upgrade to, lower-cased: `websocket`, `spdy/3.1`. */
  readonly upgrade?: string;
}

export interface ExplanationRequest {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly spec: {
    readonly request: ExplainedRequest;
    /** Absent: a request without one. Secret; never repeated in the answer. */
    readonly token?: string;
  };
}

/** In the order of the way; `accessReview` is the API server's own RBAC, asked only where all else passed. */
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
  /** What was asked within the stage, in order: authenticators, authorizers, admission plugins. */
  readonly parts?: readonly ExplainedPart[];
}

export interface ExplainedPart {
  readonly name: string;
  /** `passedOn`: not this one's business. */
  readonly decision: 'accepted' | 'passedOn' | 'refused';
  readonly reason: string;
}

export interface Refusal {
  readonly stage: StageName;
  readonly code: string;
  readonly httpStatus: number;
  /** What the client is told. */
  readonly message: string;
  /** What only the operator may know. */
  readonly cause?: string;
}

export interface Explanation {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  /** Headers are not repeated: they may hold secrets. */
  readonly spec: { readonly request: Omit<ExplainedRequest, 'headers'> };
  readonly status: {
    readonly outcome: 'forwarded' | 'tunnelled' | 'answered' | 'refused';
    readonly refusal?: Refusal;
    readonly stages: readonly ExplainedStage[];
    /** What kind of credential it is, without the credential. */
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
    /** As impersonated. */
    readonly user?: UserInfo;
    /** Who sends the request, where that is somebody else. */
    readonly impersonator?: UserInfo;
    /** As sent to the API server; absent where nothing would be. */
    readonly upstreamPath?: string;
    /** Values of the identity, and of what Stonegate writes itself; of the client's other fields only the names. */
    readonly headers?: readonly { readonly name: string; readonly value?: string }[];
  };
}
