/**
 * The feature `bindings`: provisioning from Keystone's directory into the API server. See docs/bindings.md.
 */
import type { CoreConfiguration, CredentialFiles } from '../../config/core-configuration.ts';
import type { Rule } from '../../config/problem.ts';
import { defineFeature } from '../define-feature.ts';
import { leasePlace } from '../leased-controller.ts';
import { needsProvisioner } from '../provisioning-credential.ts';
import { type TenancyReads, tenancySettings } from '../tenancy-settings.ts';
import { type BindingsConfiguration, bindingsSchema } from './bindings-configuration.ts';
import { USERS_WARNING } from './grants.ts';
import { PROVISIONING_RIGHTS } from './rights.ts';

interface BindingsReads extends TenancyReads, Pick<CoreConfiguration, 'upstream'> {
  readonly bindings: BindingsConfiguration;
  readonly quota?: { readonly keystoneLimits?: object };
}

export const bindings = defineFeature({
  name: 'bindings',
  sections: {
    bindings: bindingsSchema
      .prefault({})
      .describe('How Keystone projects and roles become namespaces and role bindings.'),
  },
  rules: ({ bindings, authentication, upstream, tenancy }: BindingsReads) => [
    [
      'authentication.keystone.serviceCredential',
      bindings.provision !== 'none' && authentication.keystone?.serviceCredential === undefined,
      `is required with bindings.provision: ${bindings.provision}: only a service may list all projects and roles`,
    ],
    [
      'bindings.credential',
      bindings.credential !== undefined && sharesFile(bindings.credential, upstream.credential),
      'expected a credential of its own, found that of upstream, which impersonates',
    ],
    needsProvisioner(
      { bindings },
      bindings.provision !== 'none' && `bindings.provision: ${bindings.provision}`,
      'grant rights',
    ),
    ...namespaceRules(bindings, tenancy),
  ],
  warnings: ({ bindings: { provision, subjects } }: BindingsReads) => [
    ['bindings.subjects', provision !== 'none' && subjects === 'users', USERS_WARNING],
  ],
  provisionerRights: PROVISIONING_RIGHTS,
  controllers: ['bindings', 'bindings-on-request'],
  reads(configuration: BindingsReads) {
    const { bindings, quota, tenancy } = configuration;
    const provisioning = {
      bindings,
      tenancy: tenancySettings(configuration),
      hasQuotas: quota !== undefined,
      leases: leasePlace(tenancy),
    };
    return {
      names: bindings,
      periodic: bindings.provision === 'periodic' ? provisioning : undefined,
      onRequest: bindings.provision === 'onRequest' ? provisioning : undefined,
    };
  },
});

export type BindingsParts = ReturnType<typeof bindings.reads>;
export type { BindingsConfiguration } from './bindings-configuration.ts';
export type { KeystoneSync, Live, ProjectMember, RoleMapping } from './keystone-sync.ts';
export type { ProjectSynchronizer, ProjectSynchronizerOf } from './project-sync.ts';

function sharesFile(one: CredentialFiles, other: CredentialFiles): boolean {
  const names = new Set<string>(Object.values(other));
  return Object.values(one).some((name) => names.has(name));
}

/** Two projects in one namespace are refused in shared mode; in arktos mode they may be of two tenants. */
function namespaceRules(
  { projects }: BindingsConfiguration,
  { facts }: CoreConfiguration['tenancy'],
): Rule[] {
  const namespaces = Object.entries(projects).flatMap(([id, { namespace }]) =>
    namespace === undefined || facts.hasTenantsInPaths ? [] : [{ id, namespace }],
  );
  return namespaces.map(({ id, namespace }, at) => [
    ['bindings', 'projects', id, 'namespace'],
    namespaces.findIndex((other) => other.namespace === namespace) !== at,
    `expected a namespace of its own, found "${namespace}", which another project has`,
  ]);
}
