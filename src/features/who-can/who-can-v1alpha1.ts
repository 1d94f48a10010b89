/**
 * ResourceAccessReview and LocalResourceAccessReview of `stonegate.dev/v1alpha1`: who can do something. The
 * shape is OpenShift's, with the binding and the role of each grant.
 * https://docs.openshift.com/container-platform/latest/rest_api/authorization_apis/resourceaccessreview-authorization-openshift-io-v1.html
 */
import { z } from 'zod';
import { flag, text, texts } from '../../kubernetes/kubernetes-schema.ts';
import type { ObjectMeta } from '../../kubernetes/meta-v1.ts';
import type { Output } from '../../lib/schema-fields.ts';
import { NEEDS_INDEX, type OwnResource } from '../../proxy/own-api.ts';

export type WhoCanKind = 'ResourceAccessReview' | 'LocalResourceAccessReview';

const asked = {
  verb: text('The verb of the request, as in a rule: get, list, create, delete, bind, …'),
  apiGroup: text('The API group of the resource. Empty for the core group.').exactOptional(),
  resource: text('The resource in the plural, such as pods.').exactOptional(),
  subresource: text('The subresource, such as log. Empty for the resource itself.').exactOptional(),
  name: text('The name of one object. Empty for a request that names none.').exactOptional(),
  people: flag("If true, the users who hold Keystone's roles now are listed too.").exactOptional(),
};

export const whoCanSpecSchema = z
  .strictObject({
    ...asked,
    namespace: text('One namespace. Empty for all of them, and for what is in none.').exactOptional(),
    path: text('The path of a request that names no resource, such as /healthz.').exactOptional(),
  })
  .describe('What is asked. Either resource or path is set.');

export const localWhoCanSpecSchema = z
  .strictObject({ ...asked, resource: asked.resource.unwrap() })
  .describe('What is asked in the namespace of the review.');

const objectName = z.strictObject({
  kind: text('The kind of the object.'),
  namespace: text('Empty for an object of the cluster.'),
  name: text('The name of the object.'),
});

const grant = z
  .strictObject({
    subject: objectName
      .extend({
        displayName: text(
          'What is known of the subject by name, such as the Keystone project and role.',
        ).exactOptional(),
        people: texts('The users who hold the role now.').exactOptional(),
      })
      .describe('Who the access is granted to.'),
    by: z
      .enum(['binding', 'builtIn', 'impersonation'])
      .describe(
        'What grants it: binding; builtIn, if the API server does not ask RBAC; impersonation, if the subject may act as any user.',
      ),
    everywhere: flag('If true, it is granted in every namespace.'),
    namespace: text('Where it is granted. Empty if it is granted everywhere, or the user may not know.'),
    binding: objectName
      .exactOptional()
      .describe('The binding that grants it, if the user may list bindings there.'),
    role: objectName.exactOptional().describe('The role whose rule grants it.'),
  })
  .describe('One grant.');

const whoCanStatusSchema = z
  .strictObject({
    namespace: text('The namespace that was asked about. Empty for all.'),
    users: texts('The names of users.'),
    groups: texts('The names of groups.'),
    serviceAccounts: texts('Service accounts, as user names.'),
    grants: z.array(grant).describe('Each subject with the binding and the role that grant the access.'),
    otherTenants: z.int().describe('How many subjects of other tenants can do it.'),
    evaluationError: text('Why the lists may lack subjects, such as a role that does not exist.'),
    incomplete: flag('If true, the lists may be out of date or cut.'),
    incompleteReason: text('Why they are incomplete.').exactOptional(),
    revision: text('The revision of the API server whose roles and bindings were read.'),
    warnings: texts('What is to be known of the question.'),
  })
  .describe('Who can do it.');

export type WhoCanSpec = Output<typeof whoCanSpecSchema>;
export type WhoCanStatus = Output<typeof whoCanStatusSchema>;
export type WhoCanGrant = Output<typeof grant>;
export type ObjectName = Output<typeof objectName>;

export interface WhoCanReview {
  readonly kind: WhoCanKind;
  readonly apiVersion: 'stonegate.dev/v1alpha1';
  readonly metadata: ObjectMeta;
  readonly spec: WhoCanSpec;
  readonly status: WhoCanStatus;
}

const review = { verbs: ['create'], inTenant: true, needs: NEEDS_INDEX, right: 'tenant' } as const;

/** The resources of Stonegate's own API, by kind. */
export const WHO_CAN_RESOURCES: Readonly<Record<WhoCanKind, OwnResource>> = {
  ResourceAccessReview: {
    ...review,
    name: 'resourceaccessreviews',
    kind: 'ResourceAccessReview',
    namespaced: false,
    description:
      'ResourceAccessReview lists who can do something: in one namespace, in every namespace, or with a path.',
    schemas: { spec: whoCanSpecSchema, status: whoCanStatusSchema },
  },
  LocalResourceAccessReview: {
    ...review,
    name: 'localresourceaccessreviews',
    kind: 'LocalResourceAccessReview',
    namespaced: true,
    description: 'LocalResourceAccessReview lists who can do something in its namespace.',
    schemas: { spec: localWhoCanSpecSchema, status: whoCanStatusSchema },
  },
};
