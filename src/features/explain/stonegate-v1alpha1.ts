/**
 * Stonegate's own API group `stonegate.dev/v1alpha1`: SelfIdentity (who the caller is) and Explanation (what
 * would happen to a request). No field of a response holds a credential.
 */
import type { ObjectMeta } from '../../kubernetes/meta-v1.ts';
import type { Output } from '../../lib/schema-fields.ts';
import type { OwnResource } from '../../proxy/own-api.ts';
import {
  explanationSpecSchema,
  explanationStatusSchema,
  type STAGES,
  selfIdentityStatusSchema,
} from './explain-schemas.ts';

/** `kubectl get --raw` shows it; `stonegate whoami` and the portal read it. */
export const SELF_IDENTITY_PATH = '/apis/stonegate.dev/v1alpha1/selfidentity';

export const SELF_IDENTITY: OwnResource = {
  name: 'selfidentity',
  kind: 'SelfIdentity',
  namespaced: false,
  verbs: ['get'],
  methods: ['GET', 'HEAD'],
  inTenant: false,
  description: 'SelfIdentity is the user as Stonegate knows them: name, tenant, groups, roles and scope.',
  schemas: { status: selfIdentityStatusSchema },
};

export interface SelfIdentity {
  readonly kind: 'SelfIdentity';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: Output<typeof selfIdentityStatusSchema>;
}

/**
 * An administrator posts one to a running Stonegate; `stonegate explain` computes the same from a
 * configuration file.
 */
export const EXPLANATIONS: OwnResource = {
  name: 'explanations',
  kind: 'Explanation',
  namespaced: false,
  verbs: ['create'],
  inTenant: false,
  // An explanation contains causes that clients may not see, so a wildcard in a tenant's own role does not
  // grant it.
  right: 'cluster',
  description: 'Explanation says what would become of a request, stage by stage.',
  schemas: { spec: explanationSpecSchema, status: explanationStatusSchema },
};

export type ExplanationSpec = Output<typeof explanationSpecSchema>;

/** The request to be explained. */
export type ExplainedRequest = ExplanationSpec['request'];

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
