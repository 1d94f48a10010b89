/**
 * Stonegate's own API group `stonegate.dev/v1alpha1`: SelfIdentity (who the caller is) and Explanation (what
 * would happen to a request). No field of a response holds a credential.
 */
import type { ObjectMeta } from '../../kubernetes/meta-v1.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type {
  explanationSpecSchema,
  explanationStatusSchema,
  STAGES,
  selfIdentityStatusSchema,
} from './explain-schemas.ts';

/** `kubectl get --raw` shows it; `stonegate whoami` and the portal read it. */
export const SELF_IDENTITY_PATH = '/apis/stonegate.dev/v1alpha1/selfidentity';

export interface SelfIdentity {
  readonly kind: 'SelfIdentity';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: Output<typeof selfIdentityStatusSchema>;
}

/**
 * An administrator posts an ExplanationRequest to a running Stonegate; `stonegate explain` computes the same
 * Explanation from a configuration file.
 */
export const EXPLANATIONS_PATH = '/apis/stonegate.dev/v1alpha1/explanations';

export interface ExplanationRequest {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly spec: Output<typeof explanationSpecSchema>;
}

/** The request to be explained. */
export type ExplainedRequest = ExplanationRequest['spec']['request'];

export type StageName = (typeof STAGES)[number];

export interface Explanation {
  readonly kind: 'Explanation';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  /** Headers are omitted: they may hold secrets. */
  readonly spec: { readonly request: Omit<ExplainedRequest, 'headers'> };
  readonly status: Output<typeof explanationStatusSchema>;
}

export type ExplainedStage = Explanation['status']['stages'][number];
export type Decision = ExplainedStage['decision'];
export type ExplainedPart = NonNullable<ExplainedStage['parts']>[number];
export type Refusal = NonNullable<Explanation['status']['refusal']>;
