/**
 * The section `access`: the RBAC index and what is answered from it.
 * https://kubernetes.io/docs/reference/access-authn-authz/authorization/#using-configuration-flags
 */
import { z } from 'zod';
import { count, label, type Output, sentence, text, toggle, unique } from '../../lib/schema-fields.ts';
import { INDEX_BYTES } from '../../limits/memory-bounds.ts';
import { ESCALATING_VERBS } from '../../rbac/escalating.ts';

/** A resource or verb as RBAC rules write it. */
function ruleName(what: string) {
  return z.string().regex(/^[a-z][a-z0-9-]*$/, { error: what });
}

const apiGroup = z.string().regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$/, {
  error: 'an API group, such as apps; empty for the core group',
});

const namedSet = z.strictObject({
  name: label({ missing: 'a name, which clients ask for' }).describe(
    'The name under which clients ask for it.',
  ),
  verb: ruleName('a verb such as list, get or create').describe('The verb.'),
  apiGroup: apiGroup.default('').describe('The API group; empty for the core group.'),
  resource: ruleName('a resource in the plural, such as pods').describe('The resource, in the plural.'),
  subresource: z
    .union([z.literal(''), text])
    .default('')
    .describe('The subresource; empty for the resource itself.'),
});

const names = (what: string) => z.array(text.regex(/^[^*]*$/, { error: `${what} by its name: no \`*\`` }));

const grantedRule = z.strictObject({
  apiGroups: z.array(apiGroup).min(1).describe('API groups; empty for the core group.'),
  resources: names('a resource').min(1).describe('Resources in the plural, subresources as `pods/log`.'),
  resourceNames: names('a name').min(1).exactOptional().describe('Only objects of these names.'),
  verbs: z
    .array(
      ruleName('a verb such as get; no `*`').refine((verb) => !ESCALATING_VERBS.has(verb), {
        error: 'a verb that grants no more than the rule itself: not bind, escalate or impersonate',
      }),
    )
    .min(1)
    .describe('Verbs.'),
});

export const accessSchema = z.strictObject({
  index: toggle(
    'Whether Stonegate lists and watches all namespaces, roles and bindings of the cluster. Its credential needs the right to that; `stonegate manifests rbac` prints it.',
  ),
  maxIndexBytes: count
    .default(INDEX_BYTES)
    .describe(
      'Bytes of memory that all objects of the index may take in one process, as Stonegate estimates them; in arktos mode those of one tenant a quarter. Beyond it the index is off, in arktos mode for that tenant: requests are forwarded as if there were none.',
    ),
  authorizers: z
    .array(z.enum(['Node', 'RBAC', 'Webhook', 'ABAC', 'AlwaysAllow', 'AlwaysDeny']))
    .refine(
      (modes) => modes.length === 0 || modes.includes('RBAC'),
      sentence('expected RBAC among them: the index knows nothing but RBAC'),
    )
    .default([])
    .describe(
      "The API server's `--authorization-mode`, such as `[Node, RBAC]`. With exactly these two the index decides which namespaces a user sees. With others lists are filtered only with `othersNeverDeny`, and `authorization.hideForbidden` is refused.",
    ),
  othersNeverDeny: toggle(
    'Your statement that the other authorizers of the API server may allow what RBAC does not, and deny nothing. Lists and watches are then forwarded first, and only a 403 is replaced by the filtered response.',
  ),
  verifyOneIn: z
    .int()
    .min(0)
    .default(1_000)
    .describe('One decision of the index in this number is compared with a SubjectAccessReview; 0: none.'),
  selfReviews: z
    .enum(['none', 'namespaces', 'all'])
    .default('namespaces')
    .describe(
      'For which requests a SelfSubjectAccessReview says "allowed" because a filtered response would be returned: none; lists and watches of namespaces, and on Arktos the own tenant of the user; those of all namespaces too, except secrets.',
    ),
  maxNamespaces: count
    .max(500)
    .default(50)
    .describe(
      'How many namespaces an all-namespaces list or watch of a user with rights in some of them may concern. Each costs one request to the API server; of a watch, one open watch, which counts as one of `limits.streams`.',
    ),
  namedSets: z
    .array(namedSet)
    .superRefine(unique('each name once', ({ name }) => name, 'name'))
    .default([])
    .describe(
      'Lists of the namespaces in which a user may do one thing, for services that ask for access rules.',
    ),
  grantable: z
    .array(grantedRule)
    .default([])
    .describe(
      'RBAC rules that policies, administrations and published roles may grant in addition to those of `stonegate:manage`. The provisioner gets them; without `*`.',
    ),
});

export type AccessConfiguration = Output<typeof accessSchema>;
