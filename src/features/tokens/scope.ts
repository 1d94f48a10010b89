/**
 * The scopes of an access token: what they may be, and what they allow together. They only narrow what the
 * owner may do; what escalates needs its own word besides.
 */

import type { Question, ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { TokenScope } from '../../kubernetes/token-scope.ts';
import { memoizeByReference } from '../../lib/memoize.ts';
import { OWN_GROUP } from '../../proxy/own-api.ts';
import { CLUSTER_ROLES, LEVELS, type Level, READ_VERBS, WRITE_VERBS } from '../../rbac/cluster-roles.ts';
import { isKnownClusterScoped } from '../../rbac/cluster-scoped.ts';
import { ESCALATION_WORDS, type EscalationWord, escalationOf } from '../../rbac/escalating.ts';
import { intersectionOf, ruleAllows, WILDCARD } from '../../rbac/rules.ts';
import type { TenantNamespaces } from '../../rbac/tenant-namespaces.ts';
import type { TokenRule } from './access-token-v1alpha1.ts';

const EVERYTHING = { apiGroups: ['*'], resources: ['*'] };
const READ = { verbs: READ_VERBS, ...EVERYTHING };

const LEVEL_RULES: Readonly<Record<Level, readonly PolicyRule[]>> = {
  read: [READ],
  control: [READ, ...(CLUSTER_ROLES.get('stonegate:control') ?? [])],
  edit: [{ verbs: [...READ_VERBS, ...WRITE_VERBS], ...EVERYTHING }],
  manage: [{ verbs: ['*'], ...EVERYTHING }],
};

/** What every token may do: ask about itself. */
const ALWAYS: readonly PolicyRule[] = [
  {
    verbs: ['create'],
    apiGroups: ['authorization.k8s.io'],
    resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
  },
  { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
  { verbs: ['get', 'list'], apiGroups: [OWN_GROUP], resources: ['selfidentity', 'selfaccessrules'] },
];
/** Stonegate's own API outside of namespaces is about the tenant of the user who asks. */
const OWN_API: PolicyRule = { verbs: ['*'], apiGroups: [OWN_GROUP], resources: ['*'] };
/** Who may read in the tenant finds its users. It is a request to create. */
const SEARCH: PolicyRule = { verbs: ['create'], apiGroups: [OWN_GROUP], resources: ['peoplesearches'] };
/**
 * What words give by themselves: what has no namespace, so that the scope of one does not cover it. The
 * scopes are compared with each token, and with what an invitation gives.
 */
const WORD_RULES: Readonly<Partial<Record<EscalationWord, readonly PolicyRule[]>>> = {
  tokens: [
    { verbs: ['get', 'list', 'create', 'delete'], apiGroups: [OWN_GROUP], resources: ['accesstokens'] },
    { verbs: ['create'], apiGroups: [OWN_GROUP], resources: ['accesstokenrotations'] },
  ],
  rbac: [{ verbs: ['get', 'list', 'create', 'delete'], apiGroups: [OWN_GROUP], resources: ['invitations'] }],
};
const DISCOVERY = /^\/(?:api|apis|openapi|version|healthz|livez|readyz)(?:\/|$)/;
/** The logs and profiles of the API server itself need `session`. */
const INTERNAL = /^\/(?:logs|debug)(?:\/|$)/;

/** One namespace, empty for what is in none; or the owner's tenant; or all that the owner may reach. */
type Place = { readonly namespace: string } | 'tenant' | 'everywhere';

interface Grant {
  readonly rules: readonly PolicyRule[];
  readonly place: Place;
}

export interface ScopeSpec {
  readonly scopes: readonly string[];
  readonly rules?: readonly TokenRule[] | undefined;
}

/** What one text among the scopes says. */
export type Scope =
  | { readonly kind: 'userinfo' | 'session' }
  | { readonly kind: Level; readonly namespace: string | undefined }
  | { readonly kind: 'word'; readonly word: EscalationWord };

const FORM = /^(?:namespace\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)|tenant)\/(read|control|edit|manage)$/;

/** @returns undefined for a text that is no scope */
export function readScope(text: string): Scope | undefined {
  if (text === 'userinfo' || text === 'session') return { kind: text };
  if (text === 'read') return { kind: 'read', namespace: undefined };
  const word = ESCALATION_WORDS.find((each) => text === `+${each}`);
  if (word !== undefined) return { kind: 'word', word };
  const [, namespace, name] = FORM.exec(text) ?? [];
  const level = LEVELS.find((each) => each === name);
  return level && { kind: level, namespace };
}

/** The scopes and rules as texts. Equal rules have equal texts, since the schema orders their fields. */
export function givenScopes({ scopes, rules = [] }: ScopeSpec): readonly string[] {
  return [...scopes, ...rules.map((rule) => JSON.stringify(rule))];
}

/** @returns what is wrong with the scopes of a token; undefined if nothing is */
export function scopeProblem({ scopes, rules = [] }: ScopeSpec): string | undefined {
  const unknown = scopes.find((text) => readScope(text) === undefined);
  if (unknown !== undefined)
    return `there is no scope ${JSON.stringify(unknown)}: userinfo, read, session, tenant/LEVEL or namespace/NAME/LEVEL (read, control, edit, manage), ${ESCALATION_WORDS.map((word) => `+${word}`).join(', ')}`;
  if (rules.length === 0 && scopes.every((text) => readScope(text)?.kind === 'word'))
    return 'at least one scope or rule is required, words with + are not enough';
  return undefined;
}

const IN_OWN = "only namespaces that carry no other tenant's label";
const UNKNOWN = 'nothing while there is no current RBAC index (access.index)';

/**
 * @param spec without a problem
 * @param home the tenant named in the owner's reviews; its namespaces if the API server has no tenants
 */
export function createTokenScope(id: string, spec: ScopeSpec, home: string | TenantNamespaces): TokenScope {
  const { scopes, rules = [] } = spec;
  const own = typeof home === 'string' ? undefined : home;
  const reviewTenant = typeof home === 'string' ? home : '';
  const given = givenScopes(spec);
  const text = given.join(' ');
  const read = scopes.map(readScope).filter((scope) => scope !== undefined);
  const words = new Set(read.flatMap((scope) => (scope.kind === 'word' ? [scope.word] : [])));
  const isSession = read.some(({ kind }) => kind === 'session');
  const grants: readonly Grant[] = [
    { rules: ALWAYS, place: { namespace: '' } },
    ...read.flatMap(grantsOf),
    ...rules.flatMap(grantsOfRule),
  ];
  const rulesOf = (wanted: Place) => grants.flatMap(({ rules, place }) => (place === wanted ? rules : []));
  const [everywhere, ofTenant] = [rulesOf('everywhere'), rulesOf('tenant')];
  const inTenant = [...everywhere, ...ofTenant];
  const isForTenant = read.some((scope) => 'namespace' in scope && scope.namespace === undefined);
  const readsPaths = isSession || (isForTenant && own === undefined);
  const byNamespace = new Map<string, readonly PolicyRule[]>();
  for (const { place, rules } of grants)
    if (typeof place === 'object')
      byNamespace.set(place.namespace, [...(byNamespace.get(place.namespace) ?? []), ...rules]);
  const inOne = [...byNamespace.values()].flat();
  const sharedWith = (others: readonly PolicyRule[]) =>
    ofTenant.flatMap((rule) => others.flatMap((other) => intersectionOf(rule, other) ?? []));
  const elsewhere = memoizeByReference((readable: readonly PolicyRule[]) => [
    ...everywhere,
    ...sharedWith(readable),
  ]);
  const ofOwnAPI = sharedWith([OWN_API]);

  /** In every namespace that no scope names, the array is the same one as long as its rules are. */
  function rulesIn(namespace: string): readonly PolicyRule[] {
    const isInside = own === undefined || own.includes(namespace);
    const common = isInside ? inTenant : elsewhere(own.readByEverybody());
    const named = byNamespace.get(namespace) ?? [];
    const cluster = namespace === '' && own?.isKnown === true ? ofOwnAPI : [];
    if (named.length === 0 && cluster.length === 0) return common;
    return [...common, ...cluster, ...named];
  }

  function allowsPath({ verb, path }: Extract<Question, { path: string }>): boolean {
    if (isSession) return true;
    const isRead = verb === 'get' || verb === 'head';
    return isRead && (DISCOVERY.test(path) || (readsPaths && !INTERNAL.test(path)));
  }

  function covers(covering: readonly PolicyRule[], question: ResourceQuestion): boolean {
    if (!isSession && question.tenant !== reviewTenant) return false;
    const word = escalationOf(question);
    if (word !== undefined && !words.has(word)) return false;
    return covering.some((rule) => ruleAllows(rule, question));
  }

  return {
    id,
    text,
    get described() {
      if (own === undefined || ofTenant.length === 0) return text;
      return `${text}; what is for the whole tenant covers ${own.isKnown ? IN_OWN : UNKNOWN}`;
    },
    has: (scope) => given.includes(scope),
    namespaces: () =>
      new Set([...byNamespace.keys(), ...(ofTenant.length > 0 && own !== undefined ? own.names() : [])]),
    allows: (question) =>
      'path' in question ? allowsPath(question) : covers(rulesIn(placeOf(question)), question),
    allowsSomewhere: (question) =>
      covers([...(own === undefined || own.isKnown ? inTenant : everywhere), ...inOne], question),
    rulesIn,
  };
}

/**
 * The namespace of the request that is asked about, which reviews may name otherwise: a request for a
 * namespace itself is in that namespace.
 */
function placeOf({ verb, apiGroup, resource, namespace, name }: ResourceQuestion): string {
  if (apiGroup !== '' || resource !== 'namespaces')
    return isKnownClusterScoped(apiGroup, resource) ? '' : namespace;
  // A list that selects a name is one of all namespaces.
  const isOfAll = namespace === '' && ['list', 'watch', 'deletecollection'].includes(verb);
  return name === WILDCARD || isOfAll ? namespace : name;
}

function grantsOf(scope: Scope): Grant[] {
  switch (scope.kind) {
    case 'userinfo':
      return [];
    case 'session':
      return [{ rules: LEVEL_RULES.manage, place: 'everywhere' }];
    case 'word':
      return [{ rules: WORD_RULES[scope.word] ?? [], place: { namespace: '' } }];
    default: {
      const { kind, namespace } = scope;
      const rules = LEVEL_RULES[kind];
      return [
        namespace === undefined
          ? { rules: [...rules, SEARCH], place: 'tenant' }
          : { rules, place: { namespace } },
      ];
    }
  }
}

function grantsOfRule({ namespaces, ...rule }: TokenRule): Grant[] {
  const rules = [rule];
  if (namespaces.includes('*')) return [{ rules, place: 'tenant' }];
  return namespaces.map((namespace) => ({ rules, place: { namespace } }));
}

/** What a holder can do with each word, for a sentence that begins with `it`. */
const EFFECTS: Readonly<Record<EscalationWord, string>> = {
  secrets: 'reads and writes Secrets, and so can act as whatever has its credentials there',
  exec: 'runs commands in pods, connects to pods, services and nodes, and creates persistent volumes, and so can act as service accounts and nodes',
  rbac: 'changes roles, bindings, members and teams, and so can grant others what the owner may do',
  impersonate: 'acts as other users that the owner may impersonate',
  tokens: 'creates credentials: tokens of service accounts, certificates, and access tokens of these scopes',
};

/** What the holder of a token can do that its scopes do not say by themselves. */
export function scopeNotes({ scopes, rules = [] }: ScopeSpec): string[] {
  const read = scopes.map(readScope).filter((scope) => scope !== undefined);
  const writes =
    read.some(({ kind }) => kind === 'edit' || kind === 'manage' || kind === 'session') ||
    rules.some(({ verbs }) => verbs.some((verb) => verb === '*' || WRITE_VERBS.includes(verb)));
  return [
    ...(writes
      ? [
          'It may create workloads: they can mount every Secret of their namespace and run as each of its service accounts, also without +secrets.',
        ]
      : []),
    ...read.flatMap((scope) => (scope.kind === 'word' ? [`+${scope.word}: it ${EFFECTS[scope.word]}.`] : [])),
  ];
}
