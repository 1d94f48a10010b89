/**
 * Everything Keystone says that rights are made of, or nothing: a plan made of half an answer would take from people
 * what they have. A Keystone without domains or roles cannot be: something else has answered.
 */
import type { BindingsConfiguration } from '../api/config-v1alpha1.ts';
import { StatusError } from '../errors/status-error.ts';
import type { KeystoneState } from './desired.ts';
import type { Holders } from './grants.ts';
import type { KeystoneDirectory } from './keystone-directory.ts';

/** @throws StatusError KeystoneUnavailable */
export async function readKeystone(
  directory: KeystoneDirectory,
  { subjects }: Pick<BindingsConfiguration, 'subjects'>,
): Promise<KeystoneState> {
  const [domains, projects, holders] = await Promise.all([
    directory.domains(),
    directory.projects(),
    subjects === 'groups' ? readGroups(directory) : readUsers(directory),
  ]);
  if (domains.length === 0) throw implausible('domains');
  return { domains, projects, holders };
}

/** @throws StatusError KeystoneUnavailable */
export async function readGroups(directory: KeystoneDirectory): Promise<Holders> {
  const roleNames = await directory.roleNames();
  if (roleNames.length === 0) throw implausible('roles');
  return { kind: 'groups', roleNames };
}

async function readUsers(directory: KeystoneDirectory): Promise<Holders> {
  const [assignments, disabledUserIDs] = await Promise.all([
    directory.roleAssignments(),
    directory.disabledUserIDs(),
  ]);
  if (assignments.length === 0) throw implausible('role assignments');
  return { kind: 'users', assignments, disabledUserIDs };
}

function implausible(what: string): StatusError {
  return new StatusError('KeystoneUnavailable', `Service Unavailable: Keystone lists no ${what}`);
}
