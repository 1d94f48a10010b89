/**
 * The OpenAPI v3 document of Stonegate's own group: kubectl validates what it creates by it, and
 * `kubectl explain` prints it.
 * https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3
 */
import { OWN_GROUP, OWN_VERSION, type OwnResource, type OwnResourceName, ownPath } from './own-api.ts';

type Schema = Readonly<Record<string, unknown>>;

const GVK = 'x-kubernetes-group-version-kind';
const text = (description: string): Schema => ({ type: 'string', description });
const flag = (description: string): Schema => ({ type: 'boolean', description });
const list = (description: string, items: Schema): Schema => ({ type: 'array', description, items });
const object = (description: string, properties: Schema, required: readonly string[] = []): Schema => ({
  type: 'object',
  description,
  properties,
  ...(required.length > 0 && { required }),
});

const ANY_OBJECT: Schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const ASKED = {
  verb: text('The verb of the request, as in a rule: get, list, create, delete, bind, …'),
  apiGroup: text('The API group of the resource. Empty for the core group.'),
  resource: text('The resource in the plural, such as pods.'),
  subresource: text('The subresource, such as log. Empty for the resource itself.'),
  name: text('The name of one object. Empty for a request that names none.'),
  people: flag("If true, the users who hold Keystone's roles now are listed too."),
};

const REFERENCE = {
  kind: text('The kind of the object.'),
  namespace: text('Empty for an object of the cluster.'),
  name: text('The name of the object.'),
};

const STATUS = object('Who can do it.', {
  namespace: text('The namespace that was asked about. Empty for all.'),
  users: list('The names of users.', { type: 'string' }),
  groups: list('The names of groups.', { type: 'string' }),
  serviceAccounts: list('Service accounts, as user names.', { type: 'string' }),
  grants: list(
    'Each subject with the binding and the role that grant the access.',
    object('One grant.', {
      subject: object('Whom the access is granted to.', {
        ...REFERENCE,
        displayName: text('What is known of the subject by name, such as the Keystone project and role.'),
        people: list('The users who hold the role now.', { type: 'string' }),
      }),
      by: text(
        'What grants it: binding; builtIn, if the API server does not ask RBAC; impersonation, if the subject may act as any user.',
      ),
      everywhere: flag('If true, it is granted in every namespace.'),
      namespace: text('Where it is granted. Empty if it is granted everywhere.'),
      binding: object('The binding that grants it.', REFERENCE),
      role: object('The role whose rule grants it.', REFERENCE),
    }),
  ),
  otherTenants: {
    type: 'integer',
    format: 'int64',
    description: 'How many subjects of other tenants can do it.',
  },
  evaluationError: text('Why the lists may lack subjects, such as a role that does not exist.'),
  incomplete: flag('If true, the lists may be out of date or cut.'),
  incompleteReason: text('Why they are incomplete.'),
  revision: text('The revision of the API server whose roles and bindings were read.'),
  warnings: list('What is to be known of the question.', { type: 'string' }),
});

const SELECTION = {
  verb: text('The verb. Without it, or with *, the rules are for all verbs.'),
  apiGroup: text('Only rules that cover this API group. Empty for the core group.'),
  resource: text('Only rules that cover this resource, such as pods or pods/log.'),
  namespace: text('Only what is allowed in this namespace.'),
};

const strings = (description: string): Schema => list(description, { type: 'string' });

const RULES = list(
  'Rules as in a role.',
  object('One rule.', {
    verbs: strings('Absent in rules for one verb.'),
    apiGroups: strings('API groups; * for all.'),
    resources: strings('Resources; * for all.'),
    resourceNames: strings('The objects; absent for all.'),
  }),
);

const ACCESS_RULES = object('Everything that the user may do.', {
  verb: SELECTION.verb,
  tenant: text('The tenant whose objects the rules are about.'),
  user: object('Whom a review is about.', {
    username: text("The user's name."),
    uid: text("The user's id."),
  }),
  revision: text('The revision of the API server whose roles and bindings were read.'),
  incomplete: flag('If true, the user may have more or other access.'),
  incompleteReason: text('Why they are incomplete.'),
  validUntil: text('Until when the rules count.'),
  everywhere: RULES,
  cluster: RULES,
  namespaces: list(
    'Rules of namespaces; no name is in two entries.',
    object('Namespaces with equal rules.', { names: strings('Their names.'), rules: RULES }),
  ),
  otherNamespaces: RULES,
  sets: { ...ANY_OBJECT, description: 'Named sets of the configuration: the namespaces in each.' },
});

