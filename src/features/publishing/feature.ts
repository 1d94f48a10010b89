/**
 * The feature `publishing`: objects of the system that are copied to tenants. See docs/publishing.md.
 */
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import { needsProvisioner, type Provisioning } from '../bindings/feature.ts';
import { defineFeature } from '../define-feature.ts';
import { leasePlace } from '../leased-controller.ts';
import type { AccessConfiguration } from '../rbac-index/feature.ts';
import { type PublishingConfiguration, publishingSchema } from './publishing-configuration.ts';
import { publishingRules } from './rights.ts';

interface PublishingReads extends Provisioning {
  readonly publishing?: PublishingConfiguration;
  readonly access: Pick<AccessConfiguration, 'grantable'>;
  readonly tenancy: TenancyConfiguration;
}

export const publishing = defineFeature({
  name: 'publishing',
  sections: {
    publishing: publishingSchema
      .exactOptional()
      .describe('Objects of the system that are copied to tenants. Off without it.'),
  },
  rules: (configuration: PublishingReads) => [
    needsProvisioner(configuration, configuration.publishing && 'publishing', 'grant rights'),
    [
      'publishing.clusterScoped',
      !configuration.tenancy.facts.hasTenantsInPaths &&
        (configuration.publishing?.clusterScoped ?? []).length > 0,
      'expected none in shared mode: all tenants share what has no namespace',
    ],
  ],
  provisionerRules: ({ publishing, access: { grantable }, tenancy: { facts } }: PublishingReads) =>
    publishing === undefined ? [] : publishingRules(facts, { configuration: publishing, grantable }),
  reads: ({ publishing, access: { grantable }, tenancy }: PublishingReads) => ({
    copies: { publishing, grantable, tenancy, leases: leasePlace(tenancy) },
  }),
});

export type PublishingParts = ReturnType<typeof publishing.reads>;
export type { PublishingConfiguration } from './publishing-configuration.ts';
