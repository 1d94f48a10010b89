/**
 * What a Keystone role becomes, with the exceptions for one project or one domain. A role that is not listed becomes
 * nothing, and what a role is called means nothing by itself: an `admin` of a project is that project's alone.
 */
import type { BindingsConfiguration, RoleTarget } from '../api/config-v1alpha1.ts';
import { ownValue } from '../lib/json-object.ts';

export type RoleRules = Pick<BindingsConfiguration, 'roles' | 'projects' | 'domains' | 'ignore'>;

/** Where a role is held: a project of a domain, or the domain itself. */
export interface RolePlace {
  readonly projectID?: string;
  readonly domainID: string;
}

/** @returns undefined for a role that becomes nothing there */
export function targetOf(roleName: string, place: RolePlace, rules: RoleRules): RoleTarget | undefined {
  if (rules.ignore.roles.includes(roleName)) return undefined;
  const { projectID, domainID } = place;
  const ofProject = projectID === undefined ? undefined : ownValue(rules.projects, projectID)?.roles;
  const ofDomain = ownValue(rules.domains, domainID)?.roles;
  return (
    ownValue(ofProject ?? {}, roleName) ??
    ownValue(ofDomain ?? {}, roleName) ??
    ownValue(rules.roles, roleName)
  );
}