/** What beside `metadata` an object has. A resource without an entry is described by its kind alone. */
const FIELDS: Partial<Record<OwnResourceName, Readonly<Record<string, Schema>>>> = {
  resourceaccessreviews: {
    spec: object(
      'What is asked. Either resource or path is given.',
      {
        ...ASKED,
        namespace: text('One namespace. Empty for all of them, and for what is in none.'),
        path: text('The path of a request that names no resource, such as /healthz.'),
      },
      ['verb'],
    ),
    status: STATUS,
  },
  localresourceaccessreviews: {
    spec: object('What is asked in the namespace of the review.', ASKED, ['verb', 'resource']),
    status: STATUS,
  },
  selfaccessrules: { status: ACCESS_RULES },
  accessrulesreviews: {
    spec: object('Whose rules are asked for, and which. Either token or user is given.', {
      ...SELECTION,
      token: text('A token of the user. It is not stored.'),
      user: text("The user's name."),
      groups: strings("The user's groups; no group is added."),
      uid: text("The user's id."),
      extra: { ...ANY_OBJECT, description: 'Lists of strings, as in a SubjectAccessReview.' },
    }),
    status: ACCESS_RULES,
  },
};

const BODY_FIELDS = { spec: ANY_OBJECT, status: ANY_OBJECT };
/** kubectl sends them with what it creates. */
const QUERY = ['dryRun', 'fieldManager', 'fieldValidation', 'pretty'].map((name) => ({
  name,
  in: 'query',
  schema: { type: 'string', uniqueItems: true },
}));

export function ownOpenAPI(resources: readonly OwnResource[]): object {
  return {
    openapi: '3.0.0',
    info: { title: 'Stonegate', version: OWN_VERSION },
    paths: Object.fromEntries(resources.map((resource) => [pathOf(resource), operationsOf(resource)])),
    components: {
      schemas: Object.fromEntries(resources.map((resource) => [schemaName(resource), schemaOf(resource)])),
    },
  };
}

function pathOf({ name, namespaced }: OwnResource): string {
  return ownPath(name, namespaced ? { namespace: '{namespace}' } : {});
}

function schemaName({ kind }: OwnResource): string {
  return `dev.stonegate.${OWN_VERSION}.${kind}`;
}

function gvkOf({ kind }: OwnResource) {
  return { group: OWN_GROUP, version: OWN_VERSION, kind };
}

function schemaOf(resource: OwnResource): Schema {
  const { description, name } = resource;
  const known = Object.entries(FIELDS).find(([of]) => of === name)?.[1];
  return {
    ...object(description, {
      apiVersion: text('The version of the object: stonegate.dev/v1alpha1.'),
      kind: text('The kind of the object.'),
      metadata: { ...ANY_OBJECT, description: 'Nothing is stored, so none of it counts.' },
      ...(known ?? BODY_FIELDS),
    }),
    [GVK]: [gvkOf(resource)],
  };
}

function operationsOf(resource: OwnResource): object {
  const schema = { $ref: `#/components/schemas/${schemaName(resource)}` };
  const content = { 'application/json': { schema } };
  const action = resource.methods.includes('POST') ? 'post' : 'get';
  const operation = {
    description: resource.description,
    operationId: `${action}Stonegate${resource.kind}`,
    tags: ['stonegate_v1alpha1'],
    [GVK]: gvkOf(resource),
    'x-kubernetes-action': action,
    ...(action === 'post' && { requestBody: { content, required: true } }),
    responses: { [action === 'post' ? 201 : 200]: { description: 'OK', content } },
  };
  const place = { name: 'namespace', in: 'path', required: true, schema: { type: 'string' } };
  return {
    [action]: operation,
    // Not served. kubectl reads here whether the server validates fields; else it asks for all definitions of
    // custom resources, which users may not list.
    ...(action === 'post' && { patch: { ...operation, 'x-kubernetes-action': 'patch', parameters: QUERY } }),
    parameters: [...(resource.namespaced ? [place] : []), ...QUERY],
  };
}
