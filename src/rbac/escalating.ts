/**
 * The rights that escalate: their holder can gain others, such as by reading secrets, by running commands in
 * the pods of others, or by writing roles. Each belongs to a word, with which an access token may have it.
 * https://kubernetes.io/docs/concepts/security/rbac-good-practices/#privilege-escalation-risks
 */

import type { Question } from '../kubernetes/authorizer-attributes.ts';
import type { PolicyRule } from '../kubernetes/kubernetes-object.ts';
import { rule } from '../kubernetes/right.ts';
import { WRITES } from './cluster-roles.ts';
import { intersectionOf, ruleAllows } from './rules.ts';

export const ESCALATION_WORDS = ['secrets', 'exec', 'rbac', 'impersonate', 'tokens'] as const;
export type EscalationWord = (typeof ESCALATION_WORDS)[number];

/** With one of these verbs a role gives more than its rules say. */
export const ESCALATING_VERBS: ReadonlySet<string> = new Set(['bind', 'escalate', 'impersonate']);

const RULES: Readonly<Record<EscalationWord, readonly PolicyRule[]>> = {
  secrets: [rule('', 'secrets', '*')],
  exec: [
    rule('*', '*/exec */attach */portforward */proxy */ephemeralcontainers', '*'),
    // KubeVirt's connections into virtual machines.
    rule('*', '*/console */vnc */usbredir */vsock', '*'),
    rule('*', '*', 'proxy'),
    // A volume can be a folder of a node.
    rule('', 'persistentvolumes', WRITES),
    // The kubelet asks for these rights before it shows what is on its node.
    rule('', 'nodes/log nodes/metrics nodes/stats nodes/configz nodes/pods nodes/checkpoint', '*'),
  ],
  rbac: [
    rule('rbac.authorization.k8s.io', '*', WRITES),
    rule('*', '*', 'bind escalate'),
    // Webhooks, aggregated API servers and conversions see, change or serve the requests of others.
    rule('admissionregistration.k8s.io', '*', WRITES),
    rule('apiregistration.k8s.io', '*', WRITES),
    rule('apiextensions.k8s.io', 'customresourcedefinitions customresourcedefinitions/status', WRITES),
    // Labels of a namespace state its owner, and how far its pods are restricted; its roles and bindings end
    // with it.
    rule('', 'namespaces namespaces/status namespaces/finalize', 'update patch delete deletecollection'),
    rule('', 'tenants', WRITES),
    rule('tenancy.stonegate.dev', '*', WRITES),
    rule('stonegate.dev', 'members teams invitations invitationacceptances', WRITES),
  ],
  impersonate: [
    rule(
      '*',
      '*',
      `impersonate impersonate:user-info impersonate:serviceaccount impersonate:arbitrary-node
       impersonate:associated-node`,
    ),
  ],
  tokens: [
    rule('', 'serviceaccounts/token', '*'),
    rule('stonegate.dev', 'accesstokens accesstokenrotations', '*'),
    rule('certificates.k8s.io', '*', WRITES),
    rule('*', '*', 'approve sign attest'),
  ],
};

const ESCALATING_RULES = ESCALATION_WORDS.flatMap((word) =>
  RULES[word].map((each) => ({ word, rule: each })),
);

/** @returns the word that a request needs; undefined if it does not escalate */
export function escalationOf(question: Question): EscalationWord | undefined {
  if ('path' in question) return undefined;
  return ESCALATING_RULES.find(({ rule }) => ruleAllows(rule, question))?.word;
}

/** The parts of a rule that escalate. A wildcard of it that covers more than one is narrowed to each. */
export function escalatingParts(rule: PolicyRule): readonly PolicyRule[] {
  return ESCALATING_RULES.flatMap(({ rule: escalating }) => intersectionOf(rule, escalating) ?? []);
}
