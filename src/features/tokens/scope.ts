/**
 * The scopes of an access token: what they may be, and what they allow together. They only narrow what the
 * owner may do; what escalates needs its own word besides.
 */

import type { Question, ResourceQuestion } from '../../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../../kubernetes/kubernetes-object.ts';
import type { TokenScope } from '../../kubernetes/token-scope.ts';
import { CLUSTER_ROLES, LEVELS, type Level, READ_VERBS, WRITE_VERBS } from '../../rbac/cluster-roles.ts';
import { ESCALATION_WORDS, type EscalationWord, escalationOf } from '../../rbac/escalating.ts';
import { ruleAllows } from '../../rbac/rules.ts';
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
  { verbs: ['get', 'list'], apiGroups: ['stonegate.dev'], resources: ['selfidentity', 'selfaccessrules'] },
];
const DISCOVERY = /^\/(?:api|apis|openapi|version|healthz|livez|readyz)(?:\/|$)/;
/** The logs and profiles of the API server itself need `session`. */
const INTERNAL = /^\/(?:logs|debug)(?:\/|$)/;

interface Grant {
  readonly rules: readonly PolicyRule[];
  /** Where the rules count; undefined for everywhere in the owner's tenant. */
  readonly namespace: string | undefined;
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
    return 'at least one scope or rule is required, words with + do not count';
  return undefined;
}

/**
 * @param spec without a problem
 * @param home the tenant named in the owner's reviews; empty if the API server has no tenants
 */
export function createTokenScope(id: string, spec: ScopeSpec, home: string): TokenScope {
  const { scopes, rules = [] } = spec;
  const given = givenScopes(spec);
  const read = scopes.map(readScope).filter((scope) => scope !== undefined);
  const words = new Set(read.flatMap((scope) => (scope.kind === 'word' ? [scope.word] : [])));
  const isSession = read.some(({ kind }) => kind === 'session');
  const readsPaths = isSession || read.some((scope) => 'namespace' in scope && scope.namespace === undefined);
  const grants: readonly Grant[] = [
    { rules: ALWAYS, namespace: undefined },
    ...read.flatMap(grantsOf),
    ...rules.flatMap(grantsOfRule),
  ];
  const grantsIn = (namespace: string) =>
    grants.filter((grant) => grant.namespace === undefined || grant.namespace === namespace);

  function allowsPath({ verb, path }: Extract<Question, { path: string }>): boolean {
    if (isSession) return true;
    const isRead = verb === 'get' || verb === 'head';
    return isRead && (DISCOVERY.test(path) || (readsPaths && !INTERNAL.test(path)));
  }

  function covers(covering: readonly Grant[], question: ResourceQuestion): boolean {
    if (!isSession && question.tenant !== home) return false;
    const word = escalationOf(question);
    if (word !== undefined && !words.has(word)) return false;
    return covering.some((grant) => grant.rules.some((rule) => ruleAllows(rule, question)));
  }

  return {
    id,
    text: given.join(' '),
    has: (scope) => given.includes(scope),
    namespaces: new Set(grants.flatMap(({ namespace }) => namespace ?? [])),
    allows: (question) =>
      'path' in question ? allowsPath(question) : covers(grantsIn(question.namespace), question),
    allowsSomewhere: (question) => covers(grants, question),
    rulesIn: (namespace) => grantsIn(namespace).flatMap((grant) => grant.rules),
  };
}

function grantsOf(scope: Scope): Grant[] {
  if (scope.kind === 'session') return [{ rules: LEVEL_RULES.manage, namespace: undefined }];
  return 'namespace' in scope ? [{ rules: LEVEL_RULES[scope.kind], namespace: scope.namespace }] : [];
}

function grantsOfRule({ namespaces, ...rule }: TokenRule): Grant[] {
  if (namespaces.includes('*')) return [{ rules: [rule], namespace: undefined }];
  return namespaces.map((namespace) => ({ rules: [rule], namespace }));
}

/** What a holder can do with each word, for a sentence that begins with `it`. */
const EFFECTS: Readonly<Record<EscalationWord, string>> = {
  secrets: 'reads and writes Secrets, and so can act as whatever has its credentials there',
  exec: 'runs commands in pods, connects to pods, services and nodes, and makes persistent volumes, and so can act as service accounts and nodes',
  rbac: 'changes roles, bindings, members and teams, and so can give others what the owner may do',
  impersonate: 'acts as other users whom the owner may impersonate',
  tokens: 'makes credentials: tokens of service accounts, certificates, and access tokens of these scopes',
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
