/**
 * The rights of the provisioner at the API server that access tokens need.
 */
import { type ProvisionerRight, rule } from '../../kubernetes/right.ts';
import { tenantUIDRight } from '../tenant-uid-rights.ts';
import { STORED_TOKENS } from './access-token-v1alpha1.ts';

const { group, resource } = STORED_TOKENS;
const when = ['tokens'];

export const TOKEN_RIGHTS: readonly ProvisionerRight[] = [
  { when, rule: rule(group, resource, 'get list watch create update delete') },
  { when, rule: rule(group, `${resource}/status`, 'patch') },
  tenantUIDRight(when),
];
