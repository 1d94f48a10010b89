/**
 * The rights of the credential that impersonates: the core's, and those that features list, each with its
 * reason and its conditions. Each extra key is listed, because RBAC has no `userextras/*`.
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 */
import type { Document } from 'yaml';
import {
  boundClusterRole,
  boundRole,
  manifestText,
  type Subject,
  serviceAccountDocuments,
  subjectNotes,
} from '../../cli/rbac-objects.ts';
import { optionalExtraKeysOf } from '../../config/validate-names.ts';
import { ORIGINAL_USER_KEY, TENANT_KEY } from '../../kubernetes/reserved-names.ts';
import { neededOf, type Right, rule, valuesAt, withoutCovered } from '../../kubernetes/right.ts';
import { isJSONObject } from '../../lib/json-object.ts';
import { KEYSTONE_EXTRA } from '../../tenancy/keystone-groups.ts';
import { DEFINITIONS, type StonegateConfiguration } from '../configuration.ts';

/** Stands for a resource `userextras/KEY` for each extra key, because RBAC has no `userextras/*`. */
const EXTRA_KEYS = 'userextras/…';

const FORWARD = 'Forward requests as the user who sent them, or as a user that the sender may impersonate.';
/** Constrained impersonation is a right on each request as well. Kubernetes removed the verb `proxy`. */
const WHILE_IMPERSONATING = (...verbs: readonly string[]) =>
  verbs.map((verb) => `impersonate-on:user-info:${verb}`);

/** https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/ */
export const RIGHTS: readonly Right[] = [
  // Arktos' service accounts belong to the system tenant; users of other tenants may not impersonate them.
  {
    when: ['readsTenantFromName', '!constrained'],
    comment: FORWARD,
    rule: rule('', 'users groups', 'impersonate'),
  },
  {
    when: ['!readsTenantFromName', '!constrained'],
    comment: FORWARD,
    rule: rule('', 'users groups serviceaccounts', 'impersonate'),
  },
  { when: ['!constrained'], rule: rule('authentication.k8s.io', `uids ${EXTRA_KEYS}`, 'impersonate') },
  {
    when: ['constrained'],
    comment: `${FORWARD} Never as a service
account, a node or a member of system:masters: requests that impersonate a service account are refused.`,
    rule: rule('authentication.k8s.io', `users groups uids ${EXTRA_KEYS}`, 'impersonate:user-info'),
  },
  {
    when: ['constrained'],
    comment:
      'The requests that may be made while impersonating. Remove a verb to take it away from all users of Stonegate.',
    rule: {
      apiGroups: ['*'],
      resources: ['*'],
      verbs: WHILE_IMPERSONATING(
        ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
      ),
    },
  },
  {
    when: ['constrained'],
    rule: {
      nonResourceURLs: ['*'],
      verbs: WHILE_IMPERSONATING('get', 'head', 'options', 'post', 'put', 'patch', 'delete'),
    },
  },
  {
    when: [],
    comment: 'Ask what a person may do: exec over WebSocket, and kubectl auth can-i.',
    consequence: 'exec over WebSocket and `kubectl auth can-i` fail',
    rule: rule('authorization.k8s.io', 'subjectaccessreviews', 'create'),
  },
  {
    when: ['authentication.tokenReview'],
    comment: 'Ask whose a token is: service accounts.',
    consequence: 'no service account can authenticate',
    rule: rule('authentication.k8s.io', 'tokenreviews', 'create'),
  },
  ...DEFINITIONS.flatMap(({ rights = [] }) => rights),
];

/** The extra keys that are always impersonated, and those of a condition: `tenant` where no name has it. */
export const OWN_EXTRA_KEYS = {
  keystone: Object.values(KEYSTONE_EXTRA),
  tenant: [TENANT_KEY],
  always: [ORIGINAL_USER_KEY],
};

export interface ImpersonationOptions {
  /** Whether only the rights of constrained impersonation are granted (Kubernetes 1.36). */
  readonly constrained?: boolean;
  /** Extra keys beside those that the configuration names. */
  readonly extraKeys?: readonly string[];
}

/** What Stonegate's own credential needs for everything that is configured. */
export function impersonatorRights(
  configuration: StonegateConfiguration,
  { constrained = false, extraKeys = [] }: ImpersonationOptions = {},
): Right[] {
  const {
    tenancy: { facts },
    authentication,
  } = configuration;
  const keys = [
    ...(authentication.keystone ? OWN_EXTRA_KEYS.keystone : []),
    ...(facts.readsTenantFromName ? [] : OWN_EXTRA_KEYS.tenant),
    ...OWN_EXTRA_KEYS.always,
    ...extraKeys,
    ...optionalExtraKeysOf(authentication),
    ...authentication.jwt.flatMap(({ claimMappings }) => claimMappings.extra.map(({ key }) => key)),
    ...authentication.impersonationExtraKeys,
  ];
  const extras = [...new Set(keys)].map((key) => `userextras/${key}`);
  const rights = neededOf(RIGHTS, { ...configuration, ...facts, constrained }).map((right) => {
    const { rule } = right;
    if (!rule.resources?.includes(EXTRA_KEYS)) return right;
    const resources = rule.resources.flatMap((each) => (each === EXTRA_KEYS ? extras : [each]));
    return { ...right, rule: { ...rule, resources } };
  });
  return withoutCovered(rights);
}

/** @returns YAML for `kubectl apply -f -` */
export function rbacManifests(
  configuration: StonegateConfiguration,
  subject: Subject,
  { suffix, ...options }: ImpersonationOptions & { readonly suffix: string },
): string {
  const { mode, facts } = configuration.tenancy;
  const warning = options.constrained
    ? 'A holder of this credential can act as any user but service accounts, nodes and members of system:masters.'
    : "A holder of this credential can act as any user: keep it as you keep an administrator's.";
  const rights = impersonatorRights(configuration, options);
  return `# What Stonegate needs at the API server (tenancy mode: ${mode}).
${subjectNotes(subject, facts, 'upstream')}
# ${warning}
${manifestText([...serviceAccountDocuments(subject), ...boundClusterRole(`stonegate-impersonator${suffix}`, rights, subject)])}`;
}

/** Read access to the ConfigMaps with the rules of features, each by name. */
export function configMapManifests(
  configuration: StonegateConfiguration,
  reader: Subject,
  suffix: string,
): Document[] {
  return DEFINITIONS.flatMap(({ name: feature, ruleConfigMaps = [] }) => {
    const references = ruleConfigMaps.flatMap((path) => valuesAt(configuration, path)).filter(isReference);
    return [...Map.groupBy(references, ({ namespace }) => namespace)].flatMap(([namespace, configMaps]) => {
      const resourceNames = configMaps.map(({ name }) => name);
      const read = { apiGroups: [''], resources: ['configmaps'], resourceNames, verbs: ['get'] };
      const comment = `Read the rules of the ${feature}.`;
      const name = `stonegate-${feature}-rules${suffix}`;
      return boundRole('Role', { namespace, name }, [{ comment, rule: read }], reader);
    });
  });
}

function isReference(value: unknown): value is { readonly namespace: string; readonly name: string } {
  return isJSONObject(value) && typeof value.namespace === 'string' && typeof value.name === 'string';
}
