/**
 * The rights of the provisioning credential that teams and invitations need: it reads them for all processes,
 * and writes them for the users who may. One rule is for the objects of all three features of the section.
 */
import { TENANCY_GROUP } from '../../kubernetes/custom-resource.ts';
import { type ProvisionerRight, rule } from '../../kubernetes/right.ts';
import { tenantUIDRight } from '../tenant-uid-rights.ts';

const when = ['members'];

export const MEMBERS_RIGHTS: readonly ProvisionerRight[] = [
  {
    when,
    rule: rule(TENANCY_GROUP, 'invitations teams', 'get list watch create update delete'),
  },
  { when, rule: rule(TENANCY_GROUP, 'invitations/status', 'patch') },
  tenantUIDRight(when),
];
