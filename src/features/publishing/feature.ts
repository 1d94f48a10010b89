/**
 * The feature `publishing`: objects of the system that are copied to tenants. See docs/publishing.md.
 */
import type { TenancyConfiguration } from '../../config/core-configuration.ts';
import type { WrittenRule } from '../../rbac/grantable-rules.ts';
import { defineFeature } from '../define-feature.ts';
import { leasePlace } from '../leased-controller.ts';
import { needsProvisioner, type Provisioning } from '../provisioning-credential.ts';
import { type PublishingConfiguration, publishingSchema } from './publishing-configuration.ts';
import { PUBLISHING_RIGHTS } from './rights.ts';

interface PublishingReads extends Provisioning {
  readonly publishing?: PublishingConfiguration;
  readonly access: { readonly grantable: readonly WrittenRule[] };
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
  provisionerRights: PUBLISHING_RIGHTS,
  controllers: ['publishing'],
  reads: ({ publishing, access: { grantable }, tenancy }: PublishingReads) => ({
    copies: { publishing, grantable, tenancy, leases: leasePlace(tenancy) },
  }),
});

export type PublishingParts = ReturnType<typeof publishing.reads>;
