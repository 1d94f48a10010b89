/**
 * The feature `admission`: a webhook that refuses what tenants may not create, and what the proxy refuses
 * before an API server would let it through. See docs/admission.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import type { Rule } from '../../config/problem.ts';
import { NEWEST_POD_SECURITY_MINOR } from '../../kubernetes/admission-v1.ts';
import type { PublishedSelection } from '../../kubernetes/published-objects.ts';
import { rule } from '../../kubernetes/right.ts';
import type { WrittenRule } from '../../rbac/grantable-rules.ts';
import type { TenancyFacts } from '../../tenancy/facts.ts';
import { defineFeature } from '../define-feature.ts';
import { ADMISSION_LISTENER } from '../listener-settings.ts';
import { type AdmissionConfiguration, admissionSchema } from './admission-configuration.ts';
import { webhookConfigurations } from './manifests/registration.ts';
import * as METRICS from './metrics.ts';
import { reviewedPolicyWrites, reviewedWrites } from './registered-writes.ts';

interface AdmissionReads extends Pick<CoreConfiguration, 'tenancy'> {
  readonly admission?: AdmissionConfiguration;
  readonly publishing?: PublishedSelection;
  /** Absent in a process that serves only the webhook. */
  readonly access?: { readonly grantable: readonly WrittenRule[] };
}

export const admission = defineFeature({
  name: 'admission',
  sections: {
    admission: admissionSchema
      .exactOptional()
      .describe('A webhook that refuses what tenants may not create. Off without it.'),
  },
  restartFields: ['admission.bind'],
  rules: ({ admission, tenancy: { facts } }: AdmissionReads) => podSecurityRules(admission, facts),
  admissionRights: [{ when: [], rule: rule('authorization.k8s.io', 'subjectaccessreviews', 'create') }],
  registrations: ({ admission, tenancy, publishing }: AdmissionReads, caBundle, place) =>
    admission === undefined
      ? []
      : webhookConfigurations({ admission, tenancy, ...(publishing && { publishing }) }, caBundle, place),
  reviewedWrites: ({ admission, publishing }: AdmissionReads) =>
    admission === undefined
      ? []
      : [...reviewedWrites({ admission, ...(publishing && { publishing }) }), ...reviewedPolicyWrites()],
  listener: ({ admission }: AdmissionReads) =>
    admission && { ...ADMISSION_LISTENER, bind: admission.bind, tls: admission.tls },
  metrics: Object.values(METRICS),
  reads({ admission, tenancy, publishing, access }: AdmissionReads) {
    if (admission === undefined) return { limits: admission, decision: admission };
    const { limits, bind: _bind, tls: _tls, ...settings } = admission;
    return { limits, decision: { ...settings, tenancy, publishing, grantable: access?.grantable } };
  },
});

export type AdmissionParts = ReturnType<typeof admission.reads>;

/** The version of the Pod Security Standards fits the API server. */
function podSecurityRules(
  admission: AdmissionConfiguration | undefined,
  { kubernetesMinor }: TenancyFacts,
): Rule[] {
  if (admission === undefined) return [];
  const { level, version, tenants } = admission.podSecurity;
  const newest = kubernetesMinor ?? NEWEST_POD_SECURITY_MINOR;
  const levels = [level, ...Object.values(tenants).map((rule) => rule.level)];
  return [
    [
      'admission.podSecurity.version',
      version !== undefined && Number(version.slice('v1.'.length)) > newest,
      `expected at most v1.${newest}, found ${version}: a newer version allows what depends on fields that the API server does not know`,
    ],
    [
      'admission.podSecurity.version',
      kubernetesMinor === undefined &&
        version === undefined &&
        levels.some((one) => one !== undefined && one !== 'privileged'),
      "is required with a level: the API server's version, or an older one",
    ],
  ];
}
