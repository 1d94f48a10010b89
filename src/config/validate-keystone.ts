/**
 * What of `authentication.keystone` does not go together.
 */
import type { StonegateConfiguration } from '../api/config-v1alpha1.ts';
import type { Finding } from './problem.ts';

export function validateKeystone({ authentication: { keystone } }: StonegateConfiguration): Finding[] {
  if (keystone?.roleAssignments === undefined || keystone.serviceCredential !== undefined) return [];
  return [
    {
      path: ['authentication', 'keystone', 'serviceCredential'],
      message: 'is required with roleAssignments: nobody may ask Keystone for the roles of others',
    },
  ];
}
