/**
 * The rights with which a holder gains more than they say, by their effect: a holder who reads secrets, runs
 * commands in others' pods or writes roles can act as another user. Each belongs to a word.
 * https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
 */
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import type { Question } from './attributes.ts';
import { intersectionOf, ruleAllows } from './rules.ts';

export const ESCALATION_WORDS = ['secrets', 'exec', 'rbac', 'impersonate', 'tokens'] as const;
export type EscalationWord = (typeof ESCALATION_WORDS)[number];

const WRITE = ['create', 'update', 'patch', 'delete', 'deletecollection'];

/** A role with one of these verbs is worth more than its rules. */
export const ESCALATING_VERBS: ReadonlySet<string> = new Set(['bind', 'escalate', 'impersonate']);

function rule(group: string, resources: readonly string[], verbs: readonly string[] = ['*']): PolicyRule {
  return { apiGroups: [group], resources, verbs };
}

const RULES: Readonly<Record<EscalationWord, readonly PolicyRule[]>> = {
  secrets: [rule('', ['secrets'])],
  exec: [
    rule('*', ['*/exec', '*/attach', '*/portforward', '*/proxy', '*/ephemeralcontainers']),
    // Of virtual machines, as in KubeVirt.
    rule('*', ['*/console', '*/vnc', '*/usbredir', '*/vsock']),
    rule('*', ['*'], ['proxy']),
    // A volume can be a folder of a node.
    rule('', ['persistentvolumes'], WRITE),
    // On nodes each is a right at the kubelet.
    rule('', [
      'nodes/log',
      'nodes/metrics',
      'nodes/stats',
      'nodes/configz',
      'nodes/pods',
      'nodes/checkpoint',
    ]),
  ],
  rbac: [
    rule('rbac.authorization.k8s.io', ['*'], WRITE),
    rule('*', ['*'], ['bind', 'escalate']),
    // They see, change or serve the requests of others.
    rule('admissionregistration.k8s.io', ['*'], WRITE),
    rule('apiregistration.k8s.io', ['*'], WRITE),
    rule('apiextensions.k8s.io', ['customresourcedefinitions', 'customresourcedefinitions/status'], WRITE),
    // Labels of a namespace state its owner, and how far its pods are restricted.
    rule('', ['namespaces', 'namespaces/status', 'namespaces/finalize'], ['update', 'patch']),
    rule('', ['tenants'], WRITE),
    rule('tenancy.stonegate.dev', ['*'], WRITE),
    rule('stonegate.dev', ['members', 'teams', 'invitations', 'invitationacceptances'], WRITE),
  ],
  impersonate: [
    rule(
      '*',
      ['*'],
      [
        ...['impersonate', 'impersonate:user-info', 'impersonate:serviceaccount'],
        ...['impersonate:arbitrary-node', 'impersonate:associated-node'],
      ],
    ),
  ],
  tokens: [
    rule('', ['serviceaccounts/token']),
    rule('stonegate.dev', ['accesstokens', 'accesstokenrotations']),
    rule('certificates.k8s.io', ['*'], WRITE),
    rule('*', ['*'], ['approve', 'sign', 'attest']),
  ],
};

const ALL = ESCALATION_WORDS.flatMap((word) => RULES[word].map((each) => ({ word, rule: each })));

/** @returns the word that a request needs; undefined if it does not escalate */
export function escalationOf(question: Question): EscalationWord | undefined {
  if ('path' in question) return undefined;
  return ALL.find(({ rule }) => ruleAllows(rule, question))?.word;
}

/** The parts of a rule that escalate. A wildcard of it that covers more than one is narrowed to each. */
export function escalatingParts(rule: PolicyRule): readonly PolicyRule[] {
  return ALL.flatMap(({ rule: escalating }) => intersectionOf(rule, escalating) ?? []);
}
