/**
 * The feature `quota`: what each tenant may use of the cluster. See docs/quota.md.
 */

import type { CoreConfiguration } from '../../config/core-configuration.ts';
import { VALIDATING_WEBHOOKS } from '../../kubernetes/admissionregistration-v1.ts';
import { operatorPlace } from '../../tenancy/places.ts';
import { defineFeature } from '../define-feature.ts';
import { leasePlace } from '../leased-controller.ts';
import { needsProvisioner, type Provisioning } from '../provisioning-credential.ts';
import { countedWrites } from './counted-writes.ts';
import * as METRICS from './metrics.ts';
import { OWN_QUOTAS } from './own-quota-v1alpha1.ts';
import { type QuotaConfiguration, quotaSchema } from './quota-configuration.ts';
import { COUNT_RIGHTS, QUOTA_READ_RIGHTS, QUOTA_REGISTRATION, RESERVE_RIGHTS } from './rights.ts';
import { NOT_REGISTERED, quotaRegistration } from './tenant-quota-manifests.ts';
import { TENANT_QUOTAS } from './tenant-quota-v1alpha1.ts';

interface QuotaReads extends Pick<CoreConfiguration, 'tenancy'> {
  readonly quota?: QuotaConfiguration;
}

export const quota = defineFeature({
  name: 'quota',
  sections: {
    quota: quotaSchema
      .exactOptional()
      .describe('What each tenant may use of the cluster. Decided in the admission webhook. Off without it.'),
  },
  rules: (configuration: QuotaReads & Provisioning) => [
    needsProvisioner(configuration, configuration.quota && 'quota', 'write quotas'),
  ],
  rights: QUOTA_READ_RIGHTS,
  provisionerRights: [...RESERVE_RIGHTS, ...COUNT_RIGHTS],
  admissionRights: RESERVE_RIGHTS,
  storedKinds: [
    {
      definition: TENANT_QUOTAS,
      section: 'quota',
      when: ['quota'],
      consequence: 'tenants create nothing that the admission webhook asks a quota about',
    },
  ],
  registrations: ({ quota, tenancy: { facts } }: QuotaReads, caBundle, place) =>
    quota === undefined ? [] : [quotaRegistration({ facts, count: quota.count, caBundle, place })],
  reviewedWrites: ({ quota }: QuotaReads) => (quota === undefined ? [] : countedWrites(quota.count)),
  warnings: ({ quota, admission }: QuotaReads & { readonly admission?: object }) => [
    [
      'quota',
      quota !== undefined && admission === undefined,
      'limits nothing by itself: add the section admission, unless a process of its own serves the admission webhook',
    ],
  ],
  ownResources: [OWN_QUOTAS],
  findMissing: async ({ quota }: QuotaReads, objects, signal) =>
    quota === undefined || (await objects.get(VALIDATING_WEBHOOKS, {}, QUOTA_REGISTRATION, signal))
      ? []
      : [{ path: 'quota', message: NOT_REGISTERED }],
  metrics: Object.values(METRICS),
  controllers: ['quota'],
  reads({ quota, tenancy: { facts, systemTenant } }: QuotaReads) {
    if (quota === undefined) return { controller: quota, decisions: quota };
    const tenancy = { facts, systemTenant };
    const place = operatorPlace(quota, tenancy);
    const { default: byDefault, count } = quota;
    return {
      controller: { place, leases: leasePlace(tenancy), byDefault, count, tenancy },
      decisions: { place, mode: quota.mode, tenancy },
    };
  },
});

export type QuotaParts = ReturnType<typeof quota.reads>;
export type { QuotaConfiguration } from './quota-configuration.ts';
