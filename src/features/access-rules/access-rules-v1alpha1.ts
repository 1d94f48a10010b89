/**
 * Access rules of `stonegate.dev/v1alpha1`: everything that a user may do, by namespace, for services that
 * show data of the cluster. docs/access-rules.md says how a service evaluates them.
 */
import { z } from 'zod';
import { flag, text, texts } from '../../kubernetes/kubernetes-schema.ts';
import type { ObjectMeta } from '../../kubernetes/meta-v1.ts';
import type { Output } from '../../lib/schema-fields.ts';
import { NEEDS_INDEX, type OwnResource } from '../../proxy/own-api.ts';

export const SELF_ACCESS_RULES_PATH = '/apis/stonegate.dev/v1alpha1/selfaccessrules';

/**
 * Has the fields of RBAC's `PolicyRule`: `*` stands for all, `*` + `/scale` for the subresource of every
 * resource.
 */
const rule = z
  .strictObject({
    verbs: texts('Absent in rules for one verb.').exactOptional(),
    apiGroups: texts('API groups; * for all.'),
    resources: texts('Resources; * for all.'),
    resourceNames: texts('The objects; absent for all.').exactOptional(),
  })
  .describe('One rule.');

const namespaceRules = z
  .strictObject({ names: texts('Their names.'), rules: z.array(rule).describe('Rules as in a role.') })
  .describe('Namespaces with equal rules.');

const rules = z.strictObject({
  everywhere: z.array(rule).describe('Rules for every request, with or without a namespace.'),
  cluster: z.array(rule).describe('Rules for requests that name no namespace.'),
  namespaces: z.array(namespaceRules).describe('Rules of namespaces; no name is in two entries.'),
  otherNamespaces: z.array(rule).describe('Rules for every namespace that no entry of `namespaces` names.'),
});

const accessRulesStatusSchema = rules
  .extend({
    verb: text('The verb. With *, each rule has its verbs.'),
    tenant: text('The tenant whose objects the rules are about.').exactOptional(),
    revision: text('The revision of the API server whose roles and bindings were read.'),
    incomplete: flag('If true, the user may have more or other access.'),
    incompleteReason: text('Why they are incomplete.').exactOptional(),
    validUntil: text('Until when the rules are valid.'),
    sets: z
      .record(z.string(), z.array(z.string()))
      .describe('Named sets of the configuration: the namespaces in each.'),
  })
  .describe('Everything that the user may do.');

const reviewedAccessRulesSchema = accessRulesStatusSchema.extend({
  user: z
    .strictObject({ username: text("The user's name."), uid: text("The user's id.").exactOptional() })
    .describe('The user that a review is about.'),
});

/** The selection that a client asks for; each field narrows the rules. */
const selection = z.strictObject({
  verb: text('The verb. Without it, or with *, the rules are for all verbs.'),
  apiGroup: text('Only rules that cover this API group. Empty for the core group.').exactOptional(),
  resource: text('Only rules that cover this resource, such as pods or pods/log.').exactOptional(),
  namespace: text('Only what is allowed in this namespace.').exactOptional(),
});

export const accessRulesReviewSpecSchema = selection
  .extend({
    verb: selection.shape.verb.exactOptional(),
    token: text('A token of the user. It is not stored.').exactOptional(),
    user: text("The user's name.").exactOptional(),
    groups: texts("The user's groups; no group is added.").exactOptional(),
    uid: text("The user's id.").exactOptional(),
    extra: z
      .record(z.string(), z.array(z.string()))
      .exactOptional()
      .describe('Lists of strings, as in a SubjectAccessReview.'),
  })
  .describe('Whose rules are asked for, and which. Either token or user is set.');

export type AccessRule = Output<typeof rule>;
export type NamespaceRules = Output<typeof namespaceRules>;
/**
 * The rules that count for a request: `everywhere`, and one of the other three. Each list has one order, so
 * that equal access is equal JSON.
 */
export type AccessRules = Output<typeof rules>;
export type AccessRulesStatus = Output<typeof accessRulesStatusSchema>;
export type RulesSelection = Output<typeof selection>;

export interface SelfAccessRules {
  readonly kind: 'SelfAccessRules';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly status: AccessRulesStatus;
}

export interface AccessRulesReview {
  readonly kind: 'AccessRulesReview';
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  /** The subject is not repeated: it may be a token. */
  readonly spec: RulesSelection;
  readonly status: Output<typeof reviewedAccessRulesSchema>;
}

/** The user's own access rules, as a resource of Stonegate's own API. */
export const SELF_ACCESS_RULES: OwnResource = {
  name: 'selfaccessrules',
  kind: 'SelfAccessRules',
  namespaced: false,
  verbs: ['get'],
  inTenant: true,
  needs: NEEDS_INDEX,
  description: 'SelfAccessRules is everything that the user may do, by namespace.',
  schemas: { status: accessRulesStatusSchema },
};

/** The access rules of another user. */
export const ACCESS_RULES_REVIEWS: OwnResource = {
  name: 'accessrulesreviews',
  kind: 'AccessRulesReview',
  namespaced: false,
  verbs: ['create'],
  inTenant: true,
  needs: NEEDS_INDEX,
  right: 'tenant',
  description: 'AccessRulesReview is everything that the user of a token, or a named user, may do.',
  schemas: { spec: accessRulesReviewSpecSchema, status: reviewedAccessRulesSchema },
};
